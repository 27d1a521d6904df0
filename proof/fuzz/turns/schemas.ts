/** The functions and the answer format that cases use, with documents that satisfy their schemas and some that do not. */
import type { Random } from "../random.ts";

export interface Schema {
  readonly type: "object" | "string" | "integer" | "boolean" | "array";
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: false;
  readonly items?: Schema;
  readonly minItems?: number;
  readonly enum?: readonly string[];
  readonly minimum?: number;
}

export const FUNCTIONS: Readonly<Record<string, Schema | undefined>> = {
  get_weather: {
    type: "object",
    properties: { city: { type: "string" }, days: { type: "integer", minimum: 1 } },
    required: ["city"],
    additionalProperties: false,
  },
  // The name begins with the name of another function.
  get_weather_map: {
    type: "object",
    properties: { layers: { type: "array", items: { type: "string" }, minItems: 1 } },
    required: ["layers"],
  },
  search: {
    type: "object",
    properties: {
      query: { type: "string" },
      mode: { type: "string", enum: ["fast", "deep"] },
      filter: {
        type: "object",
        properties: { safe: { type: "boolean" } },
        required: ["safe"],
      },
    },
    required: ["query", "mode"],
  },
  // The name ends like a content type that models join to a name.
  to_json: undefined,
};

export const ANSWER: Schema = {
  type: "object",
  properties: {
    title: { type: "string" },
    tags: { type: "array", items: { type: "string" } },
    done: { type: "boolean" },
  },
  required: ["title", "done"],
  additionalProperties: false,
};

/** A document that satisfies the schema; `word` makes each string recognisable. */
export function toDocument(schema: Schema | undefined, random: Random, word: () => string): string {
  return JSON.stringify(toValue(schema ?? { type: "object" }, random, word));
}

function toValue(schema: Schema, random: Random, word: () => string): unknown {
  switch (schema.type) {
    case "string":
      return schema.enum === undefined ? word() : random.pick(schema.enum);
    case "integer":
      return random.between(schema.minimum ?? -3, 40);
    case "boolean":
      return random.chance(0.5);
    case "array": {
      const length = random.between(schema.minItems ?? 0, 3);
      return Array.from({ length }, () =>
        toValue(schema.items ?? { type: "string" }, random, word),
      );
    }
    case "object": {
      const { properties = {}, required = [] } = schema;
      const present = Object.entries(properties).filter(
        ([name]) => required.includes(name) || random.chance(0.5),
      );
      return Object.fromEntries(present.map(([name, each]) => [name, toValue(each, random, word)]));
    }
    default:
      return schema.type satisfies never;
  }
}

/** Typical wrong arguments: most violate every schema above. */
export function toWrongDocument(random: Random, word: () => string): string {
  const text = word();
  return random.pick([
    "{}",
    "[]",
    "",
    '{"city":',
    `{"city":"${text}","extra":1}`,
    `{"title":"${text}"}`,
    `{"query":"${text}","mode":"other"}`,
    `Sure: {"title":"${text}","done":true}`,
    text,
  ] as const);
}

/** Whether JSON text satisfies the schema: written apart from the checker under test. */
export function satisfies(text: string, schema: Schema | undefined): boolean {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return false;
  }
  return fits(value, schema ?? { type: "object" });
}

function fits(value: unknown, schema: Schema): boolean {
  switch (schema.type) {
    case "string":
      return typeof value === "string" && (schema.enum?.includes(value) ?? true);
    case "integer":
      return Number.isInteger(value) && Number(value) >= (schema.minimum ?? -Infinity);
    case "boolean":
      return typeof value === "boolean";
    case "array": {
      const { items, minItems = 0 } = schema;
      return (
        Array.isArray(value) &&
        value.length >= minItems &&
        value.every((each) => items === undefined || fits(each, items))
      );
    }
    case "object": {
      if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
      const { properties = {}, required = [], additionalProperties } = schema;
      const entries = Object.entries(value);
      return (
        required.every((name) => Object.hasOwn(value, name)) &&
        entries.every(([name, each]) => {
          const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
          return property === undefined ? additionalProperties !== false : fits(each, property);
        })
      );
    }
    default:
      return schema.type satisfies never;
  }
}
