/** The keywords of one schema, each read with the type it must have. */
import { TYPE_NAMES, type TypeName } from "./node.ts";
import { objectOf, type SchemaPlace } from "./resources.ts";
import { pointerTo, SchemaError } from "./schema-error.ts";

export class Keywords {
  readonly #members: Readonly<Record<string, unknown>>;
  readonly #place: SchemaPlace;

  constructor(place: SchemaPlace) {
    this.#members = objectOf(place.schema) ?? {};
    this.#place = place;
  }

  names(): readonly string[] {
    return Object.keys(this.#members);
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

  place(schema: unknown, pointer: string): SchemaPlace {
    return { schema, pointer, base: this.#place.base };
  }

  text(keyword: string): string {
    const value = this.#members[keyword];
    return typeof value === "string" ? value : this.refuse(keyword, "must be a string");
  }

  number(keyword: string): number {
    const value = this.#members[keyword];
    return typeof value === "number" ? value : this.refuse(keyword, "must be a number");
  }

  positive(keyword: string): number {
    const value = this.number(keyword);
    return value > 0 ? value : this.refuse(keyword, "must be greater than 0");
  }

  count(keyword: string): number {
    const value = this.number(keyword);
    if (Number.isInteger(value) && value >= 0) return value;
    return this.refuse(keyword, "must be an integer that is not negative");
  }

  flag(keyword: string): boolean {
    const value = this.#members[keyword];
    return typeof value === "boolean" ? value : this.refuse(keyword, "must be true or false");
  }

  list(keyword: string): readonly unknown[] {
    const value = this.#members[keyword];
    return Array.isArray(value) ? value : this.refuse(keyword, "must be an array");
  }

  object(keyword: string): Readonly<Record<string, unknown>> {
    return objectOf(this.#members[keyword]) ?? this.refuse(keyword, "must be an object");
  }

  strings(keyword: string): readonly string[] {
    return stringsIn(this.list(keyword), this.at(keyword));
  }

  stringsByKey(keyword: string): ReadonlyMap<string, readonly string[]> {
    return new Map(
      Object.entries(this.object(keyword)).map(([key, value]) => {
        const at = pointerTo(this.at(keyword), key);
        if (!Array.isArray(value)) throw new SchemaError(at, "must be an array of strings");
        return [key, stringsIn(value, at)];
      }),
    );
  }

  types(): readonly TypeName[] {
    const value = this.#members["type"];
    const names: readonly unknown[] = Array.isArray(value) ? value : [value];
    if (names.length === 0) this.refuse("type", "must name at least one type");
    return names.map((name) => {
      const type = TYPE_NAMES.find((each) => each === name);
      return type ?? this.refuse("type", `must be one or several of ${TYPE_NAMES.join(", ")}`);
    });
  }

  schema(keyword: string): SchemaPlace {
    return this.place(this.#members[keyword], this.at(keyword));
  }

  schemas(keyword: string): readonly SchemaPlace[] {
    const list = this.list(keyword);
    // An empty `anyOf` or `oneOf` can never be satisfied; an empty `allOf` always is.
    if (list.length === 0 && (keyword === "anyOf" || keyword === "oneOf")) {
      this.refuse(keyword, "must not be empty");
    }
    const at = this.at(keyword);
    return list.map((each, index) => this.place(each, `${at}/${index}`));
  }

  schemasByKey(keyword: string): readonly (readonly [string, SchemaPlace])[] {
    const at = this.at(keyword);
    return Object.entries(this.object(keyword)).map(([key, each]) => [
      key,
      this.place(each, pointerTo(at, key)),
    ]);
  }
}

export function stringsIn(list: readonly unknown[], at: string): readonly string[] {
  return list.map((name, index) => {
    if (typeof name === "string") return name;
    throw new SchemaError(`${at}/${index}`, "must be a string");
  });
}
