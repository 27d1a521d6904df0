/** Reads bodies from third parties, of limited size and in a limited number of pieces. */

/** Minimum bytes counted for a piece, since each piece costs memory and time. */
const LEAST_PIECE = 64;

/** The number of bytes counted for a piece. */
export function weigh(piece: Uint8Array): number {
  return Math.max(piece.length, LEAST_PIECE);
}

/** Reads a body. Undefined: the body is larger, and its rest is not read. */
export async function readBounded(
  body: AsyncIterable<Uint8Array> | null,
  maxBytes: number,
): Promise<Uint8Array | undefined> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  let counted = 0;
  for await (const piece of body ?? []) {
    length += piece.length;
    counted += weigh(piece);
    if (counted > maxBytes) return undefined;
    pieces.push(piece);
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}
