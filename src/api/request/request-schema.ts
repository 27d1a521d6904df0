/**
 * The schema of a request's body. Its fields are made one by one, when a request has them: most requests have a few of the
 * many, and all of them are a tenth of what the first answer of a Worker costs.
 */
import * as z from "zod";
import { isObject } from "../../engines/untyped-json.ts";
import { lazy } from "../../lazy.ts";
import type { Parsed, Parser, ParserOptions } from "./parse-request.ts";

/** What makes the schema of each field. */
type Fields = Readonly<Record<string, () => z.ZodType>>;

/** The values of such fields. */
export type FieldsOf<F extends Fields> = z.output<Whole<F>>;

type Whole<F extends Fields> = z.ZodObject<{ -readonly [Name in keyof F]: ReturnType<F[Name]> }>;

export type RequestOf<S> = S extends RequestSchema<infer F> ? z.output<Whole<F>> : never;

export class RequestSchema<F extends Fields> implements Parser<z.output<Whole<F>>> {
  /** All fields, as one schema. */
  readonly whole: () => Whole<F>;
  readonly #fields: readonly Field[];

  /** @param required the fields that a request must have. */
  constructor(fields: F, required: readonly (keyof F)[]) {
    this.#fields = Object.entries(fields).map(([name, make]) => {
      return { name, schema: lazy(make), isRequired: required.includes(name) };
    });
    this.whole = lazy(() => toObject<F>(this.#fields));
  }

  /** The same as parsing with the whole schema, but ends with the first field that has an issue. */
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
