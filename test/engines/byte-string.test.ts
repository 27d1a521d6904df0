import * as fc from "fast-check";
import { expect, test } from "vitest";

import { ByteString } from "../../src/engines/byte-string.ts";

const text = fc.string({ unit: "binary", minLength: 1, maxLength: 40 });
const withoutNul = text.map((any) => any.replaceAll("\0", "-"));

/** Whether the string is found in a part of a larger buffer that begins behind `before` bytes. */
function isIn(bytes: Uint8Array, expected: ByteString, before: number): boolean {
  const buffer = new Uint8Array(before + bytes.length + 50).fill(32);
  buffer.set(bytes, before);
  return expected.isAt(new DataView(buffer.buffer), before, before + bytes.length);
}

test("any text is found where it is, at any place of a buffer", () => {
  fc.assert(
    fc.property(withoutNul, fc.string(), fc.nat({ max: 20 }), (expected, behind, before) => {
      const bytes = new TextEncoder().encode(expected + behind);
      expect(isIn(bytes, new ByteString(expected), before)).toBe(true);
    }),
  );
});

test("not where any one byte differs, nor where one is missing", () => {
  fc.assert(
    fc.property(withoutNul, fc.nat(), fc.integer({ min: 1, max: 255 }), (expected, at, change) => {
      const bytes = new TextEncoder().encode(expected);
      const string = new ByteString(expected);
      expect(isIn(bytes.subarray(0, -1), string, 3)).toBe(false);
      const index = at % bytes.length;
      bytes[index] = (bytes[index] ?? 0) ^ change;
      expect(isIn(bytes, string, 3)).toBe(false);
    }),
    { numRuns: 500 },
  );
});

test("bytes that are no number differ from all others", () => {
  const expected = new ByteString("eight by");
  expect(isIn(new Uint8Array(8).fill(0xff), expected, 0)).toBe(false);
});
