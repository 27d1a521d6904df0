/** Reads `response_format`: for the developer message, and as a constraint on the answer. */
import type { ResponseFormat } from "../../harmony/conversation.ts";
import type { AnswerFormat } from "../../turn/turn.ts";
import { compileEnforced } from "../request/enforced-schemas.ts";
import { jsonAt, readOrdered, type RequestText } from "../request/ordered-json.ts";
import type { ChatRequest } from "./request.ts";

export function toResponseFormat(
  request: ChatRequest,
  { bodyText, tenant }: RequestText,
): ResponseFormat | undefined {
  const format = request.response_format;
  if (format?.type !== "json_schema") return undefined;
  const { name, description, schema } = format.json_schema;
  return {
    name,
    schema:
      (schema &&
        jsonAt(readOrdered(bodyText, "response_format", format, tenant), [
          "json_schema",
          "schema",
        ])) ??
      new Map(),
    ...(description && { description }),
  };
}

export function toAnswerFormat(
  request: ChatRequest,
  format: ResponseFormat | undefined,
): AnswerFormat {
  if (format !== undefined) {
    const { name, schema } = format;
    const requested = request.response_format;
    const plain = requested?.type === "json_schema" ? requested.json_schema.schema : undefined;
    const param = "response_format.json_schema.schema";
    return {
      type: "json-schema",
      name,
      schema,
      checker: compileEnforced(schema, plain ?? {}, param),
    };
  }
  return { type: request.response_format?.type === "json_object" ? "json-object" : "text" };
}
