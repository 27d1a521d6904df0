/** The end of an error about an unknown model: the available ones. */
import type { Models } from "../../models/models.ts";

/** Longer lists are for `GET /v1/models`. */
const MOST_LISTED = 10;

/** ` Available: "openai/gpt-oss-20b".` */
export function listAvailable({ all }: Models): string {
  const names = all.slice(0, MOST_LISTED).map(({ id }) => JSON.stringify(id));
  const more = all.length > MOST_LISTED ? " and more, see GET /v1/models" : "";
  return ` Available: ${names.join(", ")}${more}.`;
}

/** For the log, which has no names that clients send. */
export const UNKNOWN_MODEL_REASON = "model: there is no model of this name";
