/** A response as a stream of events: over HTTP or over a WebSocket. */
import {
  consume,
  createPushStream,
  deliverAll,
  type PushStream,
} from "../../streams/push-stream.ts";
import { holdingStream, afterBoth, createPace } from "../reply/held-reply.ts";
import type { Opening } from "../reply/stream-reply.ts";
import type { ResponsesContext } from "./context.ts";
import { type PreparedResponse, toHeldTurn } from "./prepare.ts";
import { keepResponse, type ResponseTurnEvent } from "./run.ts";
import { EventWriter, type ResponseEvent } from "./to-events.ts";
import type { Pause } from "../../streams/slices.ts";
import { describeError, type ErrorDescription, ignoreStoreFailure } from "../errors.ts";
import { type FrameHints, sseFrame } from "../reply/event-stream.ts";
import { toErrorMembers, toResponsesError } from "./errors.ts";
import type { PrefillNote } from "../reply/prefill-note.ts";

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
 * The events of a response for the client. Rejects with the turn's error. The response is stored before its last event
 * is delivered, so that a client can continue it immediately.
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
          // A failure is reported even if it could not be stored. Success is not, because it promises a stored
          // response.
          if (builder.response().status === "failed") return deliverAll(events, consumer);
          await deliverAll(events.slice(0, -1), consumer);
          throw error;
        },
      );
    }),
  );
}

/**
 * Passes events on and ends with an error event after a failure. If the client has disconnected, the failure is
 * dropped.
 */
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
      // The client receives the failure even if it cannot be stored.
      await keepResponse(streamed, context).catch(ignoreStoreFailure);
      await deliverAll(failure, consumer);
    }
  });
}

/**
 * Writes each event as one whole frame: some parsers lose a frame that arrives in two reads. Never rejects: a failure
 * becomes an event. The last frames may have megabytes of log probabilities each, so a pause follows a large frame.
 *
 * @param toComment returns a comment to send before the last event
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

/** The frames of a response that failed before its first event. */
export function toFailureFrames(error: ErrorDescription): string {
  return errorFrame(error) + DONE;
}

function errorFrame(error: ErrorDescription): string {
  const members = toErrorMembers(toResponsesError(error));
  return sseFrame(JSON.stringify({ type: "error", ...members }), "error");
}

const DONE = sseFrame("[DONE]");

/** Characters of a frame after which a pause is due. */
const LARGE = 65_536;

/** Types of a response's last event. */
const LAST_TYPES: ReadonlySet<string> = new Set([
  "response.completed",
  "response.incomplete",
  "response.failed",
]);

/**
 * The next keep-alive of a stream. Most are comments; every few are events, because some clients (Codex) count only
 * events, and repeat a turn without events for longer than their timeout.
 */
export function keepAliveFrames(
  writer: EventWriter,
  { keepAlive: comment }: PrefillNote,
  keepAliveMs: number,
): () => string {
  const every = keepAlivesPerEvent(keepAliveMs);
  let count = 0;
  return () => {
    if (++count % every > 0) return comment();
    const frames = writer.keepAlive().map(({ type, json }) => sseFrame(json, type));
    return frames.length === 0 ? comment() : frames.join("");
  };
}

/** Interval of keep-alive events on a WebSocket, which has no comments. */
export function eventIntervalMs(keepAliveMs: number): number {
  return keepAliveMs * keepAlivesPerEvent(keepAliveMs);
}

/** Maximum time without an event: Codex waits for 300 seconds. */
const LONGEST_SILENCE_MS = 120_000;
const MOST_COMMENTS = 4;

function keepAlivesPerEvent(keepAliveMs: number): number {
  return Math.min(MOST_COMMENTS, Math.max(1, Math.floor(LONGEST_SILENCE_MS / keepAliveMs)));
}
