/** The mark of a reply whose turn has ended without an answer although nothing failed: clients take its `stop` for success. */
import type { ResponseHeaders } from "../../telemetry/response-headers.ts";
import type { TurnEnd } from "../../turn/turn.ts";

export function isAnswerEmpty({ recoveries }: TurnEnd): boolean {
  return recoveries.has("empty-answer");
}

/** Of a plain reply. */
export const EMPTY_ANSWER_HEADER: ResponseHeaders = { "x-harmony-answer": "empty" };

/** The same in a stream, whose headers have been sent: clients ignore a comment, people and proxies see it. */
export const EMPTY_ANSWER_COMMENT = ": x-harmony-answer: empty\n\n";
