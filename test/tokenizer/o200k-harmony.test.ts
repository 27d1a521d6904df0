import { expect, test } from "vitest";
import { o200kHarmony } from "../../src/tokenizer/index.ts";

const tokenizer = o200kHarmony();

test("there is one tokenizer", () => {
  expect(o200kHarmony()).toBe(o200kHarmony());
});

test.each([
  ["", []],
  ["assistant", [173_781]],
  ["commentary", [12_606, 815]],
  [" to", [316]],
  ["😀", [84_083]],
])("%j is %j", (text, ids) => {
  expect(tokenizer.encode(text)).toEqual(ids);
});

test("each call returns a new list", () => {
  const first = tokenizer.encode("hello world");
  first.push(1);
  expect(tokenizer.encode("hello world")).toEqual([24_912, 2375]);
});

test("earlier texts do not change the ids", () => {
  // More pretokens than the cache has slots, of all lengths that it stores, twice.
  const pretokens = Array.from({ length: 20_000 }, (_, index) => {
    return ` ${"qzjxvkwpbyqzjxvkw".slice(0, index % 17)}${(index * 7919).toString(36).replaceAll(/\d/g, "q")}`;
  });
  const first = pretokens.map((pretoken) => tokenizer.encode(pretoken));
  expect(pretokens.toReversed().map((pretoken) => tokenizer.encode(pretoken))).toEqual(
    first.toReversed(),
  );
  expect(tokenizer.encode(pretokens.join(""))).toEqual(first.flat());
});
