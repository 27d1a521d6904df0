/**
 * Finds the model of a request: the named model, else the first served one of OpenRouter's `models`. Also creates the
 * errors for unknown models.
 */
import { type FoundModel, listedModels, type Models } from "../../models/models.ts";
import { prevailingEffort } from "./apply-preset.ts";
import { RequestError } from "../errors.ts";

export interface RequestedModel extends FoundModel {
  /** The name in the request, repeated in replies. */
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
 * A request without a model gets the first served model, or the first preset. `find` finds a model by one name.
 * Default: `served.find`.
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

/** The first model, or the first preset: a key may have only presets. */
function firstServed({ all, presets }: Models): ModelName[] {
  const name = all[0]?.id ?? presets[0]?.preset.name;
  return name === undefined ? [] : [{ name, sent: name }];
}

interface ModelName {
  readonly name: string;
  /** The name without the preset of the request's `preset` field. */
  readonly sent: string;
}

/** The model names to try, in order. */
function namesOf({ model, models, preset }: ModelRequest): ModelName[] {
  const sent = [...(model ? [model] : []), ...(models ?? [])];
  if (!preset) return sent.map((name) => ({ name, sent: name }));
  const marked = `@preset/${preset.replace(/^@preset\//, "")}`;
  if (sent.length === 0) return [{ name: marked, sent: marked }];
  return sent.map((name) => ({ name: name + marked, sent: name }));
}

/** Maximum number of models in an error; `GET /v1/models` lists all. */
const MOST_LISTED = 10;

/** ` Available: "openai/gpt-oss-20b".` */
export function listAvailable(models: Models): string {
  const all = listedModels(models);
  const names = all.slice(0, MOST_LISTED).map(({ name }) => JSON.stringify(name));
  const more = all.length > MOST_LISTED ? " and more, see GET /v1/models" : "";
  return ` Available: ${names.join(", ")}${more}.`;
}

/** The reason for the log, which contains no names sent by clients. */
export const UNKNOWN_MODEL_REASON = "model: there is no model of this name";

/** OpenAI's error for an unknown model, with status 404. */
export function modelNotFound(sentence: string, models: Models): RequestError {
  return new RequestError(sentence + listAvailable(models), {
    reason: UNKNOWN_MODEL_REASON,
    status: 404,
    param: "model",
    errorType: "model_not_found",
  });
}
