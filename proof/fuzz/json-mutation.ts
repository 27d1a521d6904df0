/** Structure-aware mutations of JSON bodies: from valid values to hostile texts. */
import type { Random } from "./random.ts";

export type JsonValue =
  | string
  | number
  | boolean
  | null
  | RawJson
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue };

/** Text that is inserted unchanged, for documents that no value serializes to. */
class RawJson {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** Values of the wrong type, size or shape for nearly every field. */
const HOSTILE: readonly JsonValue[] = [
  null,
  true,
  false,
  0,
  -1,
  1.5,
  128,
  2 ** 31,
  2 ** 53,
  1e308,
  new RawJson("-0"),
  new RawJson("1e999"),
  new RawJson("123456789012345678901234567890"),
  new RawJson("0.1e-400"),
  "",
  " ",
  "x",
  "0",
  "null",
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
  "<|start|>system<|message|>",
  "<|return|><|call|><|end|>",
  "functions.f",
  "../../etc/passwd",
  "a\u0000b",
  "\u202E\uFEFF\u2028",
  "💖".repeat(50),
  "x".repeat(5000),
  " ".repeat(5000),
  "\n".repeat(2000),
  "%00%0d%0a",
  new RawJson('"\\ud800"'),
  new RawJson('"\\udc00\\ud800"'),
  new RawJson('"\\u0000"'),
  [],
  {},
  [[]],
  [null],
  [{}],
  ["", "", ""],
  { type: "text" },
  { type: "function" },
  { type: "input_text", text: null },
  { $ref: "#" },
  new RawJson('{"__proto__":{"polluted":true}}'),
  new RawJson('{"constructor":{"prototype":{"polluted":true}}}'),
  new RawJson('{"a":1,"a":2,"a":{"a":3}}'),
  new RawJson(`${"[".repeat(40)}${"]".repeat(40)}`),
  new RawJson(`${"[".repeat(100)}${"]".repeat(100)}`),
  new RawJson(`${"[".repeat(3000)}${"]".repeat(3000)}`),
  new RawJson(`${'{"a":'.repeat(200)}1${"}".repeat(200)}`),
  new RawJson(`[${Array.from({ length: 300 }, (_, n) => n).join()}]`),
  new RawJson(`{${Array.from({ length: 300 }, (_, n) => `"k${n}":${n}`).join()}}`),
];

/** Invalid schemas, and some that are only unusual. */
export const ODD_SCHEMAS: readonly JsonValue[] = [
  true,
  {},
  { $ref: "#/$defs/none" },
  { $ref: "https://127.0.0.1/schema.json" },
  { $ref: "#" },
  { type: "string", pattern: "(" },
  { type: "string", pattern: "^(a+)+$" },
  { type: "string", pattern: "^(?=x)y$" },
  { type: "object", properties: null },
  { type: "object", required: 7 },
  { enum: 7 },
  { enum: [] },
  { allOf: 5 },
  { type: "nonsense" },
  { type: ["string", "null"] },
  { $id: "a", $defs: { a: { $id: "b" }, b: { $id: "b" } } },
  { type: "object", properties: { a: { type: "string", format: "date" } }, required: ["a"] },
  { type: "object", properties: { a: { type: "number", multipleOf: 0 } } },
  { type: "array", items: { type: "integer" }, minItems: 3, uniqueItems: true },
  { type: "array", minItems: 1e9 },
  { type: "string", minLength: 1e9 },
  { type: "object", patternProperties: { "^(x+x+)+y$": { type: "string" } } },
  {
    type: "object",
    properties: { b: { $ref: "#/$defs/t" } },
    $defs: { t: { items: { $ref: "#/$defs/t" } } },
  },
  { anyOf: [{ $ref: "#/$defs/x" }], $defs: { x: { anyOf: [{ $ref: "#/$defs/x" }] } } },
  { not: {} },
  { const: { a: [1, "x"] } },
  { type: "object", additionalProperties: false, properties: { a: { const: 1 } }, required: ["b"] },
  bomb(12),
];

/** Each definition refers twice to the next: 2^depth visits when every reference is followed. */
function bomb(depth: number): JsonValue {
  const names = Array.from({ length: depth }, (_, n) => `d${n}`);
  const defs = names.map((name, n) => {
    const next = { $ref: `#/$defs/d${n + 1}` };
    return [name, n === depth - 1 ? { type: "object" } : { allOf: [next, next] }] as const;
  });
  return { $ref: "#/$defs/d0", $defs: Object.fromEntries(defs) };
}

/** Changes a few places of a value, sometimes none. */
export function mutateJson(value: JsonValue, random: Random): JsonValue {
  let mutated = value;
  for (let times = random.below(4); times > 0; times--) mutated = mutateOnce(mutated, random);
  return mutated;
}

function mutateOnce(value: JsonValue, random: Random): JsonValue {
  // Deeper places are as likely as those at the top, because each step may descend.
  if (isContainer(value) && !random.oneIn(4)) {
    if (Array.isArray(value)) return mutateList(value, random);
    return mutateMembers(Object.entries(value), random);
  }
  return replace(value, random);
}

function mutateList(list: readonly JsonValue[], random: Random): JsonValue {
  const at = random.below(list.length + 1);
  const element = list[at];
  if (element === undefined) return [...list, random.pick(HOSTILE)];
  switch (random.below(8)) {
    case 0:
      return list.toSpliced(at, 1);
    case 1:
      return [...list, ...list.slice(0, 20)];
    case 2:
      return list.toReversed();
    default:
      return list.with(at, mutateOnce(element, random));
  }
}

function mutateMembers(
  members: readonly (readonly [string, JsonValue])[],
  random: Random,
): JsonValue {
  const at = random.below(members.length + 1);
  const member = members[at];
  if (member === undefined) {
    const name = random.pick([
      "__proto__",
      "toString",
      "x",
      "",
      "type",
      "$ref",
      "schema",
      "stream",
    ]);
    return toObject([...members, [name, random.pick(HOSTILE)]]);
  }
  const [name, value] = member;
  switch (random.below(10)) {
    case 0:
      return toObject(members.toSpliced(at, 1));
    case 1:
      // A repeated name; the last value counts.
      return toObject([...members, [name, random.pick(HOSTILE)]]);
    case 2: {
      const other = members[random.below(members.length)];
      return toObject(members.with(at, [name, other?.[1] ?? null]));
    }
    case 3:
      return toObject(
        members.with(at, [`${name}${random.pick(["s", "_", " ", "\u0000"])}`, value]),
      );
    case 4:
      return toObject(
        members.with(at, [name, random.pick(isSchemaName(name) ? ODD_SCHEMAS : HOSTILE)]),
      );
    default:
      return toObject(members.with(at, [name, mutateOnce(value, random)]));
  }
}

function isSchemaName(name: string): boolean {
  return name === "schema" || name === "parameters" || name === "properties";
}

function replace(value: JsonValue, random: Random): JsonValue {
  switch (random.below(8)) {
    case 0:
      return [value];
    case 1:
      return { value };
    case 2:
      return typeof value === "string" ? mutateText(value, random) : random.pick(HOSTILE);
    default:
      return random.pick(HOSTILE);
  }
}

function mutateText(text: string, random: Random): string {
  const at = random.below(text.length + 1);
  const insertion = random.pick([
    "\u0000",
    "<|end|>",
    '"',
    "\\",
    "💖",
    "\uFFFF",
    "é",
    "\r\n",
    "x".repeat(300),
  ]);
  return text.slice(0, at) + insertion + text.slice(at + random.below(3));
}

function isContainer(
  value: JsonValue,
): value is readonly JsonValue[] | { readonly [name: string]: JsonValue } {
  return typeof value === "object" && value !== null && !(value instanceof RawJson);
}

/** Members may repeat a name or be called `__proto__`, which needs text instead of an object. */
function toObject(members: readonly (readonly [string, JsonValue])[]): JsonValue {
  const names = new Set(members.map(([name]) => name));
  if (names.size === members.length && !names.has("__proto__")) return Object.fromEntries(members);
  return new RawJson(
    `{${members.map(([name, value]) => `${JSON.stringify(name)}:${toText(value)}`).join()}}`,
  );
}

export function toText(value: JsonValue): string {
  if (value instanceof RawJson) return value.text;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map((each: JsonValue) => toText(each)).join()}]`;
  const members = Object.entries(value).map(
    ([name, each]) => `${JSON.stringify(name)}:${toText(each)}`,
  );
  return `{${members.join()}}`;
}

/** Damages the text itself: truncation, garbage, invalid UTF-8. */
export function mutateBytes(text: string, random: Random): string | Uint8Array<ArrayBuffer> {
  const at = random.below(text.length + 1);
  switch (random.below(7)) {
    case 0:
      return text.slice(0, at);
    case 1:
      return (
        text.slice(0, at) +
        random.pick(['"', "{", "]", ",", "\\u", "NaN", "\u0000", "//"]) +
        text.slice(at)
      );
    case 2:
      return `\uFEFF${text}`;
    case 3:
      return text + text;
    case 4: {
      const bytes = new TextEncoder().encode(text);
      if (bytes.length > 0) bytes[random.below(bytes.length)] = 128 + random.below(128);
      return bytes;
    }
    case 5:
      return random.pick(["", " ", "null", "[]", "0", '"x"', "{}", "undefined", "a=b&c=d"]);
    default:
      return text.replaceAll('"', "'");
  }
}
