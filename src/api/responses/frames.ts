/** Events as server-sent events. */
import { describeError } from "../errors.ts";
import { sseFrame } from "../sse.ts";
import { toErrorMembers, toResponsesError } from "./errors.ts";
import type { ResponseEvent } from "./to-events.ts";

/**
 * Each event in a frame, and so in a write, of its own: some parsers forget a frame that arrives in two reads.
 * Never throws: a failure that is no event yet becomes one.
 */
export async function* toFrames(events: AsyncIterable<ResponseEvent>): AsyncGenerator<string> {
  try {
    for await (const { type, json } of events) yield sseFrame(json, type);
  } catch (error) {
    const members = toErrorMembers(toResponsesError(describeError(error)));
    yield sseFrame(JSON.stringify({ type: "error", ...members }), "error");
  }
  yield sseFrame("[DONE]");
}
