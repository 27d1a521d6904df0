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
