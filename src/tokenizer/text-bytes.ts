/** UTF-8 buffer for the text being encoded. */

import { SLACK } from "./byte-words.ts";

/** Sentinel after the last byte. It never occurs in UTF-8, so runs end there without a bounds check. */
export const END_BYTE = 0xff;

/** A buffer that is reused for each text. Lone surrogates become U+FFFD. */
export class TextBytes {
  readonly bytes: Uint8Array;
  /** A view of the memory of `bytes`. */
  readonly view: DataView;
  /** Number of bytes of the text. */
  length = 0;

  readonly #encoder = new TextEncoder();

  /** Room for any text of up to `capacity` UTF-16 units. */
  constructor(capacity: number) {
    this.bytes = new Uint8Array(capacity * 3 + SLACK);
    this.view = new DataView(this.bytes.buffer);
  }

  write(text: string): void {
    this.length = this.#encoder.encodeInto(text, this.bytes).written;
    this.bytes[this.length] = END_BYTE;
  }
}
