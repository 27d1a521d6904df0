/** The model of a request: the one it names, else the first served one of OpenRouter's `models`. */
import type { FoundModel, Models } from "../../models/models.ts";

export interface RequestedModel extends FoundModel {
  /** As the request has it. Replies repeat it. */
  readonly name: string;
}

/** The name that an error shows when no model is found. */
export function namedModel({ model, models }: ModelRequest): string {
  return model || models?.[0] || "model";
}

interface ModelRequest {
  readonly model?: string | null | undefined;
  readonly models?: readonly string[] | null | undefined;
}

/** A request that names no model gets the first one served. `find`: by one name, default that of the models. */
export function requestedModel(
  { model, models }: ModelRequest,
  served: Models,
  find: (name: string) => FoundModel | undefined = (name) => served.find(name),
): RequestedModel | undefined {
  const names = [...(model ? [model] : []), ...(models ?? [])];
  for (const name of names) {
    const found = find(name);
    if (found !== undefined) return { ...found, name };
  }
  const [first] = served.all;
  if (names.length > 0 || first === undefined) return undefined;
  return { model: first, name: first.id, effort: undefined, suffixes: new Set() };
}
