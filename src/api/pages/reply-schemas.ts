/** The answers of all operations as JSON Schemas for the OpenAPI document: their named parts are shared. */
import * as z from "zod";
import { lazy } from "../../lazy.ts";
import { ERRORS, type LazySchema, OPERATIONS } from "./operations.ts";

/** A schema of an answer. Of one with a name only the reference: {@link replyParts} has the rest. */
export function toReplySchema(schema: LazySchema): object {
  return replies().schemas.get(schema) ?? {};
}

/** The parts with a name, by their name. */
export function replyParts(): Readonly<Record<string, object>> {
  return replies().parts;
}

const replies = lazy(() => {
  const parts: Record<string, object> = {};
  const all = [
    ...OPERATIONS.flatMap(({ json, events }) => [json, events]),
    ...Object.values(ERRORS),
  ];
  const schemas = new Map<LazySchema, object>();
  for (const schema of new Set(all)) {
    if (schema === undefined) continue;
    const made = toJson(schema());
    schemas.set(schema, made.reply);
    Object.assign(parts, made.parts);
  }
  return { schemas, parts };
});

const members = z.record(z.string(), z.unknown());
const madeSchema = z.object({
  properties: z.object({ reply: members }),
  $defs: z.record(z.string(), members).default({}),
});

/** Further members of objects are left open: clients are expected to ignore them. */
function toJson(schema: z.ZodType) {
  // As a member of an object, a schema with a name becomes a part like others.
  const made = z.toJSONSchema(z.object({ reply: schema }), {
    io: "input",
    override: ({ jsonSchema }) => removeRange(jsonSchema),
  });
  const text = JSON.stringify(made).replaceAll('"#/$defs/', '"#/components/schemas/');
  const { properties, $defs } = madeSchema.parse(JSON.parse(text));
  return { reply: properties.reply, parts: $defs };
}

/** That a whole number is one that JavaScript can hold needs no saying. */
function removeRange(schema: z.core.JSONSchema.BaseSchema): void {
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
}
