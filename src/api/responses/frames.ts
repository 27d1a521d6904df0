/** Events as server-sent events. */
import { createPushStream, type PushStream, consume } from "../../streams/push-stream.ts";
import { describeError, type ErrorDescription } from "../errors.ts";
import { type FrameHints, sseFrame } from "../reply/event-stream.ts";
import { toErrorMembers, toResponsesError } from "./errors.ts";
import type { ResponseEvent } from "./to-events.ts";

/**
 * One frame per event, never a part of one: some parsers lose a frame that arrives in two reads. Never rejects: a failure
 * that is not an event yet becomes one.
 *
 * @param toComment what stands before the last event
 */
export function toFrames(
  events: AsyncIterable<ResponseEvent>,
  hints: FrameHints,
  toComment: () => string = () => "",
): PushStream<string> {
  return createPushStream(async (consumer) => {
    try {
      await consume(events, ({ type, json }) => {
        const frame = sseFrame(json, type);
        hints.isLast = LAST_TYPES.has(type);
        return consumer(hints.isLast ? toComment() + frame + DONE : frame);
      });
    } catch (error) {
      if (hints.isLast) return;
      await consumer(errorFrame(describeError(error)));
    }
    if (!hints.isLast) await consumer(DONE);
  });
}

/** The only frames of a response that cannot be run. */
export function toFailureFrames(error: ErrorDescription): string {
  return errorFrame(error) + DONE;
}

function errorFrame(error: ErrorDescription): string {
  const members = toErrorMembers(toResponsesError(error));
  return sseFrame(JSON.stringify({ type: "error", ...members }), "error");
}

const DONE = sseFrame("[DONE]");

/** Types of a response's last event. */
const LAST_TYPES: ReadonlySet<string> = new Set([
  "response.completed",
  "response.incomplete",
  "response.failed",
]);
