/** Writes the frames of content blocks, whose indexes are contiguous. One block is open at a time. */
import { END_OF_FRAME, sseFrame } from "../reply/event-stream.ts";
import { CALLER } from "./reply.ts";

const THINKING = '{"type":"thinking","thinking":"","signature":""}';
const TEXT = '{"type":"text","text":""}';

/** What follows the text of a delta. */
const DELTA_TAIL = `}}${END_OF_FRAME}`;

export class ContentBlocks {
  #index = 0;
  /** The open block's delta frame, up to its text. Its deltas differ in their text only, so the rest is serialised once. */
  #deltaHead = "";

  startThinking(): string {
    return this.#start(THINKING, "thinking_delta", "thinking");
  }

  startText(): string {
    return this.#start(TEXT, "text_delta", "text");
  }

  startToolUse(id: string, name: string): string {
    return this.startInput({ type: "tool_use", id, name, input: {}, caller: CALLER });
  }

  /** Starts a block whose deltas are JSON text of its input. */
  startInput(block: object): string {
    return this.#start(JSON.stringify(block), "input_json_delta", "partial_json");
  }

  /** A block without deltas. */
  whole(block: object): string {
    return this.#start(JSON.stringify(block), "", "") + this.stop();
  }

  /** Its only delta has all of the summary: clients assign it. Null: there is none. */
  compaction(content: string | null): string {
    const { type: _, ...summary } = compactionBlock(content);
    const delta = { type: "compaction_delta", ...summary };
    return (
      this.#start(JSON.stringify(compactionBlock(null)), "", "") +
      this.#otherDelta(delta) +
      this.stop()
    );
  }

  /** A thinking block with a signature only. */
  signed(signature: string): string {
    return this.startThinking() + this.signature(signature) + this.stop();
  }

  /** Adds text, or JSON text of an input, to the open block. */
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

  /** `member`: the member of a delta that contains its text. */
  #start(block: string, deltaType: string, member: string): string {
    this.#deltaHead =
      "event: content_block_delta\n" +
      `data: {"type":"content_block_delta","index":${this.#index},"delta":{"type":"${deltaType}","${member}":`;
    return frame("content_block_start", `"index":${this.#index},"content_block":${block}`);
  }

  #otherDelta(delta: object): string {
    const json = JSON.stringify(delta);
    return frame("content_block_delta", `"index":${this.#index},"delta":${json}`);
  }
}

export function compactionBlock(content: string | null) {
  return { type: "compaction", content, encrypted_content: null } as const;
}

/** A frame with `type` and these members, which are JSON text without braces. */
export function frame(type: string, members: string): string {
  return sseFrame(`{"type":"${type}",${members}}`, type);
}
