import { expect, test } from "vitest";
import { packVocabulary, readTokens } from "../../scripts/pack-vocabulary.ts";
import { bytesOf, ORDINARY_COUNT, unpackTokenBytes } from "../../src/tokenizer/token-bytes.ts";
import { vocabulary } from "../../src/tokenizer/vocabulary.ts";

test("the packed vocabulary is the one the script writes", () => {
  expect(packVocabulary() === vocabulary()).toBe(true);
});

test("every token has the bytes js-tiktoken gives it", () => {
  const tokens = unpackTokenBytes();
  const reference = readTokens();
  const unpacked = reference.map((_, id) => String.fromCharCode(...bytesOf(tokens, id)));
  expect(reference.length).toBe(ORDINARY_COUNT);
  expect(unpacked.findIndex((token, id) => token !== reference[id])).toBe(-1);
});

test.each([ORDINARY_COUNT, -1, 0.5])("id %d has no bytes", (id) => {
  expect(bytesOf(unpackTokenBytes(), id)).toEqual(new Uint8Array());
});
