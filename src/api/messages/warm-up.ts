/** `max_tokens: 0`: only the prompt is wanted in the engine's cache. Engines sample one token, which is not shown. */
import { consume, createPushStream, type PushStream } from "../../streams/push-stream.ts";
import type { TurnEvent } from "../../turn/turn.ts";

/** The start and the end of a turn. */
export function withoutParts(events: AsyncIterable<TurnEvent>): PushStream<TurnEvent> {
  return createPushStream((consumer) =>
    consume(events, (event) => {
      if (event.type === "start") return consumer(event);
      if (event.type !== "end") return true;
      return consumer(event.failure ? event : { ...event, finish: "length" });
    }),
  );
}
