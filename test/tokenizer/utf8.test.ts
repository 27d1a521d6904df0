import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Utf8Decoder } from "../../src/tokenizer/utf8.ts";

function decode(parts: readonly Uint8Array[]): string {
  const decoder = new Utf8Decoder();
  return parts.map((part) => decoder.push(part)).join("") + decoder.end();
}

test.each([
  { bytes: [0x61, 0xc3, 0xa9], text: "aé", why: "two bytes" },
  { bytes: [0xef, 0xbb, 0xbf, 0x61], text: "\uFEFFa", why: "a leading byte order mark stays" },
  { bytes: [0xf0, 0x9f, 0x98, 0x80], text: "😀", why: "four bytes" },
  { bytes: [0xf4, 0x8f, 0xbf, 0xbf], text: "\u{10FFFF}", why: "the last code point" },
  { bytes: [0x80], text: "\uFFFD", why: "nothing to continue" },
  { bytes: [0xc0, 0x80], text: "\uFFFD\uFFFD", why: "overlong, C0 begins nothing" },
  { bytes: [0xe0, 0x80, 0x80], text: "\uFFFD\uFFFD\uFFFD", why: "overlong in three bytes" },
  { bytes: [0xf0, 0x80, 0x80], text: "\uFFFD\uFFFD\uFFFD", why: "overlong in four bytes" },
  { bytes: [0xed, 0xa0, 0x80], text: "\uFFFD\uFFFD\uFFFD", why: "a surrogate" },
  { bytes: [0xf4, 0x90, 0x80], text: "\uFFFD\uFFFD\uFFFD", why: "above the last code point" },
  { bytes: [0xf5, 0x80], text: "\uFFFD\uFFFD", why: "F5 begins nothing" },
  { bytes: [0xe4, 0xbd, 0x61], text: "\uFFFDa", why: "one for a whole unfinished part" },
  { bytes: [0xf0, 0x9f, 0x98, 0xe4, 0xbd], text: "\uFFFD\uFFFD", why: "two unfinished parts" },
  { bytes: [0xe4, 0xe4, 0xbd, 0xa0], text: "\uFFFD你", why: "a character begins anew" },
])("$why", ({ bytes, text }) => {
  expect(decode([Uint8Array.from(bytes)])).toBe(text);
  expect(decode(bytes.map((byte) => Uint8Array.of(byte))), "byte by byte").toBe(text);
});

test("ends an unfinished character, and can be reused after the end", () => {
  const decoder = new Utf8Decoder();
  expect(decoder.push(Uint8Array.of(0x61, 0xe0))).toBe("a");
  expect(decoder.end()).toBe("\uFFFD");
  expect(decoder.end()).toBe("");
  // E0 restricts the byte that follows; a reset must clear this restriction, too.
  expect(decoder.push(Uint8Array.of(0xc2, 0x80))).toBe("\u0080");
});

describe("compared with TextDecoder", () => {
  const telling = fc.constantFrom(
    0x00,
    0x61,
    0x7f,
    0x80,
    0x8f,
    0x90,
    0x9f,
    0xa0,
    0xbf,
    0xc0,
    0xc1,
    0xc2,
    0xdf,
    0xe0,
    0xe4,
    0xed,
    0xef,
    0xf0,
    0xf1,
    0xf4,
    0xf5,
    0xff,
  );

  test("any bytes in any parts decode to the same text", () => {
    fc.assert(
      fc.property(fc.array(fc.array(telling, { maxLength: 5 }), { maxLength: 6 }), (parts) => {
        const expected = new TextDecoder("utf-8", { ignoreBOM: true });
        expect(decode(parts.map((part) => Uint8Array.from(part)))).toBe(
          expected.decode(Uint8Array.from(parts.flat())),
        );
      }),
      { numRuns: 3000 },
    );
  });
});
