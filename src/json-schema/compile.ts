/**
 * JSON Schema, draft 2020-12, to a graph that can be checked against without anything in it failing.
 *
 * Everything that could go wrong with a schema goes wrong here, once, before any value is seen: keywords of the
 * wrong type, references to nowhere or in circles, patterns that cannot be matched in linear time, and schemas
 * that are small to write and enormous to apply.
 */
import type { CompileBudget } from "./compile-budget.ts";
import { findFormat } from "./formats.ts";
import { nodesInPlace, type SchemaNode, TYPE_NAMES, type TypeName } from "./node.ts";
import { asObject, type Place, Resources } from "./resources.ts";
import { pointerTo, SchemaError } from "./schema-error.ts";
import { toCanonicalForm } from "./canonical.ts";
import { TooMuchWork, Work } from "./work.ts";

export interface SchemaGraph {
  readonly root: SchemaNode;
  /** `unevaluatedProperties` or `unevaluatedItems` occurs: which members were looked at must be known. */
  readonly tracksEvaluated: boolean;
}

// Far beyond what people and agents write; below what would hold up others.
const MAX_LITERAL_STEPS = 200_000;
const MAX_IN_PLACE_DEPTH = 64;
const MAX_IN_PLACE_SIZE = 5000;

/** @param schema As `JSON.parse` gives it. Throws a {@link SchemaError}. */
export function compileGraph(schema: unknown, budget: CompileBudget): SchemaGraph {
  const compiler = new Compiler(new Resources(schema, budget), budget);
  const root = compiler.compileRoot();
  compiler.refuseLoops();
  return { root, tracksEvaluated: compiler.tracksEvaluated };
}

class Compiler {
  readonly #resources: Resources;
  readonly #budget: CompileBudget;
  /** By the schema itself, so that a recursive one is found again. */
  readonly #nodes = new Map<object, SchemaNode>();
  /** Places still to be compiled: a queue rather than recursion, because references make long chains. */
  readonly #pending: { readonly place: Place; readonly node: SchemaNode }[] = [];
  readonly #pointers = new Map<SchemaNode, string>();
  readonly #literals = new Work(MAX_LITERAL_STEPS, Infinity);
  tracksEvaluated = false;

  constructor(resources: Resources, budget: CompileBudget) {
    this.#resources = resources;
    this.#budget = budget;
  }

  compileRoot(): SchemaNode {
    const root = this.#nodeAt(this.#resources.root);
    for (let next = this.#pending.pop(); next; next = this.#pending.pop()) {
      this.#fill(next.node, next.place);
    }
    return root;
  }

  /** Follow what is applied in place: it must come to an end, and soon. */
  refuseLoops(): void {
    const sizes = new Map<SchemaNode, { readonly size: number; readonly depth: number } | "open">();
    const measure = (node: SchemaNode, above: number): { size: number; depth: number } => {
      const known = sizes.get(node);
      const pointer = this.#pointers.get(node) ?? "";
      if (known === "open") {
        throw new SchemaError(pointer, "applies itself to the same value again, without end");
      }
      if (known) return known;
      if (above > MAX_IN_PLACE_DEPTH) throw tooDeep(pointer);
      sizes.set(node, "open");
      let size = 1;
      let depth = 0;
      for (const inner of nodesInPlace(node)) {
        const measured = measure(inner, above + 1);
        size += measured.size;
        depth = Math.max(depth, measured.depth + 1);
      }
      if (depth > MAX_IN_PLACE_DEPTH) throw tooDeep(pointer);
      if (size > MAX_IN_PLACE_SIZE) {
        throw new SchemaError(
          pointer,
          `applies more than ${MAX_IN_PLACE_SIZE} schemas to one value once its references are followed`,
        );
      }
      sizes.set(node, { size, depth });
      return { size, depth };
    };
    for (const node of this.#pointers.keys()) measure(node, 0);
  }

  #nodeAt(place: Place): SchemaNode {
    const { schema, pointer } = place;
    if (typeof schema === "boolean") return { always: schema, shared: false };
    if (typeof schema !== "object" || schema === null || Array.isArray(schema)) {
      throw new SchemaError(pointer, "must be a schema: an object, true or false");
    }
    const known = this.#nodes.get(schema);
    if (known) {
      known.shared = true;
      return known;
    }
    const node: SchemaNode = { always: undefined, shared: false };
    this.#nodes.set(schema, node);
    this.#pointers.set(node, pointer);
    this.#pending.push({ place, node });
    return node;
  }

  #fill(node: SchemaNode, { schema, pointer, base }: Place): void {
    const place = this.#resources.locate(schema, pointer, base);
    const keywords = new Keywords(place);
    this.#fillAssertions(node, keywords);
    this.#fillApplicators(node, keywords);
    this.#fillReference(node, keywords, place);
    for (const [key, value] of Object.entries(node)) {
      if (value === undefined) Reflect.deleteProperty(node, key);
    }
  }

  #fillReference(node: SchemaNode, keywords: Keywords, place: Place): void {
    if (keywords.has("$recursiveRef")) {
      keywords.refuse("$recursiveRef", "is not supported: use $ref");
    }
    const targets = (["$ref", "$dynamicRef"] as const)
      .filter((keyword) => keywords.has(keyword))
      .map((keyword) => this.#nodeAt(this.#resources.resolve(place, keyword)));
    const [target, other] = targets;
    if (target) node.reference = target;
    if (other) node.allOf = [...(node.allOf ?? []), other];
  }

  #fillAssertions(node: SchemaNode, keywords: Keywords): void {
    const types = keywords.types();
    const allowed = this.#allowed(keywords);
    const pattern = keywords.text("pattern");
    const format = keywords.text("format");
    Object.assign(node, {
      types,
      allowed,
      minimum: keywords.number("minimum"),
      maximum: keywords.number("maximum"),
      exclusiveMinimum: keywords.number("exclusiveMinimum"),
      exclusiveMaximum: keywords.number("exclusiveMaximum"),
      multipleOf: keywords.positive("multipleOf"),
      minLength: keywords.count("minLength"),
      maxLength: keywords.count("maxLength"),
      pattern:
        pattern === undefined
          ? undefined
          : this.#budget.compilePattern(pattern, keywords.at("pattern")),
      format: format === undefined ? undefined : findFormat(format),
      minItems: keywords.count("minItems"),
      maxItems: keywords.count("maxItems"),
      uniqueItems: keywords.flag("uniqueItems"),
      minProperties: keywords.count("minProperties"),
      maxProperties: keywords.count("maxProperties"),
      required: keywords.names("required"),
      dependentRequired: keywords.namesByKey("dependentRequired"),
    } satisfies Partial<Record<keyof SchemaNode, unknown>>);
  }

  #fillApplicators(node: SchemaNode, keywords: Keywords): void {
    const one = (keyword: string) => {
      const place = keywords.schema(keyword);
      return place && this.#nodeAt(place);
    };
    const list = (keyword: string) => keywords.schemas(keyword)?.map((each) => this.#nodeAt(each));
    const map = (keyword: string) => {
      const places = keywords.schemasByKey(keyword);
      return places && new Map(places.map(([key, each]) => [key, this.#nodeAt(each)]));
    };
    // Before draft 2020-12 a tuple was `items` with a list, and what follows it `additionalItems`.
    const isTuple = Array.isArray(keywords.value("items"));
    Object.assign(node, {
      allOf: list("allOf"),
      anyOf: list("anyOf"),
      oneOf: list("oneOf"),
      not: one("not"),
      condition: one("if"),
      whenMet: one("then"),
      otherwise: one("else"),
      dependentSchemas: map("dependentSchemas"),
      properties: map("properties"),
      patternProperties: keywords.schemasByKey("patternProperties")?.map(([source, each]) => ({
        pattern: this.#budget.compilePattern(source, each.pointer),
        node: this.#nodeAt(each),
      })),
      additionalProperties: one("additionalProperties"),
      propertyNames: one("propertyNames"),
      prefixItems: list(isTuple ? "items" : "prefixItems"),
      items: one(isTuple ? "additionalItems" : "items"),
      contains: one("contains"),
      minContains: keywords.count("minContains"),
      maxContains: keywords.count("maxContains"),
      unevaluatedProperties: one("unevaluatedProperties"),
      unevaluatedItems: one("unevaluatedItems"),
    } satisfies Partial<Record<keyof SchemaNode, unknown>>);
    this.#fillDependencies(node, keywords);
    this.tracksEvaluated ||=
      node.unevaluatedProperties !== undefined || node.unevaluatedItems !== undefined;
  }

  /** What draft 2019-09 split into `dependentRequired` and `dependentSchemas`. */
  #fillDependencies(node: SchemaNode, keywords: Keywords): void {
    if (!keywords.has("dependencies")) return;
    const required = new Map(node.dependentRequired);
    const schemas = new Map(node.dependentSchemas);
    for (const [key, value] of Object.entries(keywords.object("dependencies") ?? {})) {
      const at = pointerTo(keywords.at("dependencies"), key);
      if (Array.isArray(value)) required.set(key, namesIn(value, at));
      else schemas.set(key, this.#nodeAt(keywords.place(value, at)));
    }
    node.dependentRequired = required;
    node.dependentSchemas = schemas;
  }

  #allowed(keywords: Keywords): SchemaNode["allowed"] {
    const constant = keywords.has("const") ? [keywords.value("const")] : undefined;
    const values = keywords.list("enum");
    // Both are rare together: what satisfies the one must be among the other.
    const chosen = values ?? constant;
    if (!chosen) return undefined;
    const keyword = values ? "enum" : "const";
    const forms = new Set(chosen.map((value) => this.#canonical(value, keywords.at(keyword))));
    const other = values && constant && this.#canonical(constant[0], keywords.at("const"));
    const shown = chosen
      .slice(0, 20)
      .map((value) => shorten(JSON.stringify(value), 100))
      .join(", ");
    return {
      keyword,
      forms: other === undefined ? forms : forms.intersection(new Set([other])),
      shown: shorten(chosen.length > 20 ? `${shown}, …` : shown, 1000),
    };
  }

  #canonical(value: unknown, at: string): string {
    try {
      const form = toCanonicalForm(value, this.#literals).next();
      if (form.done) return form.value;
    } catch (error) {
      if (!(error instanceof TooMuchWork)) throw error;
    }
    throw new SchemaError(at, "together with the other const and enum values is too large");
  }
}

function tooDeep(pointer: string): SchemaError {
  return new SchemaError(
    pointer,
    `applies schemas inside one another to one value, more than ${MAX_IN_PLACE_DEPTH} deep`,
  );
}

/** The members of one schema, each read as what its keyword must be. */
class Keywords {
  readonly #members: Readonly<Record<string, unknown>>;
  readonly #place: Place;

  constructor(place: Place) {
    this.#members = asObject(place.schema) ?? {};
    this.#place = place;
  }

  has(keyword: string): boolean {
    return this.#members[keyword] !== undefined;
  }

  value(keyword: string): unknown {
    return this.#members[keyword];
  }

  at(keyword: string): string {
    return pointerTo(this.#place.pointer, keyword);
  }

  refuse(keyword: string, reason: string): never {
    throw new SchemaError(this.at(keyword), reason);
  }

  place(schema: unknown, pointer: string): Place {
    return { schema, pointer, base: this.#place.base };
  }

  text(keyword: string): string | undefined {
    const value = this.#members[keyword];
    if (value === undefined || typeof value === "string") return value;
    return this.refuse(keyword, "must be a string");
  }

  number(keyword: string): number | undefined {
    const value = this.#members[keyword];
    if (value === undefined || typeof value === "number") return value;
    return this.refuse(keyword, "must be a number");
  }

  positive(keyword: string): number | undefined {
    const value = this.number(keyword);
    if (value === undefined || value > 0) return value;
    return this.refuse(keyword, "must be greater than 0");
  }

  count(keyword: string): number | undefined {
    const value = this.number(keyword);
    if (value === undefined || (Number.isInteger(value) && value >= 0)) return value;
    return this.refuse(keyword, "must be an integer that is not negative");
  }

  flag(keyword: string): boolean | undefined {
    const value = this.#members[keyword];
    if (value === undefined || typeof value === "boolean") return value;
    return this.refuse(keyword, "must be true or false");
  }

  list(keyword: string): readonly unknown[] | undefined {
    const value = this.#members[keyword];
    if (value === undefined || Array.isArray(value)) return value;
    return this.refuse(keyword, "must be an array");
  }

  object(keyword: string): Readonly<Record<string, unknown>> | undefined {
    const value = this.#members[keyword];
    if (value === undefined) return undefined;
    return asObject(value) ?? this.refuse(keyword, "must be an object");
  }

  names(keyword: string): readonly string[] | undefined {
    const list = this.list(keyword);
    return list && namesIn(list, this.at(keyword));
  }

  namesByKey(keyword: string): ReadonlyMap<string, readonly string[]> | undefined {
    const members = this.object(keyword);
    if (!members) return undefined;
    return new Map(
      Object.entries(members).map(([key, value]) => {
        const at = pointerTo(this.at(keyword), key);
        if (!Array.isArray(value)) throw new SchemaError(at, "must be an array of strings");
        return [key, namesIn(value, at)];
      }),
    );
  }

  types(): readonly TypeName[] | undefined {
    const value = this.#members["type"];
    if (value === undefined) return undefined;
    const names: readonly unknown[] = Array.isArray(value) ? value : [value];
    if (names.length === 0) this.refuse("type", "must name at least one type");
    return names.map((name) => {
      const type = TYPE_NAMES.find((each) => each === name);
      return type ?? this.refuse("type", `must be one or several of ${TYPE_NAMES.join(", ")}`);
    });
  }

  schema(keyword: string): Place | undefined {
    const value = this.#members[keyword];
    return value === undefined ? undefined : this.place(value, this.at(keyword));
  }

  schemas(keyword: string): readonly Place[] | undefined {
    const list = this.list(keyword);
    // One of nothing can never be satisfied; all of nothing always is.
    if (list?.length === 0 && (keyword === "anyOf" || keyword === "oneOf")) {
      this.refuse(keyword, "must not be empty");
    }
    return list?.map((each, index) => this.place(each, `${this.at(keyword)}/${index}`));
  }

  schemasByKey(keyword: string): readonly (readonly [string, Place])[] | undefined {
    const members = this.object(keyword);
    return (
      members &&
      Object.entries(members).map(([key, each]) => [
        key,
        this.place(each, pointerTo(this.at(keyword), key)),
      ])
    );
  }
}

function namesIn(list: readonly unknown[], at: string): readonly string[] {
  return list.map((name, index) => {
    if (typeof name === "string") return name;
    throw new SchemaError(`${at}/${index}`, "must be a string");
  });
}

function shorten(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}
