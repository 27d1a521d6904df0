/** Pictures for tests. */

/** A PNG whose header has this size; its pixels are never read. `tag` makes the image different. */
export function pngOf(width: number, height: number, tag = ""): string {
  const bytes = Buffer.alloc(33 + tag.length);
  Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13]).copy(bytes);
  bytes.write("IHDR", 12);
  bytes.writeUInt32BE(width, 16);
  bytes.writeUInt32BE(height, 20);
  bytes.write(tag, 33);
  return bytes.toString("base64");
}
