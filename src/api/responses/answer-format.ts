/** Reads `text.format`: for the developer message, and as a constraint on the answer. */
import type { ResponseFormat } from "../../harmony/conversation.ts";
import type { AnswerFormat } from "../../turn/turn.ts";
import { compileEnforced } from "../request/enforced-schemas.ts";
import { jsonAt, readOrdered, type RequestText } from "../request/ordered-json.ts";
import type { PromptRequest } from "./request.ts";

export function toResponseFormat(
  request: PromptRequest,
  { bodyText, tenant }: RequestText,
): ResponseFormat | undefined {
  const format = request.text?.format;
  if (format?.type !== "json_schema") return undefined;
  const schema = jsonAt(readOrdered(bodyText, "text", request.text, tenant), ["format", "schema"]);
  return {
    name: format.name,
    schema: schema ?? new Map(),
    ...(format.description && { description: format.description }),
  };
}

export function toAnswerFormat(
  request: PromptRequest,
  format: ResponseFormat | undefined,
): AnswerFormat {
  if (format !== undefined) {
    const { name, schema } = format;
    const requested = request.text?.format;
    const plain = requested?.type === "json_schema" ? requested.schema : undefined;
    const checker = compileEnforced(schema, plain ?? {}, "text.format.schema");
    return { type: "json-schema", name, schema, checker };
  }
  return { type: request.text?.format?.type === "json_object" ? "json-object" : "text" };
}
