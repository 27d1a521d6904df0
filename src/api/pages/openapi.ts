/** The OpenAPI document: every route, with the schemas of its requests and responses. */
import * as z from "zod";
import { lazy } from "../../lazy.ts";
import { codeSamples } from "./code-samples.ts";
import { partMeaning } from "./meanings/parts.ts";
import { meaningOf } from "./meanings/requests.ts";
import { ERRORS, type Operation, OPERATIONS, type LazySchema } from "./operations.ts";

export interface OpenApiDocument {
  readonly openapi: "3.1.0";
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly security: readonly object[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, object>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, object>>;
    readonly securitySchemes: Readonly<Record<string, object>>;
  };
}

/** Created on first use: it takes some milliseconds, which must not delay the start. */
export const openApiDocument: () => OpenApiDocument = lazy(() => ({
  openapi: "3.1.0",
  info: {
    title: "harmony-gateway",
    version: "1",
    description:
      "gpt-oss through the Chat Completions, Responses and Messages APIs. Bodies are checked by these schemas; fields " +
      "they do not name are ignored, and clients should ignore such fields of answers. All paths " +
      "below /v1 are also served below /api/v1, those of the Responses API below /open-responses/v1 too.",
  },
  // A gateway without keys accepts any key.
  security: [{ bearer: [] }, {}],
  paths: toPaths(),
  components: {
    schemas: toSchemas(),
    securitySchemes: {
      bearer: { type: "http", scheme: "bearer" },
      "x-api-key": { type: "apiKey", in: "header", name: "x-api-key" },
    },
  },
}));

/** Address in the code samples of a document, which require one. */
const LOCAL = "http://127.0.0.1:8787";

/** Adds the public address. Without one, servers are relative to the document, which is correct behind any proxy. */
export function withAddress(document: OpenApiDocument, address: string | undefined): object {
  const paths = Object.entries(document.paths).map(([path, methods]) => {
    const samples = codeSamples(path, address ?? LOCAL);
    const { post } = methods;
    if (samples.length === 0 || post === undefined) return [path, methods] as const;
    return [path, { ...methods, post: { ...post, "x-codeSamples": samples } }] as const;
  });
  return { ...document, servers: [{ url: address ?? "." }], paths: Object.fromEntries(paths) };
}

function toPaths(): OpenApiDocument["paths"] {
  const paths: Record<string, Record<string, object>> = {};
  for (const operation of OPERATIONS) {
    const path = (paths[operation.path] ??= {});
    path[operation.method] = toOperation(operation);
  }
  return paths;
}

function toOperation(operation: Operation): object {
  const { path, tag, summary, body, isOpen, alsoWith = [] } = operation;
  const parameters = Array.from(path.matchAll(/\{(\w+)\}/g), ([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));
  const success = {
    description: operation.events
      ? "Success. Of an answer in events, this is the data of each; the last of an OpenAI API is [DONE]."
      : "Success.",
    content: toContent(operation),
  };
  return {
    tags: [tag],
    summary,
    ...(isOpen === true && { security: [] }),
    ...(tag === "Messages" && { security: [{ "x-api-key": [] }, { bearer: [] }, {}] }),
    ...(parameters.length > 0 && { parameters }),
    ...(body && {
      requestBody: { required: true, content: { "application/json": { schema: toRef(body[0]) } } },
    }),
    responses: {
      "200": success,
      ...Object.fromEntries(
        alsoWith.map((status) => [String(status), { ...success, description: "The same." }]),
      ),
      ...(isOpen !== true && {
        default: {
          description: "An error, in the envelope of the API.",
          content: { "application/json": { schema: toReplySchema(ERRORS[tag]) } },
        },
      }),
    },
  };
}

function toContent({ json, events, text }: Operation): object {
  return {
    ...(json && { "application/json": { schema: toReplySchema(json) } }),
    ...(events && { "text/event-stream": { schema: toReplySchema(events) } }),
    ...(text && { [text]: { schema: { type: "string" } } }),
  };
}

function toSchemas(): Record<string, object> {
  const bodies = OPERATIONS.flatMap(({ body }) => (body === undefined ? [] : [body]));
  return {
    ...Object.fromEntries(bodies.map(([name, schema]) => [name, toJsonSchema(name, schema())])),
    ...replyParts(),
  };
}

const jsonObject = z.record(z.string(), z.unknown());

function toJsonSchema(name: string, schema: z.ZodType): object {
  const made = z.toJSONSchema(unwrap(schema), {
    io: "input",
    // Checks in code cannot be expressed in JSON Schema: the schema allows any value there.
    unrepresentable: "any",
    override: ({ jsonSchema }) => makeTypeOptional(jsonSchema),
  });
  // References are relative to the schema; in the document they must be relative to its root.
  const text = JSON.stringify({ ...made, $schema: undefined }).replaceAll(
    /"\$ref":"#(\/[^"]*)?"/g,
    (_, path: string | undefined) => JSON.stringify(toRef(name, path)).slice(1, -1),
  );
  const described = jsonObject.parse(JSON.parse(text));
  describeMembers(described, (field) => meaningOf(name, field)?.text);
  return described;
}

/** Describes the properties of an object and of the objects inside it. Descriptions that a schema already has stay. */
function describeMembers(
  schema: Record<string, unknown>,
  meaning: (field: string) => string | undefined,
): void {
  for (const [keyword, value] of Object.entries(schema)) {
    if (typeof value !== "object" || value === null) continue;
    if (keyword === "properties" && isMembers(value)) {
      for (const [field, member] of Object.entries(value)) {
        if (!isMembers(member)) continue;
        const text = meaning(field);
        if (text !== undefined) member["description"] ??= text;
        describeMembers(member, partMeaning);
      }
    } else if (Array.isArray(value)) {
      for (const each of value) if (isMembers(each)) describeMembers(each, partMeaning);
    } else if (isMembers(value)) {
      describeMembers(value, partMeaning);
    }
  }
}

function isMembers(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Messages and references may come without a type, which is added before they are checked (`responses/items.ts`). */
function makeTypeOptional(schema: z.core.JSONSchema.BaseSchema): void {
  const type = schema.properties?.["type"];
  const isImplied =
    typeof type === "object" && (type.const === "message" || type.const === "item_reference");
  if (isImplied) schema.required = schema.required?.filter((name) => name !== "type") ?? [];
}

function toRef(name: string, path = ""): { readonly $ref: string } {
  return { $ref: `#/components/schemas/${name}${path}` };
}

/** A lazy schema at the top would become a reference to itself. */
function unwrap(schema: z.ZodType): z.ZodType {
  return schema instanceof z.ZodLazy && schema.unwrap() instanceof z.ZodType
    ? unwrap(z.custom<z.ZodType>().parse(schema.unwrap()))
    : schema;
}

/** The schema of a response. A named schema is only a reference to {@link replyParts}. */
function toReplySchema(schema: LazySchema): object {
  return replies().schemas.get(schema) ?? {};
}

/** The named parts of responses, by name. */
function replyParts(): Readonly<Record<string, object>> {
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

/** Removes JavaScript's limits of integers. */
function removeRange(schema: z.core.JSONSchema.BaseSchema): void {
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
}
