/** Repeated runs of recorded turns: their tenant, and the turns that can be repeated. */
import type { TurnRecord } from "../telemetry/record/schema.ts";

/** The tenant of runs. No key can have this name. */
export const OPERATOR = "(operator)";

/** The reason why a turn cannot be repeated. Undefined: it can. */
export function whyNotAgain(record: TurnRecord): string | undefined {
  const { request, prompt, content, cut } = record;
  if (!content) return "The content of this turn is not kept, so it cannot be run again.";
  if (request === null) return "The gateway itself has made this turn: run the one it belongs to.";
  if (request.body === "" || cut.some(({ what }) => what === "request body" || what === "prompt")) {
    return "The request or the prompt was too large to be kept, so the turn cannot be run again.";
  }
  if (prompt === null) return "The request was rejected before its turn began.";
  return undefined;
}
