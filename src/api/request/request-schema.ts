/**
 * The schema of a request's body. The schema of each field is made when a request first has it: most requests have few
 * of the many fields, and making all would be a tenth of the cost of a Worker's first answer.
 */
import * as z from "zod";
import { isObject } from "../../engines/untyped-json.ts";
import { lazy } from "../../lazy.ts";
import type { Parsed, Parser, ParserOptions } from "./parse-request.ts";

/** Factories of the schemas of fields. */
type Fields = Readonly<Record<string, () => z.ZodType>>;

/** The values of fields. */
export type FieldsOf<F extends Fields> = z.output<Whole<F>>;

type Whole<F extends Fields> = z.ZodObject<{ -readonly [Name in keyof F]: ReturnType<F[Name]> }>;

export type RequestOf<S> = S extends RequestSchema<infer F> ? z.output<Whole<F>> : never;

/** A parser of bodies that are objects. */
export interface RequestParser<T> extends Parser<T> {
  /** The names of members that the parser does not read. */
  unreadMembers(body: object): readonly string[];
}

export class RequestSchema<F extends Fields> implements RequestParser<z.output<Whole<F>>> {
  /** All fields, as one schema. */
  readonly whole: () => Whole<F>;
  readonly #fields: readonly Field[];
  readonly #names: ReadonlySet<string>;

  /** @param required the fields that a request must have. */
  constructor(fields: F, required: readonly (keyof F)[]) {
    this.#fields = Object.entries(fields).map(([name, make]) => {
      return { name, schema: lazy(make), isRequired: required.includes(name) };
    });
    this.#names = new Set(Object.keys(fields));
    this.whole = lazy(() => toObject<F>(this.#fields));
  }

  unreadMembers(body: object): readonly string[] {
    return Object.keys(body).filter((name) => !this.#names.has(name));
  }

  /** Like parsing with the whole schema, but stops at the first field with an issue. */
  safeParse(value: unknown, options: ParserOptions): Parsed<z.output<Whole<F>>>;
  safeParse(value: unknown, options: ParserOptions): Parsed<unknown> {
    if (!isObject(value)) return this.whole().safeParse(value, options);
    const read: Record<string, unknown> = {};
    for (const { name, schema, isRequired } of this.#fields) {
      if (!isRequired && !(name in value)) continue;
      const result = schema().safeParse(value[name], options);
      if (!result.success) {
        const issues = result.error.issues.map((each) => ({ ...each, path: [name, ...each.path] }));
        return { success: false, error: { issues } };
      }
      read[name] = result.data;
    }
    return { success: true, data: read };
  }
}

interface Field {
  readonly name: string;
  readonly schema: () => z.ZodType;
  readonly isRequired: boolean;
}

function toObject<F extends Fields>(fields: readonly Field[]): Whole<F>;
function toObject(fields: readonly Field[]): z.ZodObject {
  return z.object(Object.fromEntries(fields.map(({ name, schema }) => [name, schema()])));
}
