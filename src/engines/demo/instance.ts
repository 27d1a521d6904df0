/**
 * Makes a small JSON value that satisfies a JSON Schema: required members and little else. It supports the
 * keywords that structured outputs use, but not `pattern`, `not` and conditions.
 */
import { asList, asObject, type UntypedObject } from "../untyped-json.ts";
import type { Hints } from "./hints.ts";

/**
 * From this depth on, lists stay empty and unions take a simple variant, so that recursive schemas terminate.
 */
const SHALLOW_DEPTH = 4;
/** Maximum depth of a schema with unbounded recursion. */
const MAX_DEPTH = 64;
/**
 * Maximum values in one instance. A schema may require more, by `minItems` or by recursion; the rest is
 * `null`.
 */
const MAX_VALUES = 2000;
/** Maximum characters that `minLength` adds, over all strings. */
const MAX_PADDING = 100_000;

export function instanceOf(schema: unknown, hints: Hints): unknown {
  return createMaker(schema, hints)(schema, "", 0);
}

/** `name` is the key of the value. */
type Make = (schema: unknown, name: string, depth: number) => unknown;

function createMaker(root: unknown, hints: Hints): Make {
  let values = 0;
  let padding = 0;
  const make: Make = (given, name, depth) => {
    if (depth > MAX_DEPTH || ++values > MAX_VALUES) return null;
    const schema = resolve(given, root, depth);
    if (schema["const"] !== undefined) return schema["const"];
    const members = asList(schema["enum"]);
    if (members.length > 0) {
      const words = members.filter((member) => typeof member === "string");
      return hints.member(words) ?? members[0];
    }
    switch (typeOf(schema)) {
      case "null":
        return null;
      case "boolean":
        return true;
      case "integer":
      case "number":
        return numberOf(schema, hints.number(name));
      case "array":
        return arrayOf(schema, name, depth, make);
      case "object":
        return objectOf(schema, depth, make, hints);
      default: {
        const text = stringOf(schema, hints.text(name), MAX_PADDING - padding);
        padding += Math.min(text.length, asNumber(schema["minLength"]) ?? 0);
        return text;
      }
    }
  };
  return make;
}

/** Resolves `$ref`, chooses a variant and merges the keywords beside it. */
function resolve(given: unknown, root: unknown, depth: number): UntypedObject {
  let schema = asObject(given);
  for (let steps = 0; steps < 32; steps++) {
    const { $ref, allOf, anyOf, oneOf, ...rest } = schema;
    const variants = asList(anyOf ?? oneOf);
    if (typeof $ref === "string") schema = merge(rest, atPointer(root, $ref));
    else if (asList(allOf).length > 0) schema = asList(allOf).reduce<UntypedObject>(merge, rest);
    else if (variants.length > 0) schema = merge(rest, chooseVariant(variants, depth));
    else return schema;
  }
  return {};
}

function chooseVariant(variants: readonly unknown[], depth: number): unknown {
  if (depth < SHALLOW_DEPTH) return variants[0];
  const simple = variants.find((variant) =>
    ["null", "boolean", "integer", "number", "string"].includes(String(asObject(variant)["type"])),
  );
  return simple ?? variants[0];
}

function merge(left: unknown, right: unknown): UntypedObject {
  const [a, b] = [asObject(left), asObject(right)];
  return {
    ...a,
    ...b,
    properties: { ...asObject(a["properties"]), ...asObject(b["properties"]) },
    required: [...asList(a["required"]), ...asList(b["required"])],
  };
}

function atPointer(root: unknown, ref: string): unknown {
  const path = ref.replace(/^#\/?/, "").split("/").filter(Boolean);
  return path.reduce<unknown>(
    (node, key) => asObject(node)[key.replaceAll("~1", "/").replaceAll("~0", "~")],
    root,
  );
}

function typeOf(schema: UntypedObject): string {
  const type = Array.isArray(schema["type"])
    ? (schema["type"].find((each) => each !== "null") ?? "null")
    : schema["type"];
  if (typeof type === "string") return type;
  if (Object.keys(asObject(schema["properties"])).length > 0) return "object";
  if (asList(schema["required"]).length > 0) return "object";
  if (schema["items"] !== undefined || schema["prefixItems"] !== undefined) return "array";
  return schema["minimum"] === undefined && schema["maximum"] === undefined ? "string" : "number";
}

function objectOf(schema: UntypedObject, depth: number, make: Make, hints: Hints): unknown {
  const properties = new Map(Object.entries(asObject(schema["properties"])));
  const required = new Set(asList(schema["required"]).filter((name) => typeof name === "string"));
  const minProperties = asNumber(schema["minProperties"]) ?? 0;
  // Without required properties the object would be empty: valid, but useless in a demo.
  const all = required.size === 0 && depth < 2;
  const chosen = [...properties.keys()].filter(
    (name, index) => required.has(name) || all || index < minProperties || isSaid(name),
  );
  const names = [...new Set([...chosen, ...required])];
  return Object.fromEntries(
    names.map((name) => [
      name,
      make(properties.get(name) ?? schema["additionalProperties"] ?? {}, name, depth + 1),
    ]),
  );

  function isSaid(name: string): boolean {
    const words = asList(asObject(properties.get(name))["enum"]).filter(
      (word) => typeof word === "string",
    );
    return hints.named(name) !== undefined || hints.member(words) !== undefined;
  }
}

function arrayOf(schema: UntypedObject, name: string, depth: number, make: Make): unknown {
  const first = asList(schema["prefixItems"]);
  const least = Math.max(asNumber(schema["minItems"]) ?? 0, first.length);
  const most = Math.min(asNumber(schema["maxItems"]) ?? Infinity, MAX_VALUES);
  const length = Math.min(Math.max(least, depth < SHALLOW_DEPTH ? 1 : 0), most);
  const items: unknown[] = [];
  for (let index = 0; index < length; index++) {
    const item = first[index] ?? schema["items"];
    items.push(distinct(make(item, name, depth + 1), asObject(item), items, schema));
  }
  return items;
}

/** Values that differ from each other, for `uniqueItems`. */
function distinct(
  value: unknown,
  item: UntypedObject,
  items: readonly unknown[],
  schema: UntypedObject,
): unknown {
  if (schema["uniqueItems"] !== true || !items.includes(value)) return value;
  const other = asList(item["enum"]).find((member) => !items.includes(member));
  if (other !== undefined) return other;
  if (typeof value === "number") return Math.max(...items.map(Number)) + 1;
  return typeof value === "string" ? `${value} ${items.length + 1}` : value;
}

/** Tries numbers of the user's message, then values near the bounds. */
function numberOf(schema: UntypedObject, said: number | undefined): number {
  const step = asNumber(schema["multipleOf"]) ?? (typeOf(schema) === "integer" ? 1 : undefined);
  const above = asNumber(schema["exclusiveMinimum"]) ?? -Infinity;
  const below = asNumber(schema["exclusiveMaximum"]) ?? Infinity;
  const least = Math.max(asNumber(schema["minimum"]) ?? -Infinity, above);
  const most = Math.min(asNumber(schema["maximum"]) ?? Infinity, below);
  const unit = step ?? 1;
  const [up, down] = [Math.ceil(least / unit) * unit, Math.floor(most / unit) * unit];
  const candidates = [
    said,
    1,
    0,
    least,
    most,
    up,
    up + unit,
    down,
    down - unit,
    (least + most) / 2,
  ];
  const fits = (value: number | undefined) =>
    value !== undefined &&
    value >= least &&
    value <= most &&
    value > above &&
    value < below &&
    (step === undefined || Number.isInteger(value / step));
  return candidates.find(fits) ?? 1;
}

const FORMATS: Readonly<Record<string, string>> = {
  date: "2025-08-05",
  time: "12:00:00Z",
  "date-time": "2025-08-05T12:00:00Z",
  duration: "PT1H",
  email: "demo@example.com",
  hostname: "example.com",
  ipv4: "192.0.2.1",
  ipv6: "2001:db8::1",
  uri: "https://example.com/",
  url: "https://example.com/",
  uuid: "00000000-0000-4000-8000-000000000000",
};

function stringOf(schema: UntypedObject, said: string | undefined, maxPadding: number): string {
  const format = FORMATS[typeof schema["format"] === "string" ? schema["format"] : ""];
  const text = format ?? said ?? "example";
  const least = Math.min(asNumber(schema["minLength"]) ?? 0, maxPadding);
  const letters = Array.from(text.padEnd(least + text.length, "."));
  const length = Math.max(least, Array.from(text).length);
  return letters.slice(0, Math.min(length, asNumber(schema["maxLength"]) ?? Infinity)).join("");
}

function asNumber(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}
