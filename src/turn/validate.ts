/** Checks of what the model wrote against what the request demands of it. */
import { Validator } from "@cfworker/json-schema";
import { type Json, toCompactJson } from "../harmony/json.ts";

/**
 * Undefined when `text` is a document that satisfies the schema, else why not, in words the model
 * can act on. Without a schema, any JSON object will do.
 */
export function whyInvalid(text: string, schema: Json | undefined): string | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return `not valid JSON: ${error instanceof Error ? error.message : String(error)}`;
  }
  if (schema === undefined) {
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? undefined : "not a JSON object";
  }
  const { valid, errors } = compile(schema).validate(value);
  if (valid) return undefined;
  // The last error is the innermost: the others say that something below them is wrong.
  const error = errors.at(-1);
  return error ? `${error.instanceLocation}: ${error.error}` : "it does not satisfy the schema";
}

const compiled = new WeakMap<object, Validator>();

function compile(schema: Json): Validator {
  const key = typeof schema === "object" && schema !== null ? schema : undefined;
  const known = key && compiled.get(key);
  if (known) return known;
  // An interpreter, not a compiler: Workers forbid making code from text. False: all errors are found.
  const validator = new Validator(JSON.parse(toCompactJson(schema)), "2020-12", false);
  if (key) compiled.set(key, validator);
  return validator;
}
