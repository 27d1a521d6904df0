import { expect, test } from "vitest";
import { o200kHarmony } from "../../src/tokenizer/index.ts";
import { DECODE_CASES } from "./golden-cases.ts";

const tokenizer = o200kHarmony();
const expected = DECODE_CASES.map((each) => [each.id, each.kind, each.expected_text]);

test("every list of ids decodes to the reference's text", () => {
  expect(DECODE_CASES).toHaveLength(100);
  const texts = DECODE_CASES.map(({ id, kind, token_ids: ids }) => [
    id,
    kind,
    tokenizer.decode(ids),
  ]);
  expect(texts).toEqual(expected);
});

test("and does so id by id", () => {
  const texts = DECODE_CASES.map(({ id, kind, token_ids: ids }) => {
    const decoder = tokenizer.createDecoder();
    const deltas = ids.map((each) => decoder.push(each));
    return [id, kind, deltas.join("") + decoder.end()];
  });
  expect(texts).toEqual(expected);
});
