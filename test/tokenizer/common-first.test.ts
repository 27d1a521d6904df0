/** The tables for the letters of most scripts are filled when the first of them comes, wherever that is. */
import { describe, expect, test } from "vitest";
import { Decoder } from "../../src/tokenizer/decoder.ts";
import { Encoder } from "../../src/tokenizer/encoder.ts";
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
  test.each([
    { title: "before any other text", when: [] },
    { title: "after ASCII", when: [ASCII] },
    { title: "after signs and emoji", when: ["“🫠” — °"] },
    { title: "after other letters", when: ["ж漢"] },
  ])("is encoded $title", ({ when }) => {
    const encoder = new Encoder(unpackTokenBytes());
    const texts = [...when, text, ASCII];
    expect(texts.map((each) => encoder.encode(each))).toEqual(texts.map(expectedIds));
  });

  test("is encoded in steps", () => {
    const encoder = new Encoder(unpackTokenBytes());
    expect(lastOf(encoder.encodeInSteps(text))).toEqual(expectedIds(text));
  });

  test("is decoded before anything is encoded, and encoded after that", () => {
    const tokens = unpackTokenBytes();
    const ids = expectedIds(text);
    const decoder = new Decoder(tokens, new TokenTexts(tokens));
    const texts = ids.map((id) => decoder.push(id));
    expect(texts.join("") + decoder.end()).toBe(text.toWellFormed());
    expect(new Encoder(tokens).encode(text)).toEqual(ids);
  });
});

test("tables are filled in steps of their own, once", () => {
  const encoder = new Encoder(unpackTokenBytes());
  const word = "สวัสดีครับ".repeat(1000);
  const first = [...encoder.encodeInSteps(word)];
  expect(first.filter((ids) => ids === 0)).toHaveLength(1);
  const second = [...encoder.encodeInSteps(word)];
  expect(second.filter((ids) => ids === 0)).toHaveLength(0);
});

test("the common tokens are those without a byte that begins a letter of another script", () => {
  const tokens = unpackTokenBytes();
  const unpacked = Array.from(tokens.places, (place) => place !== 0);
  tokens.otherIds();
  const isCommon = (_: boolean, id: number) =>
    id < 256 || bytesOf(tokens, id).every((byte) => byte < 0xc4 || byte === 0xe2 || byte > 0xee);
  expect(unpacked.findIndex((each, id) => each !== isCommon(each, id))).toBe(-1);
});

test.each(
  [
    [0x7f, 0x80, 0xff, 0x100, 0x7ff, 0x800, 0x1fff, 0x2000, 0x2fff, 0x3000, 0xd7ff, 0xd800, 0xdfff],
    [0xe000, 0xefff, 0xf000, 0xffff, 0x10000, 0x10ffff],
  ].flat(),
)("U+%s has the others unpacked if it begins with such a byte", (codePoint) => {
  const tokens = unpackTokenBytes();
  const char = String.fromCodePoint(codePoint);
  const [byte = 0] = new TextEncoder().encode(char);
  new Encoder(tokens).encode(char);
  const isLetter = byte > 0xc3 && byte !== 0xe2 && byte < 0xef;
  expect(tokens.places.includes(0)).toBe(!isLetter);
});

test("a single token is decoded, by its text and by its bytes", () => {
  const [id = 0] = expectedIds("世界");
  expect(new TokenTexts(unpackTokenBytes()).textOf(id)).toBe("世界");
  expect(bytesOf(unpackTokenBytes(), id)).toEqual(new TextEncoder().encode("世界"));
});
