/** The answer's format in a request: for the developer message, and as a constraint. */
import type { ResponseFormat } from "../../harmony/conversation.ts";
import { fromPlainJson, type Json } from "../../harmony/json.ts";
import type { SchemaChecker } from "../../json-schema/index.ts";
import type { AnswerFormat } from "../../turn/turn.ts";
import { compileEnforced } from "../request/enforced-schemas.ts";
import { jsonAt, readOrdered, type RequestText } from "../request/ordered-json.ts";

export type RequestedFormat =
  | { readonly type: "text" | "json-object" }
  | {
      readonly type: "json-schema";
      readonly name: string;
      readonly description?: string | null | undefined;
      readonly schema: Json;
      /** Throws a {@link RequestError} for a schema that cannot be enforced. */
      readonly compile: () => SchemaChecker;
    };

/** The place of the format in a request. */
interface FormatPlace {
  /** A field of the request, and its value. Without a value, the schema from `JSON.parse` is used. */
  readonly member: string;
  readonly value: object | null | undefined;
  /** The path of the schema in the field. */
  readonly path: readonly string[];
}

interface SentFormat {
  readonly name: string;
  readonly description?: string | null | undefined;
  readonly schema?: object | null | undefined;
}

/** Throws a {@link RequestError} for text that only a lenient parser accepts. */
export function readFormat(
  { name, description, schema: plain }: SentFormat,
  { member, value, path }: FormatPlace,
  { bodyText, tenant }: RequestText,
): Extract<RequestedFormat, { type: "json-schema" }> {
  const ordered = plain ? jsonAt(readOrdered(bodyText, member, value, tenant), path) : undefined;
  const schema = ordered ?? (value == null && plain ? fromPlainJson(plain) : new Map());
  const compile = () => compileEnforced(schema, plain ?? {}, [member, ...path].join("."));
  return { type: "json-schema", name, description, schema, compile };
}

export function toShownFormat(format: RequestedFormat): {
  readonly responseFormat?: ResponseFormat;
} {
  if (format.type !== "json-schema") return {};
  const { name, description, schema } = format;
  return { responseFormat: { name, schema, ...(description && { description }) } };
}

export function toAnswerFormat(format: RequestedFormat): AnswerFormat {
  if (format.type !== "json-schema") return { type: format.type };
  const { name, schema, compile } = format;
  return { type: "json-schema", name, schema, checker: compile() };
}
