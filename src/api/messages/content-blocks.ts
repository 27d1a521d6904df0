/** Content blocks, whose indexes are contiguous. One block is open at a time. Each method returns the frames of its change. */
import { END_OF_FRAME, sseFrame } from "../reply/event-stream.ts";
import { CALLER } from "./reply.ts";

/** The member of a block that its deltas extend. Deltas of an input are JSON text. */
export type TextMember = "thinking" | "text" | "input";

export abstract class ContentBlocks {
  startThinking(): string {
    return this.start({ type: "thinking", thinking: "", signature: "" }, "thinking");
  }

  startText(): string {
    return this.start({ type: "text", text: "" }, "text");
  }

  startToolUse(id: string, name: string): string {
    return this.startInput({ type: "tool_use", id, name, input: {}, caller: CALLER });
  }

  startInput(block: object): string {
    return this.start(block, "input");
  }

  /** A block without deltas. */
  whole(block: object): string {
    return this.start(block, undefined) + this.stop();
  }

  /** A thinking block with a signature only. */
  signed(signature: string): string {
    return this.startThinking() + this.signature(signature) + this.stop();
  }

  abstract start(block: object, member: TextMember | undefined): string;
  /** Adds text to the open block. */
  abstract delta(text: string): string;
  abstract signature(signature: string): string;
  abstract citation(citation: object): string;
  abstract stop(): string;
  /** Null: there is no summary. */
  abstract compaction(content: string | null): string;
}

const DELTAS: Readonly<Record<TextMember, string>> = {
  thinking: '"thinking_delta","thinking"',
  text: '"text_delta","text"',
  input: '"input_json_delta","partial_json"',
};

/** The end of a frame, after the text of a delta. */
const DELTA_TAIL = `}}${END_OF_FRAME}`;

/** The blocks of a stream. */
export class BlockFrames extends ContentBlocks {
  #index = 0;
  /** The open block's delta frame, up to its text. Its deltas differ in their text only, so the rest is serialised once. */
  #deltaHead = "";

  start(block: object, member: TextMember | undefined): string {
    this.#deltaHead =
      "event: content_block_delta\n" +
      `data: {"type":"content_block_delta","index":${this.#index},"delta":{"type":${member && DELTAS[member]}:`;
    const json = JSON.stringify(block);
    return frame("content_block_start", `"index":${this.#index},"content_block":${json}`);
  }

  delta(text: string): string {
    return this.#deltaHead + JSON.stringify(text) + DELTA_TAIL;
  }

  signature(signature: string): string {
    return this.#otherDelta({ type: "signature_delta", signature });
  }

  citation(citation: object): string {
    return this.#otherDelta({ type: "citations_delta", citation });
  }

  stop(): string {
    return frame("content_block_stop", `"index":${this.#index++}`);
  }

  /** Sends the whole summary in one delta: clients assign it. */
  compaction(content: string | null): string {
    const { type: _, ...summary } = compactionBlock(content);
    const delta = this.#otherDelta({ type: "compaction_delta", ...summary });
    return this.start(compactionBlock(null), undefined) + delta + this.stop();
  }

  #otherDelta(delta: object): string {
    const json = JSON.stringify(delta);
    return frame("content_block_delta", `"index":${this.#index},"delta":${json}`);
  }
}

/** The blocks of a plain message, each as JSON text, equal to the sum of a stream's deltas. */
export class WholeBlocks extends ContentBlocks {
  readonly written: string[] = [];
  #block: object = {};
  #member: TextMember | undefined;
  #text = "";
  #signature: string | undefined;
  #citations: object[] = [];

  start(block: object, member: TextMember | undefined): string {
    this.#block = block;
    this.#member = member;
    this.#text = "";
    this.#signature = undefined;
    this.#citations = [];
    return "";
  }

  delta(text: string): string {
    this.#text += text;
    return "";
  }

  signature(signature: string): string {
    this.#signature = signature;
    return "";
  }

  citation(citation: object): string {
    this.#citations.push(citation);
    return "";
  }

  stop(): string {
    this.written.push(this.#toJson());
    return "";
  }

  compaction(content: string | null): string {
    return this.whole(compactionBlock(content));
  }

  #toJson(): string {
    const member = this.#member;
    if (member === undefined) return JSON.stringify(this.#block);
    if (member === "input") {
      // The input of the block is replaced by the one that the model wrote.
      const head = JSON.stringify({ ...this.#block, input: undefined });
      return `${head.slice(0, -1)},"input":${this.#text || "{}"}}`;
    }
    return JSON.stringify({
      ...this.#block,
      [member]: this.#text,
      ...(this.#signature !== undefined && { signature: this.#signature }),
      // Without citations the member is absent, because `@ai-sdk/anthropic` 2 and 3 refuse null.
      ...(this.#citations.length > 0 && { citations: this.#citations }),
    });
  }
}

export function compactionBlock(content: string | null) {
  return { type: "compaction", content, encrypted_content: null } as const;
}

/** A frame with `type` and these members, which are JSON text without braces. */
export function frame(type: string, members: string): string {
  return sseFrame(`{"type":"${type}",${members}}`, type);
}
