/** Runs a prepared message. */
import { consume, createPushStream, type PushStream } from "../../streams/push-stream.ts";
import type { Turn, TurnEvent } from "../../turn/turn.ts";
import type { MessagesDeps } from "./deps.ts";
import type { PreparedMessage } from "./prepare.ts";

/** The events of its turn, after those of a compaction. Its thinking is stored for later requests. */
export function runMessage(
  { request, client, model, turn, compaction, options }: PreparedMessage,
  { reasoning }: Pick<MessagesDeps, "reasoning">,
  signal: AbortSignal,
): AsyncIterable<TurnEvent> {
  const run = (each: Turn) => {
    const events = model.run(each, signal);
    return reasoning.keep(request.max_tokens === 0 ? withoutParts(events) : events, {
      tenant: client.tenant,
      // Calls of the gateway are sent encrypted even if thinking is hidden from the client.
      seal: options.thinking !== "none" || each.builtins !== undefined,
    });
  };
  return compaction === undefined ? run(turn) : compaction.run(model, run, signal);
}

/**
 * `max_tokens: 0`: only the prompt is wanted in the engine's cache. Engines sample one token, which is not shown: this leaves the
 * start and the end of the turn.
 */
function withoutParts(events: AsyncIterable<TurnEvent>): PushStream<TurnEvent> {
  return createPushStream((consumer) =>
    consume(events, (event) => {
      if (event.type === "start") return consumer(event);
      if (event.type !== "end") return true;
      return consumer(event.failure ? event : { ...event, finish: "length" });
    }),
  );
}
