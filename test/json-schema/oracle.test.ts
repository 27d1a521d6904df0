/**
 * Random schemas and values: the verdict is that of another validator.
 *
 * Left out on purpose, because the other one differs from the standard or from us there: `$ref` loops and broken
 * schemas (it throws), `minContains: 0` on an empty array, `maxContains` with `minContains` above the length,
 * `unevaluated…` (it takes failed branches' marks along), an `$id` and formats (the official suite covers them).
 */
import { Validator } from "@cfworker/json-schema";
import {
  anything,
  type Arbitrary,
  array,
  assert,
  asyncProperty,
  boolean,
  constantFrom,
  dictionary,
  integer,
  letrec,
  oneof,
  option,
  record,
  tuple,
  uniqueArray,
} from "fast-check";
import { expect, test } from "vitest";
import { compileSchema } from "../../src/json-schema/index.ts";
import { checkOnce } from "./support.ts";

const key = constantFrom("a", "b", "ab", "__proto__", "toString", "ä/~");
const text = constantFrom("", "a", "ab", "b1", "😀", "2026-11-21", "x y");
const number = constantFrom(-1, 0, 1, 2, 2.5, 0.3, 1e21);
const count = integer({ min: 0, max: 3 });
const pattern = constantFrom("^a", "b$", "^(a|ab)*$", String.raw`\d`, "", "^.$");
const type = constantFrom("array", "boolean", "integer", "null", "number", "object", "string");

/** Some of these keywords. */
function some<T extends object>(keywords: { [K in keyof T]: Arbitrary<T[K]> }): Arbitrary<unknown> {
  return record<T, never>(keywords, { requiredKeys: [] });
}

interface Tied {
  value: unknown;
  schema: unknown;
}

const { value, schema } = letrec<Tied>((tie) => ({
  value: oneof(
    { maxDepth: 3, withCrossShrink: true },
    constantFrom(null, true, false),
    text,
    number,
    array(tie("value"), { maxLength: 3 }),
    dictionary(key, tie("value"), { maxKeys: 3 }),
  ),
  schema: oneof(
    { maxDepth: 3, withCrossShrink: true },
    boolean(),
    some({ type: oneof(type, uniqueArray(type, { minLength: 1, maxLength: 3 })) }),
    some({ const: tie("value") }),
    some({ minimum: number, exclusiveMaximum: number }),
    some({ maximum: number, exclusiveMinimum: number }),
    some({ multipleOf: constantFrom(0.1, 0.5, 1, 2, 3) }),
    some({ minLength: count, maxLength: count, pattern }),
    some({ minItems: count, maxItems: count, uniqueItems: boolean() }),
    some({ minProperties: count, maxProperties: count }),
    some({
      required: uniqueArray(key, { maxLength: 2 }),
      dependentRequired: dictionary(key, uniqueArray(key, { maxLength: 2 }), { maxKeys: 2 }),
    }),
    record({ enum: array(tie("value"), { maxLength: 3 }) }),
    some({
      properties: dictionary(key, tie("schema"), { maxKeys: 3 }),
      patternProperties: dictionary(pattern, tie("schema"), { maxKeys: 2 }),
      additionalProperties: tie("schema"),
      propertyNames: tie("schema"),
      dependentSchemas: dictionary(key, tie("schema"), { maxKeys: 2 }),
    }),
    some({
      prefixItems: array(tie("schema"), { maxLength: 2 }),
      items: tie("schema"),
      contains: tie("schema"),
    }),
    some({
      allOf: array(tie("schema"), { minLength: 1, maxLength: 2 }),
      anyOf: array(tie("schema"), { minLength: 1, maxLength: 3 }),
      oneOf: array(tie("schema"), { minLength: 1, maxLength: 3 }),
      not: tie("schema"),
    }),
    tuple(tie("schema"), tie("schema"), tie("schema")).map((schemas) =>
      Object.fromEntries(["if", "then", "else"].map((word, index) => [word, schemas[index]])),
    ),
    constantFrom({ $ref: "#/$defs/shared" }),
  ),
}));

test("random schemas and values get the same verdict as from another validator", async () => {
  await assert(
    asyncProperty(
      schema,
      option(schema, { nil: true }),
      array(value, { minLength: 1, maxLength: 5 }),
      async (given, shared, values) => {
        const target = JSON.stringify(shared).includes("$ref") ? true : shared;
        const root: object = JSON.parse(
          JSON.stringify({ $defs: { shared: target }, allOf: [given] }),
        );
        const checker = compileSchema(root);
        for (const each of values) {
          const instance: unknown = JSON.parse(JSON.stringify(each));
          const own = await checkOnce(checker, instance);
          const other = new Validator(structuredClone(root), "2020-12", false).validate(instance);
          expect({ instance, valid: own.valid }).toEqual({ instance, valid: other.valid });
        }
      },
    ),
    { numRuns: 3000 },
  );
});

test("any value given as a schema is compiled or refused", async () => {
  const loose = letrec<{ node: unknown }>((tie) => ({
    node: oneof(
      { maxDepth: 4 },
      anything({ maxDepth: 1 }),
      text,
      number,
      array(tie("node"), { maxLength: 3 }),
      dictionary(
        constantFrom(
          "type",
          "properties",
          "$ref",
          "$id",
          "allOf",
          "not",
          "items",
          "enum",
          "pattern",
          "required",
          "$defs",
          "if",
          "minimum",
          "a",
        ),
        oneof(tie("node"), constantFrom("#", "#/$defs/a", "a", "(", "string", "http://[")),
        { maxKeys: 4 },
      ),
    ),
  })).node;
  await assert(
    asyncProperty(loose, value, async (given, each) => {
      const encoded: string | undefined = JSON.stringify(given);
      const checked = await Promise.resolve()
        .then(() => compileSchema(JSON.parse(encoded ?? "true")))
        .then((checker) => checkOnce(checker, each))
        .then((verdict) => typeof verdict.valid)
        .catch((error: Error) => error.name);
      expect(["boolean", "SchemaError"]).toContain(checked);
    }),
    { numRuns: 2000 },
  );
});
