/** The text that is being encoded, as UTF-8. */

import { SLACK } from "./byte-words.ts";

/** Stands behind the last byte. Never occurs in UTF-8, so that runs end there without a count. */
export const END_OF_TEXT = 0xff;

/** A buffer that is written again for each text; lone surrogates become U+FFFD. */
export class TextBytes {
  readonly bytes: Uint8Array;
  /** The same memory as `bytes`. */
  readonly view: DataView;
  /** How many bytes belong to the text. */
  length = 0;

  readonly #encoder = new TextEncoder();

  /** Room for any text of up to `capacity` UTF-16 units. */
  constructor(capacity: number) {
    this.bytes = new Uint8Array(capacity * 3 + SLACK);
    this.view = new DataView(this.bytes.buffer);
  }

  write(text: string): void {
    this.length = this.#encoder.encodeInto(text, this.bytes).written;
    this.bytes[this.length] = END_OF_TEXT;
  }
}
