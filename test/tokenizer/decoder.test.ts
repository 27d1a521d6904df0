import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  createDecoder,
  FIRST_SPECIAL_ID,
  o200kHarmony,
  specialTokenName,
  tokenBytes,
  tokenText,
} from "../../src/tokenizer/index.ts";
import { texts } from "./texts.ts";

const tokenizer = o200kHarmony();

/** Ordinary ids, special ones, and ones outside the vocabulary. */
const anyIds = fc.array(
  fc.oneof(
    fc.integer({ min: 0, max: 201_100 }),
    fc.integer({ min: 0, max: 255 }),
    fc.constantFrom(-1, 2 ** 32 - 1, 199_998, 200_006),
  ),
  { maxLength: 30 },
);

test("decoding gives the text that was encoded", () => {
  fc.assert(
    fc.property(texts, (text) => {
      expect(tokenizer.decode(tokenizer.encode(text))).toBe(text.toWellFormed());
    }),
    { numRuns: 3000 },
  );
});

/** The ids of the tokens of one byte, by byte. */
const byteIds = new Map(Array.from({ length: 256 }, (_, id) => [tokenBytes(id)?.[0], id]));

/** Each byte is a token. */
function decodeBytes(bytes: readonly number[]): string {
  const decoder = createDecoder();
  return bytes.map((byte) => decoder.push(byteIds.get(byte) ?? 0)).join("") + decoder.end();
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
])("byte by byte: $why", ({ bytes, text }) => {
  expect(decodeBytes(bytes)).toBe(text);
});

test("any bytes decode as by the Encoding Standard", () => {
  const telling = [0x00, 0x61, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf];
  const leading = [0xe0, 0xe4, 0xed, 0xef, 0xf0, 0xf1, 0xf4, 0xf5, 0xff];
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...telling, ...leading), { maxLength: 30 }), (bytes) => {
      const expected = new TextDecoder("utf-8", { ignoreBOM: true });
      expect(decodeBytes(bytes)).toBe(expected.decode(Uint8Array.from(bytes)));
    }),
    { numRuns: 3000 },
  );
});

describe("a stream", () => {
  test("joins to the text of all bytes at once", () => {
    const bytesOf = (id: number) =>
      tokenBytes(id) ?? new TextEncoder().encode(specialTokenName(id) ?? "");
    fc.assert(
      fc.property(anyIds, (ids) => {
        const bytes = Uint8Array.from(ids.flatMap((id) => [...bytesOf(id)]));
        const expected = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
        expect(tokenizer.decode(ids)).toBe(expected);
      }),
      { numRuns: 3000 },
    );
  });

  test("has returned at any point exactly the certain text", () => {
    fc.assert(
      fc.property(anyIds, (ids) => {
        const decoder = createDecoder();
        let shown = "";
        for (const [index, id] of ids.entries()) {
          shown += decoder.push(id);
          // At most one incomplete character is held back.
          const all = tokenizer.decode(ids.slice(0, index + 1));
          expect([shown, `${shown}\uFFFD`]).toContain(all);
        }
      }),
      { numRuns: 1000 },
    );
  });

  test("emits a character with the id that completes it", () => {
    const decoder = createDecoder();
    expect([172, 253, 246, 222].map((id) => decoder.push(id))).toEqual(["", "", "", "😀"]);
    expect(decoder.end()).toBe("");
  });

  test.each([
    { why: "a word", id: 24_912, text: "\uFFFDhello" },
    { why: "a special id", id: 200_007, text: "\uFFFD<|end|>" },
    { why: "an unknown id", id: 201_089, text: "" },
  ])("in the middle of a character meets $why", ({ id, text }) => {
    const decoder = createDecoder();
    expect(decoder.push(172)).toBe("");
    expect(decoder.push(id)).toBe(text);
  });

  test("can be reused after its end", () => {
    const decoder = createDecoder();
    decoder.push(172);
    expect(decoder.end()).toBe("\uFFFD");
    expect(decoder.push(253)).toBe("\uFFFD");
    expect(decoder.end()).toBe("");
  });

  test("is independent of other streams", () => {
    const [one, other] = [createDecoder(), createDecoder()];
    one.push(172);
    expect(other.push(24_912)).toBe("hello");
    expect([253, 246, 222].map((id) => one.push(id)).join("")).toBe("😀");
  });
});

test.each([
  { id: 24_912, text: "hello", bytes: "hello" },
  { id: 2375, text: " world", bytes: " world" },
])("token $id has a text and bytes", ({ id, text, bytes }) => {
  expect(tokenText(id)).toBe(text);
  expect(tokenBytes(id)).toEqual(Uint8Array.from(Buffer.from(bytes)));
});

test("a part of a character has bytes and no text", () => {
  expect(tokenText(172)).toBeUndefined();
  expect(tokenText(172), "asked again").toBeUndefined();
  expect(tokenBytes(172)).toEqual(Uint8Array.of(0xf0));
});

test("a token of whole characters that has U+FFFD in it has a text", () => {
  const [id = -1] = tokenizer.encode("\uFFFD");
  expect(tokenText(id)).toBe("\uFFFD");
});

/** A shift or a mask would take the last ones for 24,912, whose text was read above. */
const NO_IDS = [199_998, 200_006, 200_018, 201_088, 201_089, -1, 0.5, Number.NaN];
const NEARLY_IDS = [24_912.5, 24_912 + 2 ** 32, 24_912 - 2 ** 32];
test.each([...NO_IDS, ...NEARLY_IDS])("%s is not an ordinary id: neither text nor bytes", (id) => {
  expect(tokenText(id)).toBeUndefined();
  expect(tokenBytes(id)).toBeUndefined();
});

test("the bytes are the caller's own", () => {
  tokenBytes(24_912)?.fill(0);
  expect(tokenBytes(24_912)).toEqual(Uint8Array.from(Buffer.from("hello")));
});

test("a token has a text if its bytes are valid UTF-8", () => {
  const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const textOf = (bytes: Uint8Array | undefined) => {
    try {
      return strict.decode(bytes);
    } catch {
      return undefined;
    }
  };
  const ids = Array.from({ length: FIRST_SPECIAL_ID }, (_, id) => id);
  expect(ids.filter((id) => tokenText(id) !== textOf(tokenBytes(id)))).toEqual([]);
  expect(ids.filter((id) => tokenText(id) === undefined)).toHaveLength(1562);
});
