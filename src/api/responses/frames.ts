/** Events as server-sent events. */
import { createPushStream, type PushStream, consume } from "../../streams/push-stream.ts";
import { describeError } from "../errors.ts";
import { sseFrame } from "../sse.ts";
import { toErrorMembers, toResponsesError } from "./errors.ts";
import type { ResponseEvent } from "./to-events.ts";

/**
 * One frame, and so one write, per event: some parsers lose a frame that arrives in two reads. Never rejects: a failure
 * that is not an event yet becomes one.
 */
export function toFrames(events: AsyncIterable<ResponseEvent>): PushStream<string> {
  return createPushStream(async (consumer) => {
    try {
      await consume(events, ({ type, json }) => consumer(sseFrame(json, type)));
    } catch (error) {
      const members = toErrorMembers(toResponsesError(describeError(error)));
      await consumer(sseFrame(JSON.stringify({ type: "error", ...members }), "error"));
    }
    await consumer(sseFrame("[DONE]"));
  });
}
