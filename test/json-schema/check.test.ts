import { describe, expect, test } from "vitest";
import {
  type CheckOptions,
  CompileBudget,
  compileSchema,
  type SchemaVerdict,
} from "../../src/json-schema/index.ts";
import { checkOnce } from "./support.ts";

async function problemOf(schema: unknown, value: unknown): Promise<string | undefined> {
  const verdict = await checkOnce(compileSchema(schema), value);
  return verdict.valid ? undefined : verdict.problem;
}

/** A check and how often it paused. */
async function checkSliced(
  schema: unknown,
  value: unknown,
  options: Omit<CheckOptions, "pause"> = {},
): Promise<SchemaVerdict & { readonly pauses: number }> {
  let pauses = 0;
  const pause = async () => void pauses++;
  const verdict = await compileSchema(schema).check(value, { pause, ...options });
  return { ...verdict, pauses };
}

describe("a problem is described in words a model can act on", () => {
  const address = {
    type: "object",
    properties: { city: { enum: ["Paris", "Oslo"] }, zip: { pattern: "^[0-9]+$" } },
    required: ["city", "zip"],
    additionalProperties: false,
  };
  test.each<[string, unknown, unknown, string]>([
    ["a type", { type: ["string", "null"] }, 7, "#: must be string or null, not number"],
    [
      "a member",
      { properties: { a: { type: "integer" } } },
      { a: 1.5 },
      "#/a: must be integer, not number",
    ],
    ["an item", { items: { minimum: 3 } }, [3, 2], "#/1: must be at least 3, not 2"],
    ["missing members", address, {}, '#: lacks the properties "city", "zip"'],
    ["enum", address, { city: "Rome", zip: "1" }, '#/city: must be one of "Paris", "Oslo"'],
    ["a pattern", address, { city: "Oslo", zip: "N1" }, "#/zip: must match the pattern ^[0-9]+$"],
    [
      "a member too many",
      address,
      { city: "Oslo", zip: "1", street: "x" },
      '#: must not have the property "street"; it may have the properties "city", "zip"',
    ],
    [
      "no alternative: the one that came furthest",
      {
        anyOf: [
          { properties: { kind: { const: "a" } } },
          { properties: { kind: { const: "b" }, size: { maximum: 3 } } },
          { type: "null" },
        ],
      },
      { kind: "b", size: 4 },
      "#/size: must be at most 3, not 4 (in the closest of 3 alternatives)",
    ],
    [
      "several alternatives",
      { oneOf: [{}, true] },
      1,
      "#: must match one of the alternatives only, not several",
    ],
    [
      "equal items",
      { uniqueItems: true },
      [1, "1", 1],
      "#: must not repeat items: 0 and 2 are equal",
    ],
    ["a format", { format: "date" }, "tomorrow", '#: must be of the format date, not "tomorrow"'],
    [
      "keys as a pointer",
      { properties: { "a/b~": false } },
      { "a/b~": 1 },
      "#/a~1b~0: nothing is allowed here",
    ],
  ])("%s", async (_, schema, value, problem) => {
    expect(await problemOf(schema, value)).toBe(problem);
  });

  test("briefly, however long the quoted value is", async () => {
    const long = "x".repeat(10_000);
    const schema = {
      properties: { [long]: { enum: Array.from({ length: 30 }, (_, index) => long + index) } },
      additionalProperties: false,
    };
    const problems = [
      await problemOf(schema, { [long]: 1 }),
      await problemOf(schema, { [`${long}!`]: 1 }),
      await problemOf({ format: "date" }, long),
    ];
    expect(problems.every((problem) => problem !== undefined && problem.length < 4000)).toBe(true);
  });
});

/** The steps for values of one and of two sizes. */
async function growth(schema: unknown, make: (size: number) => unknown): Promise<number> {
  const small = await checkSliced(schema, make(2000));
  const large = await checkSliced(schema, make(4000));
  return large.steps / small.steps;
}

describe("twice the value takes twice the steps", () => {
  const list = (size: number) => Array.from({ length: size }, (_, index) => index);
  const object = (size: number) => Object.fromEntries(list(size).map((each) => [`k${each}`, each]));
  const shared = (size: number) => ({
    $defs: { a: { type: "integer" } },
    allOf: Array.from({ length: size }, () => ({ items: { $ref: "#/$defs/a" } })),
  });
  test.each<[string, unknown, (size: number) => unknown]>([
    ["unique numbers", { uniqueItems: true }, list],
    ["unique objects", { uniqueItems: true }, (size) => list(size).map((each) => ({ a: [each] }))],
    ["contains", { contains: { const: -1 }, minContains: 0, maxContains: 1 }, list],
    ["patterns of names", { patternProperties: { "^k": {}, "(a+)+$": {} } }, object],
    ["names", { propertyNames: { pattern: "^(k|k)*[0-9]*$" } }, object],
    ["what is not evaluated", { allOf: [{ properties: {} }], unevaluatedProperties: {} }, object],
    ["one schema from many places", shared(20), list],
    ["an enum of objects", { enum: [{ a: 1 }] }, object],
  ])("%s", async (_, schema, make) => {
    expect(await growth(schema, make)).toBeLessThanOrEqual(2.1);
  });
});

describe("work is bounded", () => {
  /** Each level applies the next twice, to the same value or to the same member. */
  function bomb(depth: number, wrap: (reference: object) => object): unknown {
    const $defs: Record<string, unknown> = { [`a${depth}`]: { type: "integer" } };
    for (let level = 0; level < depth; level++) {
      const reference = wrap({ $ref: `#/$defs/a${level + 1}` });
      $defs[`a${level}`] = { allOf: [reference, reference] };
    }
    return { $ref: "#/$defs/a0", $defs };
  }

  test("for references that multiply in place, in one chain", async () => {
    const verdict = await checkSliced(
      bomb(10, (reference) => reference),
      "x",
    );
    expect(verdict).toMatchObject({ valid: false, problem: "#: must be integer, not string" });
    expect(verdict.steps).toBeLessThan(2000);
  });

  test("for references that multiply down the value", async () => {
    const value = JSON.parse(`${'{"x":'.repeat(26)}1${"}".repeat(26)}`);
    const schema = bomb(26, (reference) => ({ properties: { x: reference } }));
    const verdict = await checkSliced(schema, value);
    expect(verdict).toMatchObject({ valid: true });
    expect(verdict.steps).toBeLessThan(10_000);
  });

  test("by a budget, with the same verdict every time", async () => {
    const value = Array.from({ length: 1000 }, (_, index) => index);
    const options = { steps: 1000, slice: 300 };
    const verdict = await checkSliced({ items: { enum: [1] } }, value, options);
    expect(verdict.valid).toBe(false);
    const all = await checkSliced({ uniqueItems: true }, value, options);
    expect(all).toMatchObject({
      valid: false,
      problem: expect.stringMatching(/too large or too deeply nested/),
      pauses: 3,
    });
    expect(await checkSliced({ uniqueItems: true }, value, options)).toEqual(all);
  });

  test("for each key on which others depend, whether the value has it or not", async () => {
    const dependentRequired = Object.fromEntries(
      Array.from({ length: 1000 }, (_, index) => [`k${index}`, ["x"]]),
    );
    const verdict = await checkSliced({ dependentRequired }, {});
    expect(verdict.valid).toBe(true);
    expect(verdict.steps).toBeGreaterThanOrEqual(1000);
  });

  test("in slices, also within one pattern", async () => {
    const text = "a".repeat(500);
    const { valid, steps, pauses } = await checkSliced({ pattern: "^(a?){500}a{500}$" }, text, {
      slice: 50_000,
    });
    expect(valid).toBe(true);
    expect(pauses).toBe(Math.floor(steps / 50_000));
  });

  test("for deeply nested values", async () => {
    const deep = JSON.parse(`${"[".repeat(50_000)}${"]".repeat(50_000)}`);
    for (const schema of [{ items: { $ref: "#" } }, { uniqueItems: true }, { enum: [1] }]) {
      const { valid } = await checkSliced(schema, [deep, 1]);
      expect(valid).toBe(false);
    }
  });

  test("but not for unevaluated values", async () => {
    const deep = JSON.parse(`${"[".repeat(50_000)}${"]".repeat(50_000)}`);
    expect(await problemOf({ type: "array", minItems: 1 }, deep)).toBeUndefined();
  });

  test("a pause that fails ends the check", async () => {
    const value = Array.from({ length: 1000 }, (_, index) => index);
    const left = compileSchema({ uniqueItems: true }).check(value, {
      slice: 100,
      pause: () => Promise.reject(new Error("left")),
    });
    await expect(left).rejects.toThrow("left");
  });
});

test("recursive schemas that go down the value", async () => {
  const list = {
    $defs: { node: { properties: { next: { $ref: "#/$defs/node" }, value: { type: "integer" } } } },
    $ref: "#/$defs/node",
  };
  const value = { value: 1, next: { value: 2, next: { value: "3" } } };
  expect(await problemOf(list, value)).toBe("#/next/next/value: must be integer, not string");
});

test("numbers that a double cannot represent", async () => {
  const huge: unknown = JSON.parse("1e400");
  expect(await problemOf({ multipleOf: 0.1 }, huge)).toMatch(/multiple of/);
  expect(await problemOf({ multipleOf: 0.1 }, 0.3)).toBeUndefined();
  expect(await problemOf({ multipleOf: 5e-324 }, 1.7e308)).toBeUndefined();
});

describe("a schema is refused when it", () => {
  const many = (size: number, make: (index: number) => unknown) =>
    Array.from({ length: size }, (_, index) => make(index));
  const next = (index: number) => ({ $ref: `#/$defs/${index + 1}` });
  const chain = (size: number) => ({
    $ref: "#/$defs/0",
    $defs: Object.fromEntries([...many(size, next), true].entries()),
  });
  test.each<[string, unknown, RegExp]>([
    ["is none", 7, /must be a schema/],
    ["has too many subschemas", { prefixItems: many(6000, () => ({})) }, /6000 subschemas/],
    [
      "has too many patterns",
      { allOf: many(501, (index) => ({ pattern: `${index}` })) },
      /500 patterns/,
    ],
    [
      "has too large patterns",
      { allOf: many(60, (i) => ({ pattern: `(ab){450}${i}` })) },
      /50000 instr/,
    ],
    ["asks for too many classes", { pattern: String.raw`\p{L}`.repeat(101) }, /100 Unicode/],
    ["has too large constants", { enum: many(20_001, (index) => index) }, /\/enum: .*too large/],
    ["refers in a long chain", chain(70), /more than 64 deep/],
    ["has a draft 4 bound", { exclusiveMinimum: true }, /must be a number/],
    ["has a fragment as $id", { $id: "#a" }, /use \$anchor/],
    [
      "has an anchor twice",
      { $defs: { a: { $anchor: "x" }, b: { $anchor: "x" } } },
      /two different/,
    ],
    ["has no alternatives", { anyOf: [] }, /must not be empty/],
    ["points nowhere", { $ref: "#/$defs/constructor" }, /leads nowhere/],
    ["points at no schema", { $ref: "#/title", title: "x" }, /\/title: must be a schema/],
    ["is of another draft", { $recursiveRef: "#" }, /use \$ref/],
    ["repeats negative counts", { minItems: -1 }, /not negative/],
    ["has no types", { type: [] }, /at least one/],
  ])("%s", (_, schema, reason) => {
    expect(() => compileSchema(schema)).toThrow(reason);
  });

  test("has constants that are too large together with those of the request's other schemas", () => {
    const budget = new CompileBudget();
    const half = { enum: many(11_000, (index) => index) };
    compileSchema(half, budget);
    expect(() => compileSchema(half, budget)).toThrow(/\/enum: .*too large/);
  });

  test("has an error deep inside, which is described briefly", () => {
    const schema = { properties: { ["x".repeat(100_000)]: { type: "text" } } };
    expect(() => compileSchema(schema)).toThrow(/^.{1,600}$/);
  });

  test("exceeds the number of schemas of a request", () => {
    const budget = new CompileBudget();
    const schema = { prefixItems: many(4000, () => true) };
    compileSchema(schema, budget);
    expect(() => compileSchema(schema, budget)).toThrow(/beyond the limit of 6000 subschemas/);
  });
});

test("typical schemas of agents are well within the limits", () => {
  const properties = Object.fromEntries(
    Array.from({ length: 5000 }, (_, index) => [`field${index}`, { type: "string" }]),
  );
  const choices = { enum: Array.from({ length: 10_000 }, (_, index) => `choice ${index}`) };
  expect(() => compileSchema({ properties: { ...properties, choices } })).not.toThrow();
});
