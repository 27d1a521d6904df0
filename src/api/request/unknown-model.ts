/** Errors about an unknown model, which end with the available ones. */
import { listedModels, type Models } from "../../models/models.ts";
import { RequestError } from "../errors.ts";

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
