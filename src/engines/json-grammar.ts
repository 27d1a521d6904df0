/**
 * Converts JSON Schema to GBNF, the grammar notation of llama.cpp, so that only valid documents can be
 * sampled.
 *
 * Covers the keywords of structured outputs: types, `enum`, `const`, properties (in the order of the schema;
 * optional ones may be omitted), items and their number, string lengths, `anyOf`, `oneOf`, `allOf`, and local
 * `$ref`, recursive ones included. Number bounds, `pattern`, `format`, `uniqueItems` and `not` cannot
 * practically be expressed: the caller must validate.
 */
import { asList, asObject, type UntypedObject } from "./untyped-json.ts";

/**
 * @param schema JSON text; throws a `SyntaxError` if it is not. Beyond {@link MAX_WORK}, the rest of the
 * schema allows any value, and the caller must validate.
 */
export function toJsonGrammar(schema: string): string {
  return printGrammar(JSON.parse(schema));
}

/** The grammar of any JSON object. */
export function toJsonObjectGrammar(): string {
  return printGrammar({ type: "object" });
}

/** A JSON document as part of a larger grammar. */
export interface JsonRules {
  /** The expression for the document. */
  readonly document: string;
  /** The rules it refers to, except {@link SHARED_RULES}. Their names begin with the prefix. */
  readonly rules: string;
}

/** @param prefix letters. Prevents name clashes between several schemas in one grammar. */
export function toJsonRules(schema: string, prefix: string): JsonRules {
  return new GrammarWriter(JSON.parse(schema), prefix).write();
}

/** Rules that every grammar may refer to. White space is bounded, because models may repeat it endlessly. */
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
  const { document, rules } = new GrammarWriter(root, "").write();
  return `root ::= ${document}\n${rules}${SHARED_RULES}`;
}

/** Limit for characters written plus members merged, and for nesting. Beyond it any value is allowed. */
const MAX_WORK = 1_000_000;
const MAX_NESTING = 200;

class GrammarWriter {
  readonly #root: unknown;
  readonly #prefix: string;
  readonly #rules: string[] = [];
  #work = 0;
  #nesting = 0;
  /** Rule names by expression: equal parts of a schema share one rule. */
  readonly #names = new Map<string, string>();
  /** Rule names by `$ref`, assigned before the rule is written, because a schema may refer to itself. */
  readonly #references = new Map<string, string>();

  constructor(root: unknown, prefix: string) {
    this.#root = root;
    this.#prefix = prefix;
  }

  write(): JsonRules {
    const document = this.#write(this.#root);
    return { document, rules: this.#rules.join("") };
  }

  #write(given: unknown): string {
    if (this.#work > MAX_WORK || this.#nesting > MAX_NESTING) return "value";
    this.#nesting++;
    const expression = this.#writeSchema(asObject(given));
    this.#nesting--;
    this.#work += expression.length + 1;
    return expression;
  }

  #writeSchema(given: UntypedObject): string {
    const schema = given["allOf"] === undefined ? given : this.#mergeAllOf(given);
    const { $ref } = schema;
    if (typeof $ref === "string") return this.#writeReference($ref);
    const variants = asList(schema["anyOf"] ?? schema["oneOf"]);
    if (variants.length > 0) return this.#writeVariants(schema, variants);
    if (schema["const"] !== undefined) return literal(JSON.stringify(schema["const"]));
    const members = asList(schema["enum"]);
    if (members.length > 0) return oneOf(members.map((each) => literal(JSON.stringify(each))));
    return oneOf(typesOf(schema).map((type) => this.#writeType(type, schema)));
  }

  #writeReference(pointer: string): string {
    const known = this.#references.get(pointer);
    if (known !== undefined) return known;
    const name = `${this.#prefix}ref-${this.#references.size + 1}`;
    this.#references.set(pointer, name);
    this.#rules.push(`${name} ::= ${this.#write(atPointer(this.#root, pointer))}\n`);
    return name;
  }

  /** Merges all parts into one schema. Each reference is followed once. */
  #mergeAllOf(schema: UntypedObject): UntypedObject {
    const merged = new Map<string, unknown>();
    const properties = new Map<string, unknown>();
    const required = new Set<unknown>();
    const followed = new Set<string>();
    const open: UntypedObject[] = [schema];
    for (let part = open.pop(); part !== undefined && this.#work <= MAX_WORK; part = open.pop()) {
      const { allOf, $ref, ...rest } = part;
      for (const [key, value] of Object.entries(rest)) merged.set(key, value);
      const members = Object.entries(asObject(part["properties"]));
      for (const [key, value] of members) properties.set(key, value);
      const demanded = asList(part["required"]);
      for (const name of demanded) required.add(name);
      this.#work += merged.size + members.length + demanded.length;
      const parts = asList(allOf).map(asObject);
      if (typeof $ref === "string" && !followed.has($ref)) {
        followed.add($ref);
        parts.unshift(asObject(atPointer(this.#root, $ref)));
      }
      open.push(...parts.toReversed());
    }
    if (properties.size > 0) merged.set("properties", Object.fromEntries(properties));
    if (required.size > 0) merged.set("required", [...required]);
    return Object.fromEntries(merged);
  }

  /** Makes the expression a rule, and returns its name. */
  #define(expression: string): string {
    const known = this.#names.get(expression);
    if (known !== undefined) return known;
    const name = `${this.#prefix}part-${this.#names.size + 1}`;
    this.#names.set(expression, name);
    this.#rules.push(`${name} ::= ${expression}\n`);
    return name;
  }

  /** Keywords beside the variants apply to each of them. */
  #writeVariants(schema: UntypedObject, variants: readonly unknown[]): string {
    const { anyOf: _anyOf, oneOf: _oneOf, ...common } = schema;
    const isBare = Object.keys(common).every((key) => IRRELEVANT.has(key));
    return oneOf(variants.map((each) => this.#write(isBare ? each : { allOf: [common, each] })));
  }

  #writeType(type: string, schema: UntypedObject): string {
    switch (type) {
      case "object":
        return this.#writeObject(schema);
      case "array":
        return this.#writeArray(schema);
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

  #writeObject(schema: UntypedObject): string {
    const properties = Object.entries(asObject(schema["properties"]));
    const required = new Set(asList(schema["required"]));
    const described = new Set<unknown>(properties.map(([key]) => key));
    const undescribed = [...required].filter((name) => !described.has(name));
    const rest = schema["additionalProperties"];
    const members: Member[] = [
      ...properties.map(([key, each]) => ({
        text: this.#define(pair(key, this.#write(each))),
        required: required.has(key),
      })),
      ...undescribed.map((key) => ({
        text: this.#define(pair(String(key), this.#write(rest ?? true))),
        required: true,
      })),
    ];
    if (members.length > 0) return `"{" space ${this.#sequence(members)} space "}"`;
    if (rest === false) return `"{" space "}"`;
    if (rest === undefined || rest === true) return "object";
    const member = this.#define(`string space ":" space ${this.#write(rest)}`);
    return `"{" space (${member} (space "," space ${member})*)? space "}"`;
  }

  /**
   * Members in order, separated by commas. Any of the leading optional members may come first. Each tail is a
   * rule of its own, so that the grammar grows linearly with the schema.
   */
  #sequence(members: readonly Member[]): string {
    const comma = ' space "," space ';
    const firstRequired = members.findIndex(({ required }) => required);
    const leading = firstRequired < 0 ? members.length : firstRequired;
    let rest = members
      .slice(leading + 1)
      .map(({ text, required }) => (required ? `${comma}${text}` : ` (${comma}${text})?`))
      .join("");
    if (leading === 0) return `${members[0]?.text ?? ""}${rest}`;

    let following = members[leading]?.text ?? "";
    if (following !== "") following = this.#define(`${following}${rest}`);
    rest = following === "" ? "" : `${comma}${following}`;
    for (const { text } of members.slice(0, leading).toReversed()) {
      const first = `${text}${rest}`;
      following = this.#define(following === "" ? first : `${first} | ${following}`);
      rest = ` ${this.#define(rest === "" ? `(${comma}${text})?` : `(${comma}${text})?${rest}`)}`;
    }
    return firstRequired < 0 ? `(${following})?` : following;
  }

  #writeArray(schema: UntypedObject): string {
    const first = asList(schema["prefixItems"]).map((item) => this.#write(item));
    const least = asCount(schema["minItems"]) ?? 0;
    const most = asCount(schema["maxItems"]);
    if (first.length > 0) {
      const items = first.slice(0, most).join(' space "," space ');
      return `"[" space ${items} space "]"`;
    }
    if (most === 0) return `"[" space "]"`;
    const item = this.#define(this.#write(schema["items"] ?? true));
    const others = times(Math.max(least - 1, 0), most === undefined ? undefined : most - 1);
    const items = most === 1 ? item : `${item} (space "," space ${item})${others}`;
    return `"[" space (${items})${least === 0 ? "?" : ""} space "]"`;
  }
}

interface Member {
  readonly text: string;
  readonly required: boolean;
}

function writeString(schema: UntypedObject): string {
  const least = asCount(schema["minLength"]) ?? 0;
  const most = asCount(schema["maxLength"]);
  if (least === 0 && most === undefined) return "string";
  return `"\\"" character${times(least, most)} "\\""`;
}

/** llama.cpp rejects more than a few thousand unrolled repetitions. */
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

/** A literal in the grammar, which uses JSON's escapes for quotes, backslashes and line breaks. */
function literal(text: string): string {
  return JSON.stringify(text);
}

/** Keywords without constraints. */
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

function typesOf(schema: UntypedObject): string[] {
  const { type } = schema;
  if (typeof type === "string") return [type];
  const types = asList(type).filter((each) => typeof each === "string");
  if (types.length > 0) return types;
  if (schema["properties"] !== undefined || schema["required"] !== undefined) return ["object"];
  if (schema["items"] !== undefined || schema["prefixItems"] !== undefined) return ["array"];
  if (schema["minLength"] !== undefined || schema["maxLength"] !== undefined) return ["string"];
  return ["any"];
}

/** The value at a pointer. A dangling pointer, and any other reference, returns `undefined`, which allows any value. */
function atPointer(root: unknown, pointer: string): unknown {
  if (pointer === "#") return root;
  if (!pointer.startsWith("#/")) return undefined;
  return decodePointer(pointer)
    .slice(2)
    .split("/")
    .reduce<unknown>((node, token) => {
      const key = token.replaceAll("~1", "/").replaceAll("~0", "~");
      if (typeof node !== "object" || node === null || !Object.hasOwn(node, key)) return undefined;
      return Reflect.get(node, key);
    }, root);
}

function decodePointer(pointer: string): string {
  try {
    return decodeURIComponent(pointer);
  } catch {
    return pointer;
  }
}

function asCount(value: unknown): number | undefined {
  return typeof value === "number" ? Math.floor(value) : undefined;
}
