/** A response as a stream of events: over HTTP or over a WebSocket. */
import {
  consume,
  createPushStream,
  deliverAll,
  type PushStream,
} from "../../streams/push-stream.ts";
import { holdingStream } from "../reply/held-reply.ts";
import type { Opening } from "../reply/stream-reply.ts";
import type { ResponsesContext } from "./context.ts";
import { type PreparedResponse, toHeldTurn } from "./prepare.ts";
import { keepResponse, type ResponseTurnEvent } from "./run.ts";
import { ignoreStoreFailure } from "./response-store.ts";
import { EventWriter, type ResponseEvent } from "./to-events.ts";

/** A prepared response that is streamed. */
export interface StreamedResponse extends PreparedResponse {
  readonly writer: EventWriter;
}

export function withEvents(
  prepared: PreparedResponse,
  context: ResponsesContext,
): StreamedResponse {
  const { requested, caller, builder } = prepared;
  const writer = new EventWriter(builder, {
    reasoningEvents: requested.suffixes.has("open-responses")
      ? "reasoning"
      : context.reasoningEvents(caller.client.tenant),
    showReasoning: caller.client.reasoningPolicy === "raw",
  });
  return { ...prepared, writer };
}

/**
 * Its events for the client. Rejects with the turn's error. The response is stored before its last event is delivered, so
 * that a client can continue it immediately.
 */
export function streamResponse(
  streamed: StreamedResponse,
  turn: AsyncIterable<ResponseTurnEvent>,
  context: ResponsesContext,
): PushStream<ResponseEvent> {
  const { writer, builder } = streamed;
  const held = holdingStream(turn, toHeldTurn(streamed), context);
  return createPushStream((consumer) =>
    consume(held, (event) => {
      const events = writer.push(event);
      if (event.type !== "end") return deliverAll(events, consumer);
      return keepResponse(streamed, context).then(
        () => deliverAll(events, consumer),
        async (error: unknown) => {
          // A failure is reported whether or not it could be stored. Success is not: it would promise a stored response.
          if (builder.response().status === "failed") return deliverAll(events, consumer);
          await deliverAll(events.slice(0, -1), consumer);
          throw error;
        },
      );
    }),
  );
}

/** The same events, ending with an error event after a failure. If the client has disconnected, the failure is dropped. */
export function withFailure(
  events: AsyncIterable<ResponseEvent>,
  streamed: StreamedResponse,
  context: ResponsesContext,
  { signal, fail }: Pick<Opening, "signal" | "fail">,
): PushStream<ResponseEvent> {
  return createPushStream(async (consumer) => {
    try {
      await consume(events, consumer);
    } catch (error) {
      if (signal.aborted) return;
      const failure = streamed.writer.fail(fail(error));
      // The client receives the failure whether or not it can be stored.
      await keepResponse(streamed, context).catch(ignoreStoreFailure);
      await deliverAll(failure, consumer);
    }
  });
}
