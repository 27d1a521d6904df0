/** Writes the content of a message from the events of its turn, as blocks: to frames, or to a plain message. */
import type { Citation } from "../../turn/output/citations.ts";
import type { GatewayCallPart, GatewayCallResult, Part, TurnEvent } from "../../turn/turn.ts";
import type { ContentBlocks } from "./content-blocks.ts";
import { type ReplyOptions, toContainer } from "./reply.ts";
import {
  cutAtCitations,
  serverToolName,
  toResultBlock,
  toServerToolInput,
  toServerToolUse,
  toTextCitation,
} from "./server-tool-blocks.ts";
import { ToolInput } from "./tool-input.ts";

/** An event of a turn, or the summary that stands for the parts of its turn. */
export type ReplyEvent = TurnEvent | { readonly type: "summary"; readonly text: string };

type Delta = Extract<TurnEvent, { type: "part-delta" }>;

export class ContentWriter {
  readonly #options: ReplyOptions;
  readonly #blocks: ContentBlocks;
  readonly #text: TextWriter;
  readonly #serverTools: ServerToolWriter;
  #open: Part | undefined;
  /** Input of the open or last `tool_use` block. */
  #input: ToolInput | undefined;
  /** Signatures of thinking that is shown only in a tool loop or before a preamble. */
  #held: string[] = [];
  #hasCall = false;

  constructor(options: ReplyOptions, blocks: ContentBlocks) {
    this.#options = options;
    this.#blocks = blocks;
    this.#text = new TextWriter(blocks);
    this.#serverTools = new ServerToolWriter(options, blocks);
  }

  /** The container that the message names at its end. */
  get container(): ReturnType<typeof toContainer> {
    return this.#serverTools.container;
  }

  /** The frames of an event: often one, sometimes none. */
  push(event: ReplyEvent): string {
    switch (event.type) {
      case "start":
        return this.#compaction();
      case "prefill":
        return "";
      case "summary":
        return this.#blocks.compaction(event.text);
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
        // Thinking after a call is part of the loop.
        return this.#hasCall ? this.#heldThinking() : "";
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
}

/** Writes a part of text as text blocks. A block ends after a citation, and further text begins a new one. */
class TextWriter {
  readonly #blocks: ContentBlocks;
  /** Characters written of the part. */
  #partLength = 0;
  /** Characters written of the open block. */
  #blockLength = 0;
  /** The open block has a citation. */
  #isCited = false;

  constructor(blocks: ContentBlocks) {
    this.#blocks = blocks;
  }

  start(): string {
    this.#partLength = 0;
    return this.#startBlock();
  }

  delta(text: string, citations: readonly Citation[]): string {
    let frames = "";
    if (citations.length === 0 && !this.#isCited) {
      this.#blockLength += text.length;
      frames = this.#blocks.delta(text);
    } else {
      for (const span of cutAtCitations(text, citations, this.#partLength)) {
        if (span.text !== "") frames += this.#uncitedDelta(span.text);
        for (const citation of span.citations) frames += this.#cite(citation);
      }
    }
    this.#partLength += text.length;
    return frames;
  }

  end(): string {
    return this.#blocks.stop();
  }

  #uncitedDelta(text: string): string {
    const startsBlock = this.#isCited && this.#blockLength > 0;
    const started = startsBlock ? this.#blocks.stop() + this.#startBlock() : "";
    this.#blockLength += text.length;
    return started + this.#blocks.delta(text);
  }

  #cite(citation: Citation): string {
    if (this.#blockLength > 0) this.#isCited = true;
    return this.#blocks.citation(toTextCitation(citation));
  }

  #startBlock(): string {
    this.#blockLength = 0;
    this.#isCited = false;
    return this.#blocks.startText();
  }
}

/**
 * Writes the blocks of calls that the gateway runs: a call's own, and after it that of its result.
 * Code is streamed. Other input is sent when it is complete; for `web_fetch`, together with the result.
 */
class ServerToolWriter {
  readonly #options: ReplyOptions;
  readonly #blocks: ContentBlocks;
  /** The latest call, with its input as the model wrote it. */
  #call: { readonly part: GatewayCallPart; text: string } | undefined;
  #container: ReturnType<typeof toContainer> = null;

  constructor(options: ReplyOptions, blocks: ContentBlocks) {
    this.#options = options;
    this.#blocks = blocks;
  }

  /** The container that the message names at its end. */
  get container(): ReturnType<typeof toContainer> {
    return this.#container;
  }

  start(part: GatewayCallPart): string {
    this.#call = { part, text: "" };
    const name = serverToolName(part, this.#options);
    if (name === undefined || name === "web_fetch") return "";
    const started = this.#blocks.startInput(toServerToolUse(part, name, {}));
    return name === "code_execution" ? started + this.#blocks.delta('{"code":"') : started;
  }

  delta(part: GatewayCallPart, text: string): string {
    if (this.#call) this.#call.text += text;
    const isCode = serverToolName(part, this.#options) === "code_execution";
    return isCode ? this.#blocks.delta(JSON.stringify(text).slice(1, -1)) : "";
  }

  end(part: GatewayCallPart): string {
    const name = serverToolName(part, this.#options);
    if (name === undefined || name === "web_fetch") return "";
    const input = toServerToolInput(name, this.#call?.text ?? "", undefined);
    const rest = name === "code_execution" ? '"}' : JSON.stringify(input);
    return this.#blocks.delta(rest) + this.#blocks.stop();
  }

  result(result: GatewayCallResult): string {
    const part = this.#call?.part;
    const name = part && serverToolName(part, this.#options);
    if (part === undefined || name === undefined) return "";
    const { block, carries } = toResultBlock(part, result);
    const container = result.failed ? null : toContainer(result.shown, this.#options);
    this.#container = container ?? this.#container;
    const fetched = name === "web_fetch" ? this.#wholeFetch(part, result) : "";
    return fetched + this.#blocks.whole(block) + (carries ? "" : this.#sealedCall(result));
  }

  #wholeFetch(part: GatewayCallPart, { shown }: GatewayCallResult): string {
    const input = toServerToolInput("web_fetch", this.#call?.text ?? "", shown);
    const started = this.#blocks.startInput(toServerToolUse(part, "web_fetch", {}));
    return started + this.#blocks.delta(JSON.stringify(input)) + this.#blocks.stop();
  }

  /** The encrypted call, for clients that send thinking blocks back. */
  #sealedCall({ sealed }: GatewayCallResult): string {
    return this.#options.thinking === "none" || !sealed ? "" : this.#blocks.signed(sealed);
  }
}
