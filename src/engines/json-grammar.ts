/**
 * JSON Schema to GBNF, the grammar notation of llama.cpp: what may be sampled is then what is valid.
 *
 * Covered is what structured outputs use: types, `enum`, `const`, properties (in the order of the schema;
 * optional ones may be left out), items and their number, lengths of strings, `anyOf`, `oneOf`,
 * `allOf`, local `$ref`, recursive ones included. A grammar counts badly and computes not at all:
 * bounds of numbers, `pattern`, `format`, `uniqueItems` and `not` are left to whoever validates.
 */

/** @param schema JSON text. Throws a `SyntaxError` when it is none. */
export function toJsonGrammar(schema: string): string {
  return printGrammar(JSON.parse(schema));
}

/** Any JSON object. */
export function toJsonObjectGrammar(): string {
  return printGrammar({ type: "object" });
}

/** A JSON document as a part of a larger grammar. */
export interface JsonRules {
  /** The expression for the document. */
  readonly document: string;
  /** The rules it refers to, all but {@link SHARED_RULES}; their names begin with the prefix. */
  readonly rules: string;
}

/** @param prefix Letters. Keeps the rules of several schemas in one grammar apart. */
export function toJsonRules(schema: string, prefix: string): JsonRules {
  return writeRules(JSON.parse(schema), prefix);
}

type SchemaObject = Readonly<Record<string, unknown>>;

/** Rules every grammar may refer to. White space is bounded: a model may like it too much. */
export const SHARED_RULES = `
space ::= ([ ] | "\\n" [ \\t]{0,20})?
string ::= "\\"" character* "\\""
character ::= [^"\\\\\\x00-\\x1f\\x7f] | "\\\\" (["\\\\/bfnrt] | "u" [0-9a-fA-F]{4})
integer ::= "-"? ("0" | [1-9] [0-9]{0,15})
number ::= integer ("." [0-9]{1,16})? ([eE] [-+]? [0-9]{1,3})?
boolean ::= "true" | "false"
null ::= "null"
array ::= "[" space (value (space "," space value)*)? space "]"
object ::= "{" space (member (space "," space member)*)? space "}"
member ::= string space ":" space value
value ::= object | array | string | number | boolean | null
`;

function printGrammar(root: unknown): string {
  const { document, rules } = writeRules(root, "");
  return `root ::= ${document}\n${rules}${SHARED_RULES}`;
}

function writeRules(root: unknown, prefix: string): JsonRules {
  const rules: string[] = [];
  /** Names of rules by what they say: the same part of a schema is written once. */
  const names = new Map<string, string>();
  /** Names of rules by `$ref`, given before the rule is written: a schema may refer to itself. */
  const references = new Map<string, string>();
  const document = write(root);
  return { document, rules: rules.join("") };

  function write(given: unknown): string {
    const schema = mergeAllOf(asObject(given), root);
    const { $ref } = schema;
    if (typeof $ref === "string") return writeReference($ref);
    const variants = list(schema["anyOf"] ?? schema["oneOf"]);
    if (variants.length > 0) return writeVariants(schema, variants);
    if (schema["const"] !== undefined) return literal(JSON.stringify(schema["const"]));
    const members = list(schema["enum"]);
    if (members.length > 0) return oneOf(members.map((each) => literal(JSON.stringify(each))));
    return oneOf(typesOf(schema).map((type) => writeType(type, schema)));
  }

  function writeReference(pointer: string): string {
    const known = references.get(pointer);
    if (known !== undefined) return known;
    const name = `${prefix}ref-${references.size + 1}`;
    references.set(pointer, name);
    rules.push(`${name} ::= ${write(atPointer(root, pointer))}\n`);
    return name;
  }

  /** A rule of its own for what is used more than once. */
  function define(expression: string): string {
    const known = names.get(expression);
    if (known !== undefined) return known;
    const name = `${prefix}part-${names.size + 1}`;
    names.set(expression, name);
    rules.push(`${name} ::= ${expression}\n`);
    return name;
  }

  /** What stands beside the variants holds for each of them. */
  function writeVariants(schema: SchemaObject, variants: readonly unknown[]): string {
    const { anyOf: _anyOf, oneOf: _oneOf, ...common } = schema;
    const isBare = Object.keys(common).every((key) => IRRELEVANT.has(key));
    return oneOf(variants.map((each) => write(isBare ? each : { allOf: [common, each] })));
  }

  function writeType(type: string, schema: SchemaObject): string {
    switch (type) {
      case "object":
        return writeObject(schema);
      case "array":
        return writeArray(schema);
      case "string":
        return writeString(schema);
      case "integer":
      case "number":
      case "boolean":
      case "null":
        return type;
      default:
        return "value";
    }
  }

  function writeObject(schema: SchemaObject): string {
    const properties = Object.entries(asObject(schema["properties"]));
    const required = new Set(list(schema["required"]));
    const undescribed = [...required].filter((name) => !properties.some(([key]) => key === name));
    const rest = schema["additionalProperties"];
    const members: Member[] = [
      ...properties.map(([key, each]) => ({
        text: define(pair(key, write(each))),
        required: required.has(key),
      })),
      ...undescribed.map((key) => ({
        text: define(pair(String(key), write(rest ?? true))),
        required: true,
      })),
    ];
    if (members.length > 0) return `"{" space ${sequence(members)} space "}"`;
    if (rest === false) return `"{" space "}"`;
    if (rest === undefined || rest === true) return "object";
    const member = define(`string space ":" space ${write(rest)}`);
    return `"{" space (${member} (space "," space ${member})*)? space "}"`;
  }

  function writeArray(schema: SchemaObject): string {
    const first = list(schema["prefixItems"]).map((item) => write(item));
    const least = count(schema["minItems"]) ?? 0;
    const most = count(schema["maxItems"]);
    if (first.length > 0) {
      const items = first.slice(0, most).join(' space "," space ');
      return `"[" space ${items} space "]"`;
    }
    if (most === 0) return `"[" space "]"`;
    const item = define(write(schema["items"] ?? true));
    const others = times(Math.max(least - 1, 0), most === undefined ? undefined : most - 1);
    const items = most === 1 ? item : `${item} (space "," space ${item})${others}`;
    return `"[" space (${items})${least === 0 ? "?" : ""} space "]"`;
  }
}

interface Member {
  readonly text: string;
  readonly required: boolean;
}

/** In their order, commas between those that are there. Each of the optional ones in front may be the first. */
function sequence(members: readonly Member[]): string {
  const comma = ' space "," space ';
  const following = (from: number) =>
    members
      .slice(from)
      .map(({ text, required }) => (required ? `${comma}${text}` : ` (${comma}${text})?`))
      .join("");
  const firstRequired = members.findIndex(({ required }) => required);
  const beginnings = members.slice(0, firstRequired < 0 ? undefined : firstRequired + 1);
  const ways = beginnings.map(({ text }, index) => `${text}${following(index + 1)}`);
  return `(${ways.join(" | ")})${firstRequired < 0 ? "?" : ""}`;
}

function writeString(schema: SchemaObject): string {
  const least = count(schema["minLength"]) ?? 0;
  const most = count(schema["maxLength"]);
  if (least === 0 && most === undefined) return "string";
  return `"\\"" character${times(least, most)} "\\""`;
}

/** llama.cpp refuses to unroll more than a few thousand repetitions. */
const MAX_REPETITIONS = 1000;

function times(least: number, most: number | undefined): string {
  const lower = Math.min(least, MAX_REPETITIONS);
  if (most === undefined || most > MAX_REPETITIONS) return lower === 0 ? "*" : `{${lower},}`;
  return `{${lower},${Math.max(most, lower)}}`;
}

function pair(key: string, value: string): string {
  return `${literal(JSON.stringify(key))} space ":" space ${value}`;
}

function oneOf(alternatives: readonly string[]): string {
  return alternatives.length === 1 ? (alternatives[0] ?? "") : `(${alternatives.join(" | ")})`;
}

/** Text as a literal of the grammar, which knows the same escapes as JSON for quotes, backslashes and line breaks. */
function literal(text: string): string {
  return JSON.stringify(text);
}

/** Keys that demand nothing. */
const IRRELEVANT: ReadonlySet<string> = new Set([
  "$comment",
  "$defs",
  "$id",
  "$schema",
  "default",
  "definitions",
  "deprecated",
  "description",
  "examples",
  "title",
]);

function typesOf(schema: SchemaObject): string[] {
  const { type } = schema;
  if (typeof type === "string") return [type];
  const types = list(type).filter((each) => typeof each === "string");
  if (types.length > 0) return types;
  if (schema["properties"] !== undefined || schema["required"] !== undefined) return ["object"];
  if (schema["items"] !== undefined || schema["prefixItems"] !== undefined) return ["array"];
  if (schema["minLength"] !== undefined || schema["maxLength"] !== undefined) return ["string"];
  return ["any"];
}

/** Deeper than any sane schema; a schema that includes itself never ends. */
const MAX_DEPTH = 64;

function mergeAllOf(schema: SchemaObject, root: unknown, depth = 0): SchemaObject {
  const { allOf, ...rest } = schema;
  if (depth > MAX_DEPTH) return rest;
  return list(allOf).reduce<SchemaObject>((merged, part) => {
    const { $ref, ...beside } = asObject(part);
    const resolved = typeof $ref === "string" ? asObject(atPointer(root, $ref)) : {};
    const added = mergeAllOf({ ...resolved, ...beside }, root, depth + 1);
    const properties = { ...asObject(merged["properties"]), ...asObject(added["properties"]) };
    const required = [...list(merged["required"]), ...list(added["required"])];
    return {
      ...merged,
      ...added,
      ...(Object.keys(properties).length > 0 && { properties }),
      ...(required.length > 0 && { required }),
    };
  }, rest);
}

/** A pointer that leads nowhere gives `undefined`, which demands nothing. */
function atPointer(root: unknown, pointer: string): unknown {
  const path = pointer.replace(/^#\/?/, "").split("/").filter(Boolean);
  return path.reduce<unknown>(
    (node, key) =>
      asObject(node)[decodeURIComponent(key).replaceAll("~1", "/").replaceAll("~0", "~")],
    root,
  );
}

function asObject(value: unknown): SchemaObject {
  return isObject(value) ? value : {};
}

function isObject(value: unknown): value is SchemaObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function count(value: unknown): number | undefined {
  return typeof value === "number" ? Math.floor(value) : undefined;
}
