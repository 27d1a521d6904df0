/**
 * Converts turn events to server-sent events, as text.
 *
 * The SDK's accumulator sets the rules: blocks open and close one after the other, indexes are contiguous, a
 * signature comes once and last in its block (it is assigned, not appended), and a tool's partial input is
 * always a prefix of JSON.
 */
import type { Part, TurnEnd, TurnEvent } from "../../turn/turn.ts";
import { describeTurnFailure, type ErrorDescription } from "../errors.ts";
import { EMPTY_ANSWER_COMMENT, isAnswerEmpty } from "../reply/empty-answer.ts";
import { sseFrame } from "../reply/event-stream.ts";
import { progressMember } from "../reply/prefill-note.ts";
import { ContentBlocks, frame } from "./content-blocks.ts";
import { toMessagesError } from "./errors.ts";
import { type ReplyOptions, toFirstUsage, toIterations, toStop, toUsage } from "./reply.ts";
import { ServerToolWriter } from "./server-tool-writer.ts";
import { TextWriter } from "./text-writer.ts";
import { ToolInput } from "./tool-input.ts";

type Delta = Extract<TurnEvent, { type: "part-delta" }>;

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
export function messageStart({ id, model }: ReplyOptions, inputTokens: number): string {
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
    diagnostics: null,
    usage: toFirstUsage(inputTokens),
  };
  return frame("message_start", `"message":${JSON.stringify(message)}`);
}

export class EventWriter {
  readonly #options: ReplyOptions;
  readonly #blocks = new ContentBlocks();
  readonly #text: TextWriter;
  readonly #serverTools: ServerToolWriter;
  #open: Part | undefined;
  /** Input of the open or last `tool_use` block. */
  #input: ToolInput | undefined;
  /** Signatures of thinking that is shown only in a tool loop or before a preamble. */
  #held: string[] = [];
  #hasCall = false;

  constructor(options: ReplyOptions) {
    this.#options = options;
    this.#text = new TextWriter(this.#blocks);
    this.#serverTools = new ServerToolWriter(options, this.#blocks);
  }

  /** The frames of an event: often one, sometimes none. */
  push(event: TurnEvent): string {
    switch (event.type) {
      case "start":
        return messageStart(this.#options, event.promptTokens) + this.#compaction();
      case "prefill":
        return this.#options.returnsProgress ? frame("ping", progressMember(event)) : "";
      case "part-start":
        this.#open = event.part;
        return this.#startPart(event.part);
      case "part-delta":
        return this.#delta(event);
      case "part-end":
        return this.#endPart(event.sealed);
      case "builtin-result":
        return this.#serverTools.result(event);
      case "end":
        return this.#end(event);
      default:
        return event satisfies never;
    }
  }

  #compaction(): string {
    const { made } = this.#options.compaction ?? {};
    return made === undefined ? "" : this.#blocks.compaction(made.text ?? null);
  }

  #startPart(part: Part): string {
    switch (part.kind) {
      case "reasoning":
        return this.#options.thinking === "text" ? this.#blocks.startThinking() : "";
      case "content":
        this.#held = [];
        return this.#text.start();
      case "preamble":
        return this.#heldThinking() + this.#text.start();
      case "tool-call":
        this.#input = new ToolInput();
        this.#hasCall = true;
        return this.#heldThinking() + this.#blocks.startToolUse(part.id, part.name);
      case "builtin-call":
        return this.#heldThinking() + this.#serverTools.start(part);
      default:
        return part satisfies never;
    }
  }

  #delta({ text, citations = [] }: Delta): string {
    const part = this.#open;
    switch (part?.kind) {
      case "reasoning":
        return this.#options.thinking === "text" ? this.#blocks.delta(text) : "";
      case "preamble":
      case "content":
        return this.#text.delta(text, citations);
      case "tool-call":
        return this.#inputDelta(this.#input?.push(text));
      case "builtin-call":
        return this.#serverTools.delta(part, text);
      case undefined:
        return "";
      default:
        return part satisfies never;
    }
  }

  #endPart(sealed: string | undefined): string {
    const part = this.#open;
    this.#open = undefined;
    switch (part?.kind) {
      case "reasoning":
        return this.#endThinking(sealed ?? "");
      case "preamble":
      case "content":
        return this.#text.end();
      case "tool-call":
        return this.#inputDelta(this.#input?.end()) + this.#blocks.stop();
      case "builtin-call":
        return this.#serverTools.end(part);
      case undefined:
        return "";
      default:
        return part satisfies never;
    }
  }

  #inputDelta(json = ""): string {
    return json === "" ? "" : this.#blocks.delta(json);
  }

  #endThinking(signature: string): string {
    switch (this.#options.thinking) {
      case "text":
        return this.#blocks.signature(signature) + this.#blocks.stop();
      case "signature":
        return this.#blocks.signed(signature);
      case "before-output":
        this.#held.push(signature);
        return "";
      case "none":
        return "";
      default:
        return this.#options.thinking satisfies never;
    }
  }

  #heldThinking(): string {
    const signatures = this.#held;
    this.#held = [];
    return signatures.map((signature) => this.#blocks.signed(signature)).join("");
  }

  #end(turn: TurnEnd): string {
    if (turn.failure) return errorFrame(describeTurnFailure(turn.failure), this.#options);
    const usage = JSON.stringify({ ...toUsage(turn.usage), ...toIterations(turn, this.#options) });
    const { contextManagement: applied } = this.#options;
    const management = applied ? `,"context_management":${JSON.stringify(applied)}` : "";
    const stop = JSON.stringify({
      ...toStop(turn, this.#options),
      container: this.#serverTools.container,
    });
    return (
      (this.#hasCall ? this.#heldThinking() : "") +
      (isAnswerEmpty(turn) ? EMPTY_ANSWER_COMMENT : "") +
      frame("message_delta", `"delta":${stop},"usage":${usage}${management}`) +
      sseFrame('{"type":"message_stop"}', "message_stop")
    );
  }
}
