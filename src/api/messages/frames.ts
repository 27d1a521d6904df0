/** The events of a message as server-sent events. */
import { consume, createPushStream, type PushStream } from "../../streams/push-stream.ts";
import type { TurnEvent } from "../../turn/turn.ts";
import type { Opening } from "../reply/stream-reply.ts";
import type { ReplyOptions } from "./reply.ts";
import { EventWriter, errorFrame } from "./to-events.ts";

/** Never fails: a failure is the last frame. */
export function toFrames(
  events: AsyncIterable<TurnEvent>,
  options: ReplyOptions,
  { hints, fail }: Pick<Opening, "hints" | "fail">,
): PushStream<string> {
  return createPushStream(async (consumer) => {
    const writer = new EventWriter(options);
    try {
      await consume(events, (event) => {
        hints.isLast = event.type === "end";
        const frames = writer.push(event);
        return frames === "" || consumer(frames);
      });
    } catch (error) {
      if (!hints.isLast) await consumer(errorFrame(fail(error), options));
    }
  });
}
