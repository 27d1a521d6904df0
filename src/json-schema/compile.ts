/**
 * Compiles JSON Schema, draft 2020-12, to a graph. Checking against the graph cannot fail.
 *
 * All errors in a schema are reported here, before any value is checked: keywords of the wrong type,
 * references that are unresolved or circular, patterns that cannot be matched in linear time, and schemas
 * that are small to write and enormous to apply.
 */
import type { CompileBudget } from "./compile-budget.ts";
import { findFormat } from "./formats.ts";
import { Keywords, stringsIn } from "./keywords.ts";
import { isSimple, nodesInPlace, type SchemaNode } from "./node.ts";
import { type SchemaPlace, Resources } from "./resources.ts";
import { pointerTo, SchemaError } from "./schema-error.ts";
import { toCanonicalForm } from "./canonical.ts";
import { TooMuchWork } from "./work.ts";

export interface SchemaGraph {
  readonly root: SchemaNode;
  /** `unevaluatedProperties` or `unevaluatedItems` occurs, so evaluated members must be tracked. */
  readonly tracksEvaluated: boolean;
}

// These limits are well above realistic schemas, and low enough not to block other requests.
const MAX_IN_PLACE_DEPTH = 64;
const MAX_IN_PLACE_SIZE = 5000;

/** @param schema the result of `JSON.parse`. Throws a {@link SchemaError}. */
export function compileGraph(schema: unknown, budget: CompileBudget): SchemaGraph {
  const compiler = new Compiler(new Resources(schema, budget), budget);
  const root = compiler.compileRoot();
  compiler.refuseLoops();
  return { root, tracksEvaluated: compiler.tracksEvaluated };
}

class Compiler {
  readonly #resources: Resources;
  readonly #budget: CompileBudget;
  /** Nodes by schema object, so that recursive schemas refer to their own node. */
  readonly #nodes = new Map<object, SchemaNode>();
  /** Schemas still to be compiled. A queue instead of recursion, because references form long chains. */
  readonly #pending: { readonly place: SchemaPlace; readonly node: SchemaNode }[] = [];
  readonly #pointers = new Map<SchemaNode, string>();
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

  /** Follows schemas applied in place, which must terminate within a limit. */
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

  #nodeAt(place: SchemaPlace): SchemaNode {
    const { schema, pointer } = place;
    if (typeof schema === "boolean") return { always: schema, shared: false, isSimple: true };
    if (typeof schema !== "object" || schema === null || Array.isArray(schema)) {
      throw new SchemaError(pointer, "must be a schema: an object, true or false");
    }
    const known = this.#nodes.get(schema);
    if (known) {
      known.shared = true;
      return known;
    }
    const node: SchemaNode = { always: undefined, shared: false, isSimple: false };
    this.#nodes.set(schema, node);
    this.#pointers.set(node, pointer);
    this.#pending.push({ place, node });
    return node;
  }

  #fill(node: SchemaNode, { schema, pointer, base }: SchemaPlace): void {
    const place = this.#resources.locate(schema, pointer, base);
    const given = new Keywords(place);
    for (const keyword of given.names()) this.#fillKeyword(node, keyword, given);
    this.#fillTuple(node, given);
    this.#fillDependencies(node, given);
    this.#fillReferences(node, given, place);
    const allowed = this.#allowed(given);
    if (allowed) node.allowed = allowed;
    node.isSimple = isSimple(node);
    this.tracksEvaluated ||=
      node.unevaluatedProperties !== undefined || node.unevaluatedItems !== undefined;
  }

  /** Keywords not listed are annotations or unknown, and have no effect. */
  #fillKeyword(node: SchemaNode, keyword: string, given: Keywords): void {
    switch (keyword) {
      case "type":
        node.types = given.types();
        break;
      case "minimum":
      case "maximum":
      case "exclusiveMinimum":
      case "exclusiveMaximum":
        node[keyword] = given.number(keyword);
        break;
      case "multipleOf":
        node.multipleOf = given.positive(keyword);
        break;
      case "minLength":
      case "maxLength":
      case "minItems":
      case "maxItems":
      case "minContains":
      case "maxContains":
      case "minProperties":
      case "maxProperties":
        node[keyword] = given.count(keyword);
        break;
      case "uniqueItems":
        node.uniqueItems = given.flag(keyword);
        break;
      case "pattern":
        node.pattern = this.#budget.compilePattern(given.text(keyword), given.at(keyword));
        break;
      case "format": {
        const format = findFormat(given.text(keyword));
        if (format) node.format = format;
        break;
      }
      case "required":
        node.required = given.strings(keyword);
        break;
      case "dependentRequired":
        node.dependentRequired = given.stringsByKey(keyword);
        break;
      case "allOf":
      case "anyOf":
      case "oneOf":
      case "prefixItems":
        node[keyword] = given.schemas(keyword).map((each) => this.#nodeAt(each));
        break;
      case "not":
      case "additionalProperties":
      case "propertyNames":
      case "contains":
      case "unevaluatedProperties":
      case "unevaluatedItems":
        node[keyword] = this.#nodeAt(given.schema(keyword));
        break;
      case "if":
        node.condition = this.#nodeAt(given.schema(keyword));
        break;
      case "then":
        node.whenMet = this.#nodeAt(given.schema(keyword));
        break;
      case "else":
        node.otherwise = this.#nodeAt(given.schema(keyword));
        break;
      case "properties":
      case "dependentSchemas":
        node[keyword] = new Map(
          given.schemasByKey(keyword).map(([key, each]) => [key, this.#nodeAt(each)]),
        );
        break;
      case "patternProperties":
        node.patternProperties = given.schemasByKey(keyword).map(([source, each]) => ({
          pattern: this.#budget.compilePattern(source, each.pointer),
          node: this.#nodeAt(each),
        }));
        break;
      default:
    }
  }

  /** Before draft 2020-12 a tuple was a list in `items`, and `additionalItems` applied to the rest. */
  #fillTuple(node: SchemaNode, given: Keywords): void {
    if (!given.has("items")) return;
    if (!Array.isArray(given.value("items"))) {
      node.items = this.#nodeAt(given.schema("items"));
      return;
    }
    node.prefixItems = given.schemas("items").map((each) => this.#nodeAt(each));
    if (given.has("additionalItems")) node.items = this.#nodeAt(given.schema("additionalItems"));
  }

  /** Draft 2019-09 split this keyword into `dependentRequired` and `dependentSchemas`. */
  #fillDependencies(node: SchemaNode, given: Keywords): void {
    if (!given.has("dependencies")) return;
    const required = new Map(node.dependentRequired);
    const schemas = new Map(node.dependentSchemas);
    for (const [key, value] of Object.entries(given.object("dependencies"))) {
      const at = pointerTo(given.at("dependencies"), key);
      if (Array.isArray(value)) required.set(key, stringsIn(value, at));
      else schemas.set(key, this.#nodeAt(given.place(value, at)));
    }
    node.dependentRequired = required;
    node.dependentSchemas = schemas;
  }

  #fillReferences(node: SchemaNode, given: Keywords, place: SchemaPlace): void {
    if (given.has("$recursiveRef")) given.refuse("$recursiveRef", "is not supported: use $ref");
    for (const keyword of ["$ref", "$dynamicRef"] as const) {
      if (!given.has(keyword)) continue;
      const target = this.#nodeAt(this.#resources.resolve(place, keyword));
      if (node.reference) node.allOf = [...(node.allOf ?? []), target];
      else node.reference = target;
    }
  }

  #allowed(given: Keywords): SchemaNode["allowed"] {
    const keyword = given.has("enum") ? "enum" : "const";
    if (!given.has(keyword)) return undefined;
    const values = keyword === "enum" ? given.list(keyword) : [given.value(keyword)];
    const at = given.at(keyword);
    const forms = new Set(values.map((value) => this.#canonical(value, at)));
    const shown = values
      .slice(0, 20)
      .map((value) => shorten(JSON.stringify(value), 100))
      .join(", ");
    const both = keyword === "enum" && given.has("const");
    return {
      keyword,
      forms: both
        ? forms.intersection(new Set([this.#canonical(given.value("const"), given.at("const"))]))
        : forms,
      shown: shorten(values.length > 20 ? `${shown}, …` : shown, 1000),
    };
  }

  #canonical(value: unknown, at: string): string {
    try {
      const form = toCanonicalForm(value, this.#budget.literals).next();
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

function shorten(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}
