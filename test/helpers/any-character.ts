/**
 * For `fc.string`: what its unit "binary" gives, by the same random numbers. That one keeps a table of all characters,
 * which takes each process of tests a second, and 150 MB that every collection of garbage visits.
 */
import * as fc from "fast-check";

const SURROGATES = { first: 0xd800, count: 0x800 };
const CHARACTERS = 0x110000 - SURROGATES.count;

/** Any code point that is no surrogate, as a string. */
export const anyCharacter = fc.nat(CHARACTERS - 1).map(toCharacter, toIndex);

function toCharacter(index: number): string {
  return String.fromCodePoint(index < SURROGATES.first ? index : index + SURROGATES.count);
}

/** Throws if it is none: fast-check asks so which texts consist of them. */
function toIndex(value: unknown): number {
  const codePoint = typeof value === "string" ? value.codePointAt(0) : undefined;
  if (codePoint === undefined || value !== String.fromCodePoint(codePoint))
    throw new Error("not one character");
  if (codePoint < SURROGATES.first) return codePoint;
  if (codePoint < SURROGATES.first + SURROGATES.count) throw new Error("a surrogate");
  return codePoint - SURROGATES.count;
}
