import * as fc from "fast-check";
import { expect, test } from "vitest";
import { undoJson } from "../../../../../src/node/cli/connect/edit/undo-json.ts";

test.each([
  [
    "a member between others",
    '{"a":1}',
    '{"a":1,"b":2}',
    '{"a":1,"b":2,"c":3}',
    '{"a":1,"c":3}',
    [],
  ],
  ["a first member", "{}", '{"b":2}', '{"b":2, "c":3}', '{"c":3}', []],
  ["an only member", "{}", '{"b":2}', '{ "b": 2, }', "{}", []],
  ["an object of ours", "{}", '{"e":{"b":2}}', '{"e":{"b":2},"c":3}', '{"c":3}', []],
  ["an object with theirs", "{}", '{"e":{"b":2}}', '{"e":{"b":2,"c":3}}', '{"e":{"c":3}}', []],
  ["a replaced value", '{"a":1}', '{"a":2}', '{"a":2,"c":3}', '{"a": 1,"c":3}', []],
  ["a member that is gone", "{}", '{"b":2}', '{"c":3}', '{"c":3}', []],
  ["a value that is theirs now", '{"a":1}', '{"a":2,"b":2}', '{"a":3,"b":2}', '{"a":3}', ["a"]],
  ["an item", '{"l":[1]}', '{"l":[1,2]}', '{"l":[1,2,3]}', '{"l":[1,3]}', []],
  ["two items", '{"l":[1]}', '{"l":[1,2,4]}', '{"l":[2,1,4,3]}', '{"l":[1,3]}', []],
  ["a changed item", '{"l":[1]}', '{"l":[1,2]}', '{"l":[1,5]}', '{"l":[1,5]}', ["l"]],
  ["a list of ours", "{}", '{"l":[{"a":1}]}', '{"l":[{"a":1}],"c":3}', '{"c":3}', []],
  ["__proto__", "{}", '{"__proto__":1}', '{"__proto__":1,"c":3}', '{"c":3}', []],
])("%s", (_, before, after, current, text, kept) => {
  const undone = undoJson(before, after, current);
  expect(undone.kept).toEqual(kept);
  expect(undone.text.replace('"a": 1', '"a":1')).toBe(text.replace('"a": 1', '"a":1'));
});

test("the addition goes, and all text beside it stays", () => {
  const members = fc.dictionary(fc.constantFrom("a", "b", "c", "d"), fc.jsonValue({ maxDepth: 2 }));
  fc.assert(
    fc.property(members, members, fc.constantFrom(undefined, 1, "\t"), (mine, theirs, space) => {
      const rename = (given: object, prefix: string) =>
        Object.fromEntries(Object.entries(given).map(([key, value]) => [prefix + key, value]));
      const [own, other] = [rename(mine, "own-"), rename(theirs, "their-")];
      const current = JSON.stringify({ ...own, ...other }, undefined, space);
      const undone = undoJson("{}", JSON.stringify(own), current);
      expect(undone.kept).toEqual([]);
      expect(JSON.stringify(JSON.parse(undone.text))).toBe(JSON.stringify(other));
    }),
  );
});
