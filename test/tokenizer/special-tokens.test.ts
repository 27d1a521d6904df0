import { expect, test } from "vitest";
import {
  FIRST_SPECIAL_ID,
  isSpecial,
  o200kHarmony,
  SPECIAL_TOKENS,
  specialTokenName,
} from "../../src/tokenizer/index.ts";

const tokenizer = o200kHarmony();

test.each(Object.entries(SPECIAL_TOKENS))("%s is special", (name, id) => {
  expect(isSpecial(id)).toBe(true);
  expect(specialTokenName(id)).toBe(name);
  expect(tokenizer.decode([id])).toBe(name);
});

test.each([200_000, 200_001, 200_004, 200_009, 200_011, 200_013, 200_014, 200_018, 201_088])(
  "%s is reserved",
  (id) => {
    expect(isSpecial(id)).toBe(true);
    expect(specialTokenName(id)).toBe(`<|reserved_${id}|>`);
    expect(tokenizer.decode([id])).toBe(`<|reserved_${id}|>`);
  },
);

test.each([0, 199_997, 201_089, -1, 200_000.5, Number.NaN, Infinity])("%s is not special", (id) => {
  expect(isSpecial(id)).toBe(false);
  expect(specialTokenName(id)).toBeUndefined();
});

test("ordinary ids end where special ones begin", () => {
  expect([FIRST_SPECIAL_ID - 1, FIRST_SPECIAL_ID].map((id) => isSpecial(id))).toEqual([
    false,
    true,
  ]);
});

test.each([...Object.keys(SPECIAL_TOKENS), "<|reserved_200000|>", "<|endofprompt|>"])(
  "%s typed in a text is ordinary",
  (name) => {
    const ids = tokenizer.encode(`a${name}b`);
    expect(ids.filter((id) => isSpecial(id))).toEqual([]);
    expect(tokenizer.decode(ids)).toBe(`a${name}b`);
  },
);

test("<|end|> typed is five ordinary tokens", () => {
  expect(tokenizer.encode("<|end|>")).toEqual([27, 91, 419, 91, 29]);
});
