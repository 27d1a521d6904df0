/** Length of a text in UTF-8 bytes. A lone surrogate counts as the replacement character. */
function utf8Length(text: string, from = 0, to = text.length): number {
  let bytes = to - from;
  for (let at = from; at < to; at++) {
    const code = text.charCodeAt(at);
    if (code < 0x80) continue;
    bytes += code < 0x800 ? 1 : 2;
    if (code < 0xd800 || code > 0xdbff || at + 1 >= to) continue;
    const next = text.charCodeAt(at + 1);
    if (next >= 0xdc00 && next <= 0xdfff) at++;
  }
  return bytes;
}

/** Byte offsets of positions in a text. Cheap if queried in ascending order. */
export class ByteOffsets {
  #at = 0;
  #bytes = 0;

  of(text: string, at: number): number {
    const isBehind = at >= this.#at;
    this.#bytes = (isBehind ? this.#bytes : 0) + utf8Length(text, isBehind ? this.#at : 0, at);
    this.#at = at;
    return this.#bytes;
  }
}
