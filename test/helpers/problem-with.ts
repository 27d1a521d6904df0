/** Validates a document with another validator than the gateway's own. */
import { Validator } from "@cfworker/json-schema";
import { type Json, toCompactJson } from "../../src/harmony/index.ts";

/** Undefined if `text` is a document that satisfies the schema. Without a schema, any JSON object is valid. */
export function problemWith(text: string, schema: Json | undefined): string | undefined {
  const demanded = schema === undefined ? { type: "object" } : JSON.parse(toCompactJson(schema));
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return String(error);
  }
  const { valid, errors } = new Validator(demanded, "2020-12", false).validate(value);
  return valid ? undefined : errors.map((each) => each.error).join(" ");
}
