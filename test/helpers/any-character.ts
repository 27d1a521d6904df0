/**
 * A unit for `fc.string` that gives the characters of its unit "binary", by the same random numbers. The latter keeps a
 * table of all characters, which takes each test process a second, and 150 MB that every garbage collection visits.
 */
import * as fc from "fast-check";

const SURROGATES = { first: 0xd800, count: 0x800 };
const CHARACTERS = 0x110000 - SURROGATES.count;

/** Any code point that is not a surrogate, as a string. */
export const anyCharacter = fc.nat(CHARACTERS - 1).map(toCharacter, toIndex);

function toCharacter(index: number): string {
  return String.fromCodePoint(index < SURROGATES.first ? index : index + SURROGATES.count);
}

/** Throws for any other value: fast-check thereby finds the texts that consist of such characters. */
function toIndex(value: unknown): number {
  const codePoint = typeof value === "string" ? value.codePointAt(0) : undefined;
  if (codePoint === undefined || value !== String.fromCodePoint(codePoint))
    throw new Error("not one character");
  if (codePoint < SURROGATES.first) return codePoint;
  if (codePoint < SURROGATES.first + SURROGATES.count) throw new Error("a surrogate");
  return codePoint - SURROGATES.count;
}
