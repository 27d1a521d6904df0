/**
 * Parses streamed OpenChatML into events. Events do not depend on how the input is split, except where deltas
 * are divided.
 */
import { isCall } from "./document.ts";
import type { Channel, Role, Terminator } from "./document.ts";
import { OpenChatMLError, type Warning } from "./errors.ts";
import { toReaderOptions, type ParseOptions } from "./parse.ts";
import { type MessageStart, Reader, type ReaderSink } from "./reader.ts";

export type StreamEvent =
  /** A header is complete; its body follows. */
  | {
      readonly type: "message.start";
      readonly role: Role;
      readonly channel: Channel;
      readonly name?: string;
      readonly to?: string;
      readonly call_id?: string;
      readonly intent?: string;
    }
  /** Text of the assistant's answer, to be shown. */
  | { readonly type: "response.delta"; readonly text: string }
  /** A paragraph of the answer is complete: a good point to refresh the display. */
  | { readonly type: "response.delta.flush" }
  /** Text of any other body. */
  | { readonly type: "message.delta"; readonly text: string }
  | { readonly type: "message.done"; readonly end: Terminator }
  /** Sent for each unanswered call when the response is cancelled. */
  | { readonly type: "tool.cancel"; readonly call_id: string; readonly reason: string }
  | { readonly type: "response.cancel"; readonly reason: string }
  /** The last event of a stream that cannot be parsed further. */
  | { readonly type: "error"; readonly error: OpenChatMLError };

export interface StreamOptions extends ParseOptions {
  /** The role, if the stream begins after `<|start|>` and the role, like a completion. */
  readonly prefill?: Role;
}

export interface OpenChatMLStream {
  push(text: string): StreamEvent[];
  /** Ends the input. A stream that has not reached `<|return|>` or `<|call|>` ends with an error. */
  end(): StreamEvent[];
  /** Ignores all further input. */
  cancel(reason: string): StreamEvent[];
  readonly warnings: readonly Warning[];
}

/**
 * @example
 * ```ts
 * import { createOpenChatMLStream } from "harmony-gateway/openchatml";
 *
 * const stream = createOpenChatMLStream({ prefill: "assistant" });
 * stream.push("<|channel|>final<|message|>Hi").at(-1); // => { type: "response.delta", text: "Hi" }
 * stream.push("<|return|>"); // => [{ type: "message.done", end: "return" }]
 * ```
 */
export function createOpenChatMLStream(options: StreamOptions = {}): OpenChatMLStream {
  const sink = new EventSink();
  const reader = new Reader(toReaderOptions(options, new Set()), sink);
  let isOver = false;
  if (options.prefill !== undefined) reader.openFrame(options.prefill);

  function read(step: () => void): StreamEvent[] {
    if (isOver) return [];
    try {
      step();
      if (reader.calls.hasCollided) throw collided();
    } catch (error) {
      if (!(error instanceof OpenChatMLError)) throw error;
      isOver = true;
      sink.events.push({ type: "error", error });
    }
    return sink.take();
  }

  return {
    push: (text) => read(() => reader.push(text)),
    end: () =>
      read(() => {
        reader.finish();
        if (reader.lastEnd !== "return" && reader.lastEnd !== "call") throw truncated();
        isOver = true;
      }),
    cancel(reason) {
      if (isOver) return [];
      isOver = true;
      return [
        ...sink.doneCalls(reader.calls.unanswered()).map((id) => {
          return { type: "tool.cancel" as const, call_id: id, reason };
        }),
        { type: "response.cancel", reason },
      ];
    },
    warnings: reader.warnings,
  };
}

/** A whole document is parsed again with other ids; in a stream they have already been emitted. */
function collided(): OpenChatMLError {
  return new OpenChatMLError(
    "E-PARSE-HEADER",
    "a call_id= in the text equals one that was generated earlier",
  );
}

function truncated(): OpenChatMLError {
  const problem = "the stream ends without <|return|> or <|call|>";
  return new OpenChatMLError("E-STREAM-TRUNCATED", problem);
}

class EventSink implements ReaderSink {
  events: StreamEvent[] = [];
  readonly #done = new Set<string>();
  #open: MessageStart | undefined;
  #isAnswer = false;
  /** Whether the text of the answer so far ends in one newline. */
  #endsLine = false;

  take(): StreamEvent[] {
    const { events } = this;
    this.events = [];
    return events;
  }

  /** Returns the calls that are complete. */
  doneCalls(ids: readonly string[]): string[] {
    return ids.filter((id) => this.#done.has(id));
  }

  header(): void {
    // Warnings are no events, since they concern the whole transcript.
  }

  start(message: MessageStart): void {
    const { role, channel, name, to, callId, intent } = message;
    this.#open = message;
    this.#isAnswer = role === "assistant" && channel === "final" && !isCall(message);
    this.#endsLine = false;
    this.events.push({
      type: "message.start",
      role,
      channel,
      ...(name !== undefined && { name }),
      ...(to !== undefined && { to }),
      ...(callId !== undefined && { call_id: callId }),
      ...(intent !== undefined && { intent }),
    });
  }

  text(text: string): void {
    if (!this.#isAnswer) {
      this.events.push({ type: "message.delta", text });
      return;
    }
    let from = 0;
    for (let at = 0; at < text.length; at++) {
      const isNewline = text[at] === "\n";
      const endsParagraph = isNewline && this.#endsLine;
      this.#endsLine = isNewline && !endsParagraph;
      if (!endsParagraph) continue;
      this.events.push({ type: "response.delta", text: text.slice(from, at + 1) });
      this.events.push({ type: "response.delta.flush" });
      from = at + 1;
    }
    if (from < text.length) this.events.push({ type: "response.delta", text: text.slice(from) });
  }

  end(end: Terminator): void {
    if (this.#open?.callId !== undefined) this.#done.add(this.#open.callId);
    this.events.push({ type: "message.done", end });
  }
}
