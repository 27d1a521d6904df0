/** Random output of a model. */
import { array, constantFrom, integer, oneof, string } from "fast-check";
import { o200kHarmony, type TokenId } from "../../src/tokenizer/index.ts";
import { spelledIds } from "./spelled.ts";

/** Pieces of a model's possible output, more text than markers. */
const scrap = oneof(
  { weight: 4, arbitrary: string({ unit: "grapheme", maxLength: 12 }).map((text) => encode(text)) },
  { weight: 2, arbitrary: integer({ min: 0, max: 199_997 }).map((id) => [id]) },
  {
    weight: 3,
    arbitrary: constantFrom(
      "<|channel|>analysis<|message|>",
      "<|channel|>final<|message|>",
      "<|channel|>commentary<|message|>",
      "<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>",
      "<|channel|>analysis to=python code<|message|>print(1)<|call|>",
      '<|channel|>analysis to=browser.search code<|message|>{"query":"x"}<|call|>',
      " As 【0†L1】 says",
      "<|end|><|start|>assistant<|channel|>final<|message|>",
      "<|end|><|start|>assistant<|channel|>analysis<|message|>",
      '{"city":"Oslo"}',
      "}",
      "  ",
      "<|end|>",
      "<|call|>",
      "<|return|>",
      "<|start|>user<|message|>",
    ).map((text) => spelledIds(text)),
  },
  // Runs that the repetition guard looks for.
  { weight: 1, arbitrary: integer({ min: 1, max: 700 }).map((count) => Array(count).fill(65)) },
  // Parts of characters.
  { weight: 1, arbitrary: constantFrom("👩‍🚀", "é", "日本").map((text) => encode(text)) },
);

export const completion = array(scrap, { maxLength: 25 }).map((scraps) => scraps.flat());

function encode(text: string): TokenId[] {
  return o200kHarmony().encode(text);
}
