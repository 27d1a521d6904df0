/**
 * Marks a reply whose turn ended without an answer although nothing failed: clients would read its `stop` as success.
 */
import type { ResponseHeaders } from "../../telemetry/response-headers.ts";
import type { TurnEnd } from "../../turn/turn.ts";

export function isAnswerEmpty({ recoveries }: TurnEnd): boolean {
  return recoveries.has("empty-answer");
}

/** The header of a plain reply. */
export const EMPTY_ANSWER_HEADER: ResponseHeaders = { "x-harmony-answer": "empty" };

/**
 * The comment in a stream, whose headers have already been sent: clients ignore comments, people and proxies see them.
 */
export const EMPTY_ANSWER_COMMENT = ": x-harmony-answer: empty\n\n";
