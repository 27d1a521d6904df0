/** Checks responses against the OpenAPI document, in which every member of a response must be described. */
import * as z from "zod";
import { compileSchema } from "../../src/json-schema/index.ts";
import { appOf } from "./app.ts";
import { testSettings } from "./gateway.ts";
import { readEvents } from "./replies.ts";

const record = z.record(z.string(), z.unknown());
const reference = z.looseObject({ $ref: z.string().optional() });
const content = z.record(z.string(), z.looseObject({ schema: reference }));
const describedOperation = z.looseObject({
  security: z.array(record).optional(),
  requestBody: z.looseObject({ content }).optional(),
  responses: z.record(z.string(), z.looseObject({ content })),
});
const openApi = z.looseObject({
  paths: z.record(z.string(), z.record(z.string(), describedOperation)),
  components: z.looseObject({ schemas: z.record(z.string(), record) }),
});

const served = await appOf(testSettings(), [], {}).request("/openapi.json");
/** The OpenAPI document that the application serves. */
export const OPENAPI = openApi.parse(await served.json());

/** The operations of the document. */
export const OPERATIONS = Object.entries(OPENAPI.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, { security, requestBody, responses }]) => ({
    /** `post /v1/messages` */
    name: `${method} ${path}`,
    method,
    path,
    /** Whether no key is required. */
    isOpen: security?.length === 0,
    /** The name of the body's schema. */
    body: /\w+$/.exec(requestBody?.content["application/json"]?.schema.$ref ?? "")?.[0],
    hasEvents: responses["200"]?.content["text/event-stream"] !== undefined,
  })),
);

/** A response: its operation, such as `post /v1/messages`, status and media type. */
export interface Answer {
  readonly operation: string;
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

/** Reads a response. Its media type is without parameters. */
export async function toAnswer(operation: string, response: Response): Promise<Answer> {
  const type = response.headers.get("content-type")?.split(";")[0] ?? "";
  return { operation, status: response.status, type, body: await response.text() };
}

/** The problems of a response; empty if there are none. */
export async function problemsWith(answer: Answer): Promise<string[]> {
  const schema = schemaFor(answer);
  if (schema === undefined) return [`no schema for ${answer.status} ${answer.type}`];
  if (answer.type.startsWith("text/") && answer.type !== "text/event-stream") return [];
  const checker = compileSchema({ ...schema, $defs: definitions });
  const values = answer.type === "text/event-stream" ? toEvents(answer.body) : [answer.body];
  const problems: string[] = [];
  for (const text of values) {
    const verdict = await checker.check(JSON.parse(text), { pause: () => Promise.resolve() });
    if (!verdict.valid) problems.push(`${JSON.stringify(verdict)} in ${text}`);
  }
  return problems;
}

/** The data of each event, without the end of a stream. */
export function toEvents(body: string): string[] {
  return readEvents(body).filter((data) => data !== "[DONE]");
}

function schemaFor({ operation, status, type }: Answer) {
  const [method = "", path = ""] = operation.split(" ");
  const responses = OPENAPI.paths[path]?.[method]?.responses;
  const response = responses?.[status] ?? responses?.["default"];
  const schema = response?.content[type]?.schema;
  return schema && record.parse(strict(schema));
}

const definitions = strict(OPENAPI.components.schemas);

/**
 * Makes a schema strict: objects with named members allow no others. References point to the definitions beside a
 * schema.
 */
function strict(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((each) => strict(each));
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).map(([name, member]) => [
    name,
    name === "$ref" ? String(member).replace("#/components/schemas/", "#/$defs/") : strict(member),
  ]);
  const made = record.parse(Object.fromEntries(members));
  const isClosed =
    made["type"] === "object" && "properties" in made && !("additionalProperties" in made);
  return isClosed ? { ...made, additionalProperties: false } : made;
}
