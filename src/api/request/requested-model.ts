/** The model of a request: the one it names, else the first served one of OpenRouter's `models`. */
import type { FoundModel, Models } from "../../models/models.ts";
import { prevailingEffort } from "./apply-preset.ts";

export interface RequestedModel extends FoundModel {
  /** As the request has it. Replies repeat it. */
  readonly name: string;
}

/** The name that an error shows when no model is found. */
export function namedModel(request: ModelRequest): string {
  return namesOf(request)[0]?.name ?? "model";
}

export interface ModelRequest {
  readonly model?: string | null | undefined;
  readonly models?: readonly string[] | null | undefined;
  /** OpenRouter's field for a preset beside the model. */
  readonly preset?: string | null | undefined;
}

/**
 * A request that names no model gets the first one served, or the first preset. `find`: by one name, default that of the
 * models.
 */
export function requestedModel(
  request: ModelRequest,
  served: Models,
  find: (name: string) => FoundModel | undefined = (name) => served.find(name),
): RequestedModel | undefined {
  const named = namesOf(request);
  for (const { name, sent } of named.length > 0 ? named : firstServed(served)) {
    const found = find(name);
    if (found !== undefined) {
      return { ...found, name: sent, effort: prevailingEffort(found.effort, found.preset) };
    }
  }
  return undefined;
}

/** A key may have presets alone. */
function firstServed({ all, presets }: Models): ModelName[] {
  const name = all[0]?.id ?? presets[0]?.preset.name;
  return name === undefined ? [] : [{ name, sent: name }];
}

interface ModelName {
  readonly name: string;
  /** Without the preset of a field. */
  readonly sent: string;
}

/** The names to try. */
function namesOf({ model, models, preset }: ModelRequest): ModelName[] {
  const sent = [...(model ? [model] : []), ...(models ?? [])];
  if (!preset) return sent.map((name) => ({ name, sent: name }));
  const marked = `@preset/${preset.replace(/^@preset\//, "")}`;
  if (sent.length === 0) return [{ name: marked, sent: marked }];
  return sent.map((name) => ({ name: name + marked, sent: name }));
}
