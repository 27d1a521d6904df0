/** The model of a request: the one it names, else the first served one of OpenRouter's `models`; and the errors about an unknown one. */
import { type FoundModel, listedModels, type Models } from "../../models/models.ts";
import { prevailingEffort } from "./apply-preset.ts";
import { RequestError } from "../errors.ts";

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

/** Longer lists are for `GET /v1/models`. */
const MOST_LISTED = 10;

/** ` Available: "openai/gpt-oss-20b".` */
export function listAvailable(models: Models): string {
  const all = listedModels(models);
  const names = all.slice(0, MOST_LISTED).map(({ name }) => JSON.stringify(name));
  const more = all.length > MOST_LISTED ? " and more, see GET /v1/models" : "";
  return ` Available: ${names.join(", ")}${more}.`;
}

/** For the log, which has no names that clients send. */
export const UNKNOWN_MODEL_REASON = "model: there is no model of this name";

/** OpenAI's, with status 404. */
export function modelNotFound(sentence: string, models: Models): RequestError {
  return new RequestError(sentence + listAvailable(models), {
    reason: UNKNOWN_MODEL_REASON,
    status: 404,
    type: "not_found_error",
    param: "model",
    errorType: "model_not_found",
  });
}
