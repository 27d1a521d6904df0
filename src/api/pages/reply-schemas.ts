/** The responses of all operations as JSON Schemas for the OpenAPI document, with shared named parts. */
import * as z from "zod";
import { lazy } from "../../lazy.ts";
import { ERRORS, type LazySchema, OPERATIONS } from "./operations.ts";

/** The schema of a response. A named schema is only a reference to {@link replyParts}. */
export function toReplySchema(schema: LazySchema): object {
  return replies().schemas.get(schema) ?? {};
}

/** The named parts, by name. */
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
  // A named schema that is a member of an object becomes a shared part too.
  const made = z.toJSONSchema(z.object({ reply: schema }), {
    io: "input",
    override: ({ jsonSchema }) => removeRange(jsonSchema),
  });
  const text = JSON.stringify(made).replaceAll('"#/$defs/', '"#/components/schemas/');
  const { properties, $defs } = madeSchema.parse(JSON.parse(text));
  return { reply: properties.reply, parts: $defs };
}

/** JavaScript's limits of integers are left out. */
function removeRange(schema: z.core.JSONSchema.BaseSchema): void {
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
}
