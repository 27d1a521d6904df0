/** Schemas and patterns that are refused, and the exact message of each. */
import { expect, test } from "vitest";
import { compileSchema, SchemaError } from "../../src/json-schema/index.ts";
import { compilePattern } from "../../src/json-schema/pattern.ts";

function messageOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (error instanceof Error) return error.message;
  }
  return "no error";
}

/** Applies as many schemas as asked for, each within the one before. */
const chain = (length: number) => ({
  $ref: "#/$defs/0",
  $defs: Object.fromEntries(
    Array.from({ length }, (_, at) => [
      at,
      at === length - 1 ? {} : { allOf: [{ $ref: `#/$defs/${at + 1}` }] },
    ]),
  ),
});

/** Applies twice as many schemas with each step. */
const doubled = (length: number) => ({
  $ref: "#/$defs/0",
  $defs: Object.fromEntries(
    Array.from({ length }, (_, at) => {
      const next = { $ref: `#/$defs/${at + 1}` };
      return [at, at === length - 1 ? {} : { allOf: [next, next] }];
    }),
  ),
});

test.each<[string, unknown, string]>([
  ["a number", 5, "must be a schema: an object, true or false"],
  ["no type", { type: [] }, "/type: must name at least one type"],
  ["a list of no schemas", { anyOf: [] }, "/anyOf: must not be empty"],
  ["a length below 0", { minItems: -1 }, "/minItems: must be an integer that is not negative"],
  ["a step of 0", { multipleOf: 0 }, "/multipleOf: must be greater than 0"],
  ["a name that is no text", { required: [1] }, "/required/0: must be a string"],
  [
    "names that are no list",
    { dependentRequired: { a: "b" } },
    "/dependentRequired/a: must be an array of strings",
  ],
  ["an older keyword", { $recursiveRef: "#" }, "/$recursiveRef: is not supported: use $ref"],
  ["a reference that is no text", { $ref: 5 }, "/$ref: must be a string"],
  ["a reference that is no URI", { $ref: "http://[" }, '/$ref: "http://[" is not a URI reference'],
  ["a reference to nothing", { $ref: "#/nowhere" }, '/$ref: "#/nowhere" leads nowhere'],
  [
    "a reference to another document",
    { $ref: "other.json" },
    '/$ref: "other.json" is not in this schema, and references are not fetched: put its target into $defs',
  ],
  ["an id that is no URI", { $id: "http://[" }, '/$id: "http://[" is not a URI reference'],
  ["an id that is no text", { $id: 5 }, "/$id: must be a string"],
  ["an id with a fragment", { $id: "a#b" }, "/$id: must have no fragment: use $anchor"],
  [
    "an anchor that is no name",
    { $anchor: "a b" },
    "/$anchor: must be a name of letters, digits, '-', '_' and '.'",
  ],
  [
    "one name twice",
    { $defs: { a: { $id: "x" }, b: { $id: "x" } } },
    "/$defs/b/$id: names two different schemas",
  ],
  [
    "a dynamic reference with two targets",
    {
      $dynamicRef: "#a",
      $defs: { x: { $id: "x", $dynamicAnchor: "a" }, y: { $id: "y", $dynamicAnchor: "a" } },
    },
    '/$dynamicRef: "#a" has several targets, which is not supported: use $ref',
  ],
  ["a circle", { $ref: "#" }, "applies itself to the same value again, without end"],
  [
    "a long chain",
    chain(80),
    "/$defs/32: applies schemas inside one another to one value, more than 64 deep",
  ],
  [
    "schemas that multiply",
    doubled(20),
    "/$defs/8: applies more than 5000 schemas to one value once its references are followed",
  ],
  [
    "many values",
    { enum: Array.from({ length: 300_000 }, (_, at) => `value ${at}`) },
    "/enum: together with the other const and enum values is too large",
  ],
  [
    "many patterns",
    { allOf: Array.from({ length: 501 }, (_, at) => ({ pattern: `a${at}` })) },
    "/allOf/0/pattern: is beyond the limit of 500 patterns",
  ],
  [
    "long patterns",
    { allOf: Array.from({ length: 60 }, (_, at) => ({ pattern: `(a${at}){400}` })) },
    "/allOf/18/pattern: is beyond the limit of 50000 instructions in patterns",
  ],
  [
    "many properties of characters",
    { pattern: "\\p{L}\\d".repeat(101) },
    "/pattern: is beyond the limit of 100 Unicode properties in patterns",
  ],
  [
    "a pattern that is none",
    { pattern: "(" },
    '/pattern: "(" is not a regular expression: Invalid regular expression: /(/u: Unterminated group',
  ],
])("%s", (_, schema, message) => {
  expect(messageOf(() => compileSchema(schema))).toBe(message);
  expect(() => compileSchema(schema)).toThrow(SchemaError);
});

test.each([
  [
    "(?<=a)b",
    "uses lookbehind, which cannot be matched in linear time: rewrite it without, or remove the pattern",
  ],
  [
    "a(?=b)",
    "uses lookahead, except directly after a leading ^, which cannot be matched in linear time: rewrite it without, or remove the pattern",
  ],
  ["(".repeat(300) + ")".repeat(300), "nests groups too deeply"],
  ["a{1001}", 'repeats more than 1000 times: "{1001}"'],
  ["(a{1000}){1000}", "is too large once its repetitions are written out"],
  ["a".repeat(10_001), "is a pattern of more than 10000 characters"],
])("the pattern %.20s", (source, message) => {
  expect(messageOf(() => compilePattern(source))).toBe(message);
});
