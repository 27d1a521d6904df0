import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
  type JsonValueAt,
  setJsonValues,
} from "../../../../../src/node/cli/connect/edit/json-text.ts";

const at = (path: string, value: unknown): JsonValueAt => {
  return { path: path.split("."), value };
};

test.each([
  ["an empty object", "{}", [at("a", 1)], '{\n  "a": 1\n}'],
  [
    "a value that differs",
    '{\n\t"a": 1,\n\t"b": 2\n}\n',
    [at("a", 3)],
    '{\n\t"a": 3,\n\t"b": 2\n}\n',
  ],
  [
    "a new member, in the indentation of the file",
    '{\n    "a": 1\n}\n',
    [at("b", { c: 2 })],
    '{\n    "a": 1,\n    "b": {\n        "c": 2\n    }\n}\n',
  ],
  [
    "objects that are missing",
    '{\n  "a": 1\n}',
    [at("b.c.d", 2)],
    '{\n  "a": 1,\n  "b": {\n    "c": {\n      "d": 2\n    }\n  }\n}',
  ],
  ["one line", '{ "a": 1 }', [at("b", 2)], '{ "a": 1,\n  "b": 2 }'],
  [
    "comments",
    '{\n  // one\n  "a": 1 // last\n  /* end */\n}',
    [at("b", 2)],
    '{\n  // one\n  "a": 1, // last\n  "b": 2\n  /* end */\n}',
  ],
  [
    "a comma at the end",
    '{\n  "a": 1, // last\n}',
    [at("b", 2)],
    '{\n  "a": 1, // last\n  "b": 2,\n}',
  ],
  ["a comment in an empty object", "{ // nothing\n}", [at("a", 1)], '{ // nothing\n  "a": 1\n}'],
  [
    "line breaks of Windows",
    '{\r\n  "a": 1\r\n}\r\n',
    [at("b", 2)],
    '{\r\n  "a": 1,\r\n  "b": 2\r\n}\r\n',
  ],
  [
    "numbers and escapes, as they are spelled",
    '{"n": 1.0e5, "t": "\\u00e9", "a": 1}',
    [at("a", 2)],
    '{"n": 1.0e5, "t": "\\u00e9", "a": 2}',
  ],
  ["the last of two members of one name", '{"a": 1, "a": 2}', [at("a", 3)], '{"a": 1, "a": 3}'],
  [
    "signs of JSON within strings",
    '{"x": "// } , {", "a": 1}',
    [at("a", 2)],
    '{"x": "// } , {", "a": 2}',
  ],
])("%s", (_, text, values, expected) => {
  expect(setJsonValues(text, values)).toBe(expected);
});

test("an object of a list is found by a member, and added otherwise", () => {
  const provider = (url: string): JsonValueAt => ({
    path: [{ member: "name", is: "ours" }],
    value: { name: "ours", url },
  });
  const once = setJsonValues('[\n  { "name": "theirs" }\n]\n', [provider("a")]);
  expect(once).toBe(
    '[\n  { "name": "theirs" },\n  {\n    "name": "ours",\n    "url": "a"\n  }\n]\n',
  );
  expect(setJsonValues(once, [provider("b")])).toBe(once.replace('"a"', '"b"'));
  expect(setJsonValues("[]", [provider("a")])).toBe(
    '[\n  {\n    "name": "ours",\n    "url": "a"\n  }\n]',
  );
});

test.each([
  ["", "it is not JSON at line 1"],
  ['{\n"a": }', "it is not JSON at line 2"],
  ['{"a": 1} {}', "it is not JSON at line 1"],
  ["{'a': 1}", "it is not JSON at line 1"],
  ['{"a": 1', "it is not JSON at line 1"],
  ['{"a" 1}', "it is not JSON at line 1"],
  ['{"a": [1}', "it is not JSON at line 1"],
  ['{"b": 1}', "expected an object around c"],
  ["[]", "expected an object around b"],
  ["[".repeat(200), "it is not JSON at line 1"],
])("%j is refused", (text, message) => {
  expect(() => setJsonValues(text, [at("b.c", 1)])).toThrow(
    expect.objectContaining({ name: "EditError", message }),
  );
});

test("the value is set and nothing else changes, whatever the file has", () => {
  const json = fc.dictionary(
    fc.constantFrom("a", "b", "c", "__proto__"),
    fc.jsonValue({ maxDepth: 2 }),
    { noNullPrototype: true },
  );
  fc.assert(
    fc.property(
      json,
      fc.constantFrom(undefined, 2, "\t"),
      fc.constantFrom("a", "new", "__proto__"),
      fc.jsonValue({ maxDepth: 1 }),
      (before, indent, name, value) => {
        const text = JSON.stringify(before, undefined, indent);
        const after = setJsonValues(text, [{ path: [name], value }]);
        const expected = new Map(Object.entries(JSON.parse(text)));
        expected.set(name, JSON.parse(JSON.stringify(value)));
        expect(new Map(Object.entries(JSON.parse(after)))).toEqual(expected);
      },
    ),
  );
});
