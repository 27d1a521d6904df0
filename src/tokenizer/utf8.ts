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
