/**
 * Resolves `$ref`: finds schemas by `$id`, `$anchor` and JSON pointer.
 *
 * Nothing is fetched. A reference outside the document is an error, as is a repeated `$id` or `$anchor`.
 */
import type { CompileBudget } from "./compile-budget.ts";
import { pointerTo, quote, SchemaError } from "./schema-error.ts";

/** A location in the document that is used as a schema. */
export interface SchemaPlace {
  readonly schema: unknown;
  readonly pointer: string;
  /** The base URI for relative references. */
  readonly base: string;
}

/** Keywords whose value is a schema, a list of schemas, or a map of schemas. */
const SCHEMA_KEYWORDS: ReadonlySet<string> = new Set([
  "additionalItems",
  "additionalProperties",
  "contains",
  "contentSchema",
  "else",
  "if",
  "items",
  "not",
  "propertyNames",
  "then",
  "unevaluatedItems",
  "unevaluatedProperties",
]);
const LIST_KEYWORDS: ReadonlySet<string> = new Set([
  "allOf",
  "anyOf",
  "items",
  "oneOf",
  "prefixItems",
]);
const MAP_KEYWORDS: ReadonlySet<string> = new Set([
  "$defs",
  "definitions",
  "dependencies",
  "dependentSchemas",
  "patternProperties",
  "properties",
]);

/** The base URI of a schema without `$id`. Not a fetchable URL. */
const NO_BASE = "schema:/";
/** The character set of anchors, which distinguishes them from pointers. */
const ANCHOR = /^[A-Za-z_][-A-Za-z0-9._]*$/;

export class Resources {
  readonly #byUri = new Map<string, SchemaPlace>();
  readonly #dynamic = new Map<string, number>();
  readonly #places = new Map<object, SchemaPlace>();
  readonly #budget: CompileBudget;
  readonly root: SchemaPlace;

  constructor(schema: unknown, budget: CompileBudget) {
    this.#budget = budget;
    this.root = { schema, pointer: "", base: identify(schema, NO_BASE, "") };
    this.#byUri.set(NO_BASE, this.root);
    this.#walk(schema, "", NO_BASE);
  }

  /** Resolves a `$ref` or `$dynamicRef` in `from`. Throws a {@link SchemaError}. */
  resolve(from: SchemaPlace, keyword: "$ref" | "$dynamicRef"): SchemaPlace {
    const at = pointerTo(from.pointer, keyword);
    const reference = objectOf(from.schema)?.[keyword];
    if (typeof reference !== "string") throw new SchemaError(at, "must be a string");
    const uri = toUri(reference, from.base);
    if (uri === undefined) throw new SchemaError(at, `${quote(reference)} is not a URI reference`);
    const [resource = "", fragment = ""] = split(uri);
    if (keyword === "$dynamicRef" && (this.#dynamic.get(fragment) ?? 0) > 1) {
      throw new SchemaError(
        at,
        `${quote(reference)} has several targets, which is not supported: use $ref`,
      );
    }
    const place = this.#byUri.get(resource);
    if (!place) {
      throw new SchemaError(
        at,
        `${quote(reference)} is not in this schema, and references are not fetched: put its target into $defs`,
      );
    }
    const target = fragment.startsWith("/")
      ? followPointer(place, fragment)
      : fragment === ""
        ? place
        : this.#byUri.get(`${resource}#${fragment}`);
    if (!target) throw new SchemaError(at, `${quote(reference)} leads nowhere`);
    return target;
  }

  /** A subschema, with the base URI that its own `$id` may set. */
  locate(schema: unknown, pointer: string, base: string): SchemaPlace {
    const members = objectOf(schema);
    const known = members && this.#places.get(members);
    return known ?? { schema, pointer, base: identify(schema, base, pointer) };
  }

  #walk(schema: unknown, pointer: string, base: string): void {
    this.#budget.spend(1, "subschemas", pointer);
    const members = objectOf(schema);
    if (!members) return;
    const inner = identify(schema, base, pointer);
    const place: SchemaPlace = { schema, pointer, base: inner };
    this.#places.set(members, place);
    if (members["$id"] !== undefined) this.#register(inner, place, pointerTo(pointer, "$id"));
    for (const keyword of ["$anchor", "$dynamicAnchor"]) {
      const name = members[keyword];
      if (name === undefined) continue;
      const at = pointerTo(pointer, keyword);
      if (typeof name !== "string" || !ANCHOR.test(name)) {
        throw new SchemaError(at, "must be a name of letters, digits, '-', '_' and '.'");
      }
      this.#register(`${inner}#${name}`, place, at);
      if (keyword === "$dynamicAnchor") {
        this.#dynamic.set(name, (this.#dynamic.get(name) ?? 0) + 1);
      }
    }
    for (const [keyword, value] of Object.entries(members)) {
      const at = pointerTo(pointer, keyword);
      if (LIST_KEYWORDS.has(keyword) && Array.isArray(value)) {
        for (const [index, each] of value.entries()) this.#walk(each, `${at}/${index}`, inner);
      } else if (MAP_KEYWORDS.has(keyword)) {
        for (const [key, each] of Object.entries(objectOf(value) ?? {})) {
          this.#walk(each, pointerTo(at, key), inner);
        }
      } else if (SCHEMA_KEYWORDS.has(keyword)) {
        this.#walk(value, at, inner);
      }
    }
  }

  #register(uri: string, place: SchemaPlace, at: string): void {
    const known = this.#byUri.get(uri);
    if (known && known.schema !== place.schema) {
      throw new SchemaError(at, "names two different schemas");
    }
    this.#byUri.set(uri, place);
  }
}

export function objectOf(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return isObject(value) ? value : undefined;
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The base URI inside a schema: its `$id`, or the enclosing one. */
function identify(schema: unknown, base: string, pointer: string): string {
  const members = objectOf(schema);
  const id = members?.["$id"];
  if (id === undefined) return base;
  const at = pointerTo(pointer, "$id");
  if (typeof id !== "string") throw new SchemaError(at, "must be a string");
  const uri = toUri(id, base);
  if (uri === undefined) throw new SchemaError(at, `${quote(id)} is not a URI reference`);
  const [resource = "", fragment = ""] = split(uri);
  if (fragment !== "") throw new SchemaError(at, "must have no fragment: use $anchor");
  return resource;
}

function toUri(reference: string, base: string): string | undefined {
  return URL.parse(reference, base)?.href;
}

/** Splits a URI from its decoded fragment. */
function split(uri: string): readonly string[] {
  const hash = uri.indexOf("#");
  if (hash < 0) return [uri, ""];
  const fragment = uri.slice(hash + 1);
  try {
    return [uri.slice(0, hash), decodeURIComponent(fragment)];
  } catch {
    return [uri.slice(0, hash), fragment];
  }
}

/** A pointer may lead to any existing value. */
function followPointer(
  { schema, pointer, base }: SchemaPlace,
  path: string,
): SchemaPlace | undefined {
  let place: SchemaPlace = { schema, pointer, base };
  for (const token of path.slice(1).split("/")) {
    const key = token.replaceAll("~1", "/").replaceAll("~0", "~");
    const value = place.schema;
    const container = Array.isArray(value) ? value : objectOf(value);
    if (!container || !Object.hasOwn(container, key)) return undefined;
    const next: unknown = Reflect.get(container, key);
    const at = pointerTo(place.pointer, key);
    // A map of properties may contain one called `$id`.
    const named = typeof objectOf(next)?.["$id"] === "string";
    place = {
      schema: next,
      pointer: at,
      base: named ? identify(next, place.base, at) : place.base,
    };
  }
  return place;
}
