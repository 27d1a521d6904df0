/**
 * Converts turn events to server-sent events, as text.
 *
 * The SDK's accumulator sets the rules: one block is open at a time, indexes are contiguous, a signature comes once and
 * last in its block (it is assigned, not appended), and a tool's partial input is always a prefix of JSON.
 */
import { consume, createPushStream, type PushStream } from "../../streams/push-stream.ts";
import type { TurnEnd } from "../../turn/turn.ts";
import { describeTurnFailure, type ErrorDescription } from "../errors.ts";
import { EMPTY_ANSWER_COMMENT, isAnswerEmpty } from "../reply/empty-answer.ts";
import { sseFrame } from "../reply/event-stream.ts";
import { progressMember } from "../reply/prefill-note.ts";
import type { Opening } from "../reply/stream-reply.ts";
import { BlockFrames, frame } from "./content-blocks.ts";
import { ContentWriter, type ReplyEvent } from "./content-writer.ts";
import { toMessagesError } from "./errors.ts";
import {
  type ReplyOptions,
  toDiagnostics,
  toFirstUsage,
  toIterations,
  toStop,
  toUsage,
} from "./reply.ts";

/** The frame that ends a stream after a failure. */
export function errorFrame(
  error: ErrorDescription,
  { requestId }: Pick<ReplyOptions, "requestId">,
): string {
  const members = { error: toMessagesError(error), request_id: requestId };
  return frame("error", JSON.stringify(members).slice(1, -1));
}

/** The keep-alive frame. */
export const PING = sseFrame('{"type": "ping"}', "ping");

/** The first frame of every stream. */
function messageStart(options: ReplyOptions, inputTokens: number): string {
  const { id, model } = options;
  const message = {
    id,
    type: "message",
    role: "assistant",
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    stop_details: null,
    container: null,
    diagnostics: toDiagnostics(options),
    usage: toFirstUsage(inputTokens),
  };
  return frame("message_start", `"message":${JSON.stringify(message)}`);
}

/** Never fails: a failure is the last frame. */
export function toFrames(
  events: AsyncIterable<ReplyEvent>,
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

class EventWriter {
  readonly #options: ReplyOptions;
  readonly #content: ContentWriter;

  constructor(options: ReplyOptions) {
    this.#options = options;
    this.#content = new ContentWriter(options, new BlockFrames());
  }

  /** The frames of an event: often one, sometimes none. */
  push(event: ReplyEvent): string {
    switch (event.type) {
      case "start":
        return messageStart(this.#options, event.promptTokens) + this.#content.push(event);
      case "prefill":
        return this.#options.returnsProgress ? frame("ping", progressMember(event)) : "";
      case "end":
        if (event.failure) return errorFrame(describeTurnFailure(event.failure), this.#options);
        return this.#content.push(event) + this.#end(event);
      default:
        return this.#content.push(event);
    }
  }

  #end(turn: TurnEnd): string {
    const usage = JSON.stringify({ ...toUsage(turn.usage), ...toIterations(turn, this.#options) });
    const { contextManagement: applied } = this.#options;
    const management = applied ? `,"context_management":${JSON.stringify(applied)}` : "";
    const stop = JSON.stringify({
      ...toStop(turn, this.#options),
      container: this.#content.container,
    });
    return (
      (isAnswerEmpty(turn) ? EMPTY_ANSWER_COMMENT : "") +
      frame("message_delta", `"delta":${stop},"usage":${usage}${management}`) +
      sseFrame('{"type":"message_stop"}', "message_stop")
    );
  }
}
