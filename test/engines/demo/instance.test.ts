import { Validator } from "@cfworker/json-schema";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createHints } from "../../../src/engines/demo/hints.ts";
import { instanceOf } from "../../../src/engines/demo/instance.ts";

function make(schema: object, said = ""): unknown {
  return instanceOf(schema, createHints({ about: [said], whole: said }, []));
}

function errorsOf(schema: object, value: unknown): unknown[] {
  return new Validator(schema, "2020-12").validate(value).errors;
}

const TREE = {
  $defs: {
    node: {
      type: "object",
      properties: {
        value: { type: "string" },
        next: { anyOf: [{ $ref: "#/$defs/node" }, { type: "null" }] },
        children: { type: "array", items: { $ref: "#/$defs/node" } },
      },
      required: ["value", "next", "children"],
      additionalProperties: false,
    },
  },
  $ref: "#/$defs/node",
};

describe("a value for a schema", () => {
  it.each<[string, object, unknown]>([
    ["is a word for anything", {}, "example"],
    ["is the constant", { const: { a: null } }, { a: null }],
    ["is null for a constant null", { const: null }, null],
    ["is the first member", { enum: [3, "a"] }, 3],
    ["is the first of the types that is not null", { type: ["null", "integer"] }, 1],
    [
      "has what is required, little else",
      { properties: { a: {}, b: {} }, required: ["b"] },
      { b: "example" },
    ],
    [
      "has everything when nothing is required",
      { properties: { a: {}, b: {} } },
      { a: "example", b: "example" },
    ],
    [
      "has what is required but not described",
      { required: ["x"], additionalProperties: { type: "integer" } },
      { x: 1 },
    ],
    [
      "keeps a key called __proto__",
      JSON.parse('{"required":["__proto__"]}'),
      JSON.parse('{"__proto__":"example"}'),
    ],
    ["has one item", { items: { type: "boolean" } }, [true]],
    [
      "has as many items as it must",
      { type: "array", items: { type: "null" }, minItems: 3 },
      [null, null, null],
    ],
    ["has no more items than it may", { type: "array", items: {}, maxItems: 0 }, []],
    [
      "has different items",
      { type: "array", items: { enum: ["a", "b"] }, minItems: 2, uniqueItems: true },
      ["a", "b"],
    ],
    [
      "has different numbers",
      { type: "array", items: { type: "integer" }, minItems: 3, uniqueItems: true },
      [1, 2, 3],
    ],
    [
      "has different words",
      { type: "array", items: { type: "string" }, minItems: 2, uniqueItems: true },
      ["example", "example 2"],
    ],
    [
      "has the leading items of a tuple",
      { prefixItems: [{ type: "integer" }, { const: "b" }] },
      [1, "b"],
    ],
    ["is in range", { type: "integer", minimum: 10, maximum: 12 }, 10],
    ["is below the maximum", { type: "number", maximum: -3 }, -3],
    ["is strictly in range", { type: "integer", exclusiveMinimum: 4, exclusiveMaximum: 6 }, 5],
    [
      "is strictly between close bounds",
      { type: "number", exclusiveMinimum: 0, exclusiveMaximum: 0.5 },
      0.25,
    ],
    ["is a multiple", { type: "number", multipleOf: 5, minimum: 7 }, 10],
    ["is long enough", { type: "string", minLength: 9 }, "example.."],
    ["is short enough", { type: "string", maxLength: 2 }, "ex"],
    ["has the format", { type: "string", format: "date" }, "2025-08-05"],
    ["is the first variant", { anyOf: [{ type: "integer" }, { type: "string" }] }, 1],
    [
      "combines what all ask",
      { allOf: [{ properties: { a: { type: "integer" } } }, { required: ["a"] }] },
      { a: 1 },
    ],
    [
      "combines a variant with what stands beside it",
      {
        properties: { a: {} },
        required: ["a"],
        oneOf: [{ properties: { b: {} }, required: ["b"] }],
      },
      { a: "example", b: "example" },
    ],
    ["follows a pointer with escapes", { $defs: { "a/b": { const: 1 } }, $ref: "#/$defs/a~1b" }, 1],
    ["survives a reference to nowhere", { $ref: "#/$defs/none" }, "example"],
    ["survives a reference to itself", { $ref: "#" }, "example"],
  ])("%s", (_, schema, expected) => {
    expect(make(schema)).toEqual(expected);
  });

  it("ends where a recursive schema lets it", () => {
    expect(errorsOf(TREE, make(TREE))).toEqual([]);
  });

  it("takes from the user's words what fits", () => {
    const schema = {
      type: "object",
      properties: {
        city: { type: "string" },
        days: { type: "integer", maximum: 7 },
        unit: { enum: ["celsius", "fahrenheit"] },
        note: { type: "string" },
        lang: { type: "string" },
      },
      required: ["city", "days"],
    };
    expect(make(schema, "Turin for 3 days in Fahrenheit, lang: it")).toEqual({
      city: "Fahrenheit",
      days: 3,
      unit: "fahrenheit",
      lang: "it",
    });
    expect(make(schema, 'What about "São Paulo" for 30 days?')).toEqual({
      city: "São Paulo",
      days: 1,
    });
  });

  it("satisfies any schema of the usual keywords", () => {
    fc.assert(
      fc.property(schemas(), fc.string({ maxLength: 20 }), (schema, said) => {
        expect(errorsOf(schema, make(schema, said))).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });
});

function schemas(): fc.Arbitrary<object> {
  const { schema } = fc.letrec<{ schema: object }>((tie) => {
    const number = fc
      .tuple(fc.constantFrom("integer", "number"), fc.integer({ min: -50, max: 50 }), fc.nat(9))
      .map(([type, minimum, span]) => ({ type, minimum, maximum: minimum + span }));
    const string = fc
      .tuple(fc.nat(12), fc.nat(12))
      .map(([minLength, span]) => ({ type: "string", minLength, maxLength: minLength + span }));
    const simple = fc.oneof(
      number,
      string,
      fc.constantFrom<object>(
        { type: "boolean" },
        { type: "null" },
        { const: [1] },
        { type: ["string", "null"] },
      ),
      fc
        .uniqueArray(fc.string({ maxLength: 5 }), { minLength: 1, maxLength: 3 })
        .map((members) => ({ enum: members })),
    );
    const object = fc
      .tuple(fc.dictionary(fc.string({ maxLength: 5 }), tie("schema"), { maxKeys: 3 }), fc.nat(3))
      .map(([properties, count]) => ({
        type: "object",
        properties,
        required: Object.keys(properties).slice(0, count),
        additionalProperties: false,
      }));
    const array = fc
      .tuple(tie("schema"), fc.nat(3))
      .map(([items, minItems]) => ({ type: "array", items, minItems, maxItems: minItems + 1 }));
    const variants = fc
      .array(tie("schema"), { minLength: 1, maxLength: 2 })
      .map((anyOf) => ({ anyOf }));
    return { schema: fc.oneof({ maxDepth: 3 }, simple, object, array, variants) };
  });
  return schema;
}

describe("a schema that asks for too much", () => {
  const twice = { $ref: "#" };
  it.each<[string, object]>([
    ["a long list", { type: "array", minItems: 1e9 }],
    ["lists of lists", { type: "array", minItems: 5000, items: { type: "array", minItems: 5000 } }],
    ["a long text", { type: "string", minLength: 1e9 }],
    ["long texts", { type: "array", minItems: 5000, items: { type: "string", minLength: 5000 } }],
    ["a tree without leaves", { properties: { a: twice, b: twice }, required: ["a", "b"] }],
  ])("gets a value of bounded size: %s", (_, schema) => {
    expect(JSON.stringify(make(schema)).length).toBeLessThan(1_000_000);
  });
});
