/** Removes the content of a record by the marks of its schema. Structure, sizes, token counts and times remain. */
import * as z from "zod";
import { REDACTIONS, type TurnRecord, turnRecordSchema } from "./schema.ts";

/** Returns a record without content. A record that has none is returned unchanged. */
export function redactRecord(record: TurnRecord): TurnRecord {
  return record.content ? { ...redact(turnRecordSchema(), record), content: false } : record;
}

/** Redacts a value by its schema. Members without a place in the schema are left out, too. */
export function redact<T>(schema: z.core.$ZodType, value: T): T;
export function redact(schema: z.core.$ZodType, value: unknown): unknown {
  const without = redactorOf(schema);
  return without === undefined ? value : without(value);
}

type Redactor = (value: unknown) => unknown;

const known = new WeakMap<z.core.$ZodType, { readonly redactor: Redactor | undefined }>();

/** The redactor of a schema, created once: a long turn has a hundred thousand reads. Undefined: the schema holds no content. */
function redactorOf(schema: z.core.$ZodType): Redactor | undefined {
  const before = known.get(schema);
  if (before !== undefined) return before.redactor;
  const redactor = REDACTIONS.get(schema)?.redact ?? toRedactor(schema);
  known.set(schema, { redactor });
  return redactor;
}

function toRedactor(schema: z.core.$ZodType): Redactor | undefined {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) {
    const inner = redactorOf(schema.unwrap());
    return inner && ((value) => (value === null || value === undefined ? value : inner(value)));
  }
  if (schema instanceof z.ZodArray) {
    const inner = redactorOf(schema.element);
    return inner && ((value) => (Array.isArray(value) ? value.map((each) => inner(each)) : []));
  }
  if (schema instanceof z.ZodObject) return ofAlternatives([schema]);
  if (schema instanceof z.ZodUnion) {
    if (schema.options.every((each) => redactorOf(each) === undefined)) return undefined;
    return ofAlternatives(schema.options.filter((each) => each instanceof z.ZodObject));
  }
  if (schema instanceof z.ZodRecord && redactorOf(schema.valueType) === undefined) return undefined;
  if (PLAIN.some((Plain) => schema instanceof Plain)) return undefined;
  throw new Error("A record has a kind of schema that may hold content: say where in redact.ts.");
}

const PLAIN = [z.ZodString, z.ZodNumber, z.ZodBoolean, z.ZodLiteral, z.ZodEnum];

/** The redactor of a union. An object belongs to the first alternative that has all its members. */
function ofAlternatives(schemas: readonly z.ZodObject[]): Redactor | undefined {
  const alternatives = schemas.map(({ shape }) => {
    return new Map(Object.entries(shape).map(([name, member]) => [name, redactorOf(member)]));
  });
  if (alternatives.every((members) => [...members.values()].every((each) => !each)))
    return undefined;
  return (value) => {
    if (typeof value !== "object" || value === null) return undefined;
    const entries = Object.entries(value);
    const members =
      alternatives.length === 1
        ? alternatives[0]
        : alternatives.find((each) => entries.every(([name]) => each.has(name)));
    const kept: Record<string, unknown> = {};
    for (const [name, member] of entries) {
      if (members?.has(name)) kept[name] = (members.get(name) ?? unchanged)(member);
    }
    return kept;
  };
}

function unchanged(value: unknown): unknown {
  return value;
}
