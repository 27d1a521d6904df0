import { Validator } from "@cfworker/json-schema";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createHints } from "../../../src/engines/demo/hints.ts";
import { instanceOf } from "../../../src/engines/demo/instance.ts";
import { readTools } from "../../../src/engines/demo/signature.ts";
import { fromPlainJson, toolsSection } from "../../../src/harmony/index.ts";

/** The section as the model would read it. */
function printed(parameters: object | undefined): string {
  const schema = parameters === undefined ? {} : { parameters: fromPlainJson(parameters) };
  const functions = [{ name: "f", description: "Does it.\nAnd more.", ...schema }];
  return toolsSection([{ key: "functions", name: "functions", functions }]);
}

function read(parameters: object | undefined) {
  return readTools(printed(parameters))[0]?.parameters;
}

function readProperty(schema: object) {
  const properties = read({ type: "object", properties: { p: schema } })?.properties;
  return properties?.["p"];
}

describe("functions", () => {
  it("are read in the order they are offered", () => {
    const functions = ["b", "a-1", "get_weather"].map((name) => ({ name, description: "" }));
    const section = toolsSection([{ key: "functions", name: "functions", functions }]);
    expect(readTools(`# Instructions\n\nHi.\n\n${section}\n\n# Response Formats`)).toEqual([
      { name: "b", parameters: undefined },
      { name: "a-1", parameters: undefined },
      { name: "get_weather", parameters: undefined },
    ]);
  });

  it("are none when no namespace is printed", () => {
    expect(readTools("# Instructions\n\ntype f = () => any;")).toEqual([]);
  });

  it("take anything when their signature cannot be read", () => {
    const broken =
      "namespace functions {\n\ntype f = (_: <odd>) => any;\n\n} // namespace functions";
    expect(readTools(broken)).toEqual([{ name: "f", parameters: {} }]);
  });

  it("take nothing, anything or an object", () => {
    expect(read(undefined)).toBeUndefined();
    expect(read({})).toEqual({});
    expect(read({ type: "object" })).toEqual({ type: "object", properties: {}, required: [] });
  });
});

describe("types", () => {
  const string = { type: "string" };
  const number = { type: "number" };

  it.each([
    ["text", { type: "string" }, string],
    ["whole numbers", { type: "integer" }, number],
    ["a truth value", { type: "boolean" }, { type: "boolean" }],
    ["anything", {}, {}],
    [
      "one of some words",
      { type: "string", enum: ["a", "b c"] },
      { type: "string", enum: ["a", "b c"] },
    ],
    [
      "words with quotes and commas",
      { type: "string", enum: ['say "hi"', "a, b", "c | d"] },
      { type: "string", enum: ['say "hi"', "a, b", "c | d"] },
    ],
    ["a default", { type: "string", default: "a, b" }, string],
    ["text or null", { type: "string", nullable: true }, { anyOf: [string, { type: "null" }] }],
    ["several types", { type: ["string", "integer"] }, { anyOf: [string, number] }],
    ["a list", { type: "array", items: string }, { type: "array", items: string }],
    ["a list of anything", { type: "array" }, { type: "array" }],
    [
      "a list of words",
      { type: "array", items: { type: "string", enum: ["a", "b"] } },
      { type: "array", items: { type: "string", enum: ["a", "b"] } },
    ],
    [
      "a list of lists, or null",
      { type: "array", items: { type: "array", items: number }, nullable: true },
      {
        anyOf: [{ type: "array", items: { type: "array", items: number } }, { type: "null" }],
      },
    ],
    [
      "an object in a list",
      {
        type: "array",
        items: {
          type: "object",
          properties: { x: { type: "integer", description: "X" } },
          required: ["x"],
        },
      },
      {
        type: "array",
        items: { type: "object", properties: { x: number }, required: ["x"] },
      },
    ],
    [
      "a described object",
      { type: "object", description: "where", properties: { lat: { type: "number" } } },
      { type: "object", properties: { lat: number }, required: [] },
    ],
    [
      "variants, commented and not",
      { description: "D", oneOf: [{ type: "string", description: "first" }, { type: "number" }] },
      { anyOf: [string, number] },
    ],
    [
      "variants that are lists or objects",
      {
        oneOf: [
          { type: "object", description: "O", properties: { x: { type: "string" } } },
          { type: "array", items: { type: "number" } },
        ],
      },
      {
        anyOf: [
          { type: "object", properties: { x: string }, required: [] },
          { type: "array", items: number },
        ],
      },
    ],
    [
      "a list of variants, the last with a comment",
      {
        type: "array",
        items: { oneOf: [{ type: "string" }, { type: "number", description: "n" }] },
      },
      { type: "array", items: { anyOf: [string, number] } },
    ],
    [
      "a list of variants",
      { type: "array", items: { oneOf: [{ type: "string" }, { type: "number" }] } },
      { type: "array", items: { anyOf: [string, number] } },
    ],
  ])("%s", (_, schema, expected) => {
    expect(readProperty(schema)).toEqual(expected);
  });

  it("skips what spills out of a description of several lines", () => {
    const schema = {
      type: "object",
      properties: {
        a: { type: "string", description: "One\nTwo: any of these, or\ntype: none" },
        "odd name": { type: "number" },
      },
      required: ["odd name"],
    };
    expect(read(schema)).toEqual({
      type: "object",
      properties: { a: string, "odd name": number },
      required: ["odd name"],
    });
  });

  it("keeps a property called __proto__", () => {
    const schema = JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"}}}');
    expect(Object.keys(read(schema)?.properties ?? {})).toEqual(["__proto__"]);
  });
});

describe("any signature", () => {
  const word = fc.stringMatching(/^[a-z][a-z_ ,"]{0,6}[a-z]$/);
  const text = fc.stringMatching(/^[a-z ,:|"\n]{1,12}$/);
  const described = (schema: fc.Arbitrary<object>) =>
    fc
      .tuple(schema, fc.option(text, { nil: undefined }))
      .map(([each, description]) => (description === undefined ? each : { ...each, description }));
  const { schema } = fc.letrec<{ schema: object }>((tie) => {
    const simple = fc.oneof(
      fc.constantFrom<object>(
        { type: "string" },
        { type: "integer" },
        { type: "number", nullable: true },
        { type: "boolean" },
        { type: ["string", "null"] },
      ),
      fc
        .uniqueArray(word, { minLength: 1, maxLength: 3 })
        .map((members) => ({ type: "string", enum: members })),
      fc.constant({ oneOf: [{ type: "string", description: "s" }, { type: "number" }] }),
    );
    const object = fc
      .uniqueArray(
        fc.record({
          name: fc.stringMatching(/^[a-z][a-z_-]{0,5}$/),
          type: tie("schema"),
          required: fc.boolean(),
        }),
        { maxLength: 3, selector: ({ name }) => name },
      )
      .map((properties) => ({
        type: "object",
        properties: Object.fromEntries(properties.map(({ name, type }) => [name, type])),
        required: properties.filter(({ required }) => required).map(({ name }) => name),
      }));
    const array = tie("schema").map((items) => ({ type: "array", items }));
    return { schema: described(fc.oneof({ maxDepth: 3 }, simple, object, array)) };
  });

  it("can be satisfied from what is printed", () => {
    fc.assert(
      fc.property(
        fc.record({ type: fc.constant("object"), properties: fc.record({ p: schema }) }),
        (parameters) => {
          const required = { ...parameters, required: ["p"] };
          const hints = createHints({ about: [], whole: "" }, []);
          const value = instanceOf(read(required), hints);
          expect(new Validator(required, "2020-12").validate(value).errors).toEqual([]);
        },
      ),
      { numRuns: 500 },
    );
  });
});
