/** Events as server-sent events. */
import { createPushStream, type PushStream, consume } from "../../streams/push-stream.ts";
import type { Pause } from "../../streams/slices.ts";
import { describeError, type ErrorDescription } from "../errors.ts";
import { type FrameHints, sseFrame } from "../reply/event-stream.ts";
import { afterBoth, createPace } from "../reply/held-reply.ts";
import { toErrorMembers, toResponsesError } from "./errors.ts";
import type { ResponseEvent } from "./to-events.ts";

/**
 * One frame per event, never a part of one: some parsers lose a frame that arrives in two reads. Never rejects: a failure
 * that is not an event yet becomes one. The last frames may have megabytes of log probabilities each: after such a one is a pause.
 *
 * @param toComment what stands before the last event
 */
export function toFrames(
  events: AsyncIterable<ResponseEvent>,
  { hints, pause }: { readonly hints: FrameHints; readonly pause: Pause },
  toComment: () => string = () => "",
): PushStream<string> {
  return createPushStream(async (consumer) => {
    const pace = createPace(pause);
    try {
      await consume(events, ({ type, json }) => {
        const frame = sseFrame(json, type);
        hints.isLast = LAST_TYPES.has(type);
        if (hints.isLast) return consumer(toComment() + frame + DONE);
        const demand = consumer(frame);
        return frame.length < LARGE ? demand : afterBoth(pace(frame.length), demand);
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

/** In characters. */
const LARGE = 65_536;

/** Types of a response's last event. */
const LAST_TYPES: ReadonlySet<string> = new Set([
  "response.completed",
  "response.incomplete",
  "response.failed",
]);
