/** Decodes ids to text, incrementally or all at once. */

import { SLACK } from "./byte-words.ts";
import { specialTokenName } from "./special-tokens.ts";
import { bytesOf, lengthOf, startOf, type TokenBytes } from "./token-bytes.ts";
import type { TokenTexts } from "./token-texts.ts";
import type { StreamingDecoder, TokenId } from "./tokenizer.ts";
import { Utf8Decoder } from "./utf8.ts";

export class Decoder implements StreamingDecoder {
  readonly #tokens: TokenBytes;
  readonly #texts: TokenTexts;
  /** Buffers the bytes of a character that spans several tokens. */
  readonly #utf8 = new Utf8Decoder();

  constructor(tokens: TokenBytes, texts: TokenTexts) {
    this.#tokens = tokens;
    this.#texts = texts;
  }

  push(id: TokenId): string {
    const text = this.#texts.textOf(id) ?? specialTokenName(id);
    // Valid UTF-8 begins with a whole character, so buffered bytes remain incomplete.
    if (text !== undefined) return this.#utf8.end() + text;
    return this.#utf8.push(bytesOf(this.#tokens, id));
  }

  end(): string {
    return this.#utf8.end();
  }
}

/**
 * Decodes all ids at once: their bytes are concatenated and decoded natively. This is two to four times as fast as
 * joining texts, which the runtime must flatten later; for a few ids the call alone takes longer.
 */
export function decodeMany(tokens: TokenBytes, ids: readonly TokenId[]): string {
  const { view: tokenView, places } = tokens;
  const count = places.length;
  // Whether the id is an integer in range. An index out of range would deoptimise every access.
  const isOrdinary = (id: TokenId) => (id | 0) === id && id >= 0 && id < count;

  // Two indexed loops: `for … of` takes twice as long.
  let capacity = SLACK;
  for (let i = 0; i < ids.length; i++) {
    const id = ids[i]!;
    if (isOrdinary(id)) {
      if (places[id] === 0) tokens.otherIds();
      capacity += lengthOf(places[id]!);
    } else {
      capacity += specialTokenName(id)?.length ?? 0;
    }
  }

  const view = new DataView(new ArrayBuffer(capacity));
  let length = 0;
  for (let i = 0; i < ids.length; i++) {
    const id = ids[i]!;
    if (isOrdinary(id)) {
      // Copies at least eight bytes, so that most tokens need no loop. The next token overwrites the rest.
      const start = startOf(places[id]!);
      const tokenLength = lengthOf(places[id]!);
      view.setInt32(length, tokenView.getInt32(start, true), true);
      view.setInt32(length + 4, tokenView.getInt32(start + 4, true), true);
      for (let at = 8; at < tokenLength; at += 4) {
        view.setInt32(length + at, tokenView.getInt32(start + at, true), true);
      }
      length += tokenLength;
    } else {
      const name = specialTokenName(id) ?? "";
      for (let at = 0; at < name.length; at++) view.setUint8(length++, name.charCodeAt(at));
    }
  }
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(
    new Uint8Array(view.buffer, 0, length),
  );
}
