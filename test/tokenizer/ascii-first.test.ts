/** The tables for characters outside of ASCII are filled when the first of them comes, wherever that is. */
import { describe, expect, test } from "vitest";
import { decodeMany } from "../../src/tokenizer/decoder.ts";
import { createEncoder } from "../../src/tokenizer/encoder.ts";
import { o200kHarmony } from "../../src/tokenizer/index.ts";
import { bytesOf, unpackTokenBytes } from "../../src/tokenizer/token-bytes.ts";
import { TokenTexts } from "../../src/tokenizer/token-texts.ts";

const ASCII = "The first text of all, with antidisestablishmentarianism. ";
const FIRST: readonly (readonly [name: string, text: string])[] = [
  ["a letter with an accent", "é"],
  ["a control character of Latin-1", "\u0080"],
  ["Han", "你好，世界"],
  ["Thai", "สวัสดีครับ"],
  ["an emoji", "🫠"],
  ["half of a character", "a\ud83e"],
  ["an ASCII text's last character", `${ASCII}—`],
  ["the last character of several windows", `${ASCII.repeat(2000)}…`],
  ["a character of a very long word", `${"ab".repeat(20_000)}ж${"ab".repeat(20_000)}`],
];

/** Its tables are filled by earlier texts, in this process or in this call. */
function expectedIds(text: string) {
  o200kHarmony().encode("世界");
  return o200kHarmony().encode(text);
}

function lastOf(steps: Generator<number, number[]>): number[] {
  for (let step = steps.next(); ; step = steps.next()) if (step.done) return step.value;
}

describe.each(FIRST)("%s", (_, text) => {
  test.each(["before any other text", "after ASCII"])("is encoded %s", (when) => {
    const encoder = createEncoder(unpackTokenBytes());
    if (when === "after ASCII") expect(encoder.encode(ASCII)).toEqual(expectedIds(ASCII));
    expect(encoder.encode(text)).toEqual(expectedIds(text));
    expect(encoder.encode(ASCII)).toEqual(expectedIds(ASCII));
  });

  test("is encoded in steps", () => {
    const encoder = createEncoder(unpackTokenBytes());
    expect(lastOf(encoder.encodeInSteps(text))).toEqual(expectedIds(text));
  });

  test("is decoded before anything is encoded, and encoded after that", () => {
    const tokens = unpackTokenBytes();
    const ids = expectedIds(text);
    expect(decodeMany(tokens, ids)).toBe(text.toWellFormed());
    expect(createEncoder(tokens).encode(text)).toEqual(ids);
  });
});

test("a single token is decoded, by its text and by its bytes", () => {
  const [id = 0] = expectedIds("世界");
  expect(new TokenTexts(unpackTokenBytes()).textOf(id)).toBe("世界");
  expect(bytesOf(unpackTokenBytes(), id)).toEqual(new TextEncoder().encode("世界"));
});
