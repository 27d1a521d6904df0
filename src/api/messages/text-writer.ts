/** Writes a part of text as text blocks. A block ends after a citation, and further text begins a new one. */
import type { Citation } from "../../turn/output/citations.ts";
import type { ContentBlocks } from "./content-blocks.ts";
import { cutAtCitations, toTextCitation } from "./server-tool-blocks.ts";

export class TextWriter {
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
