/**
 * Compiles the schemas that a reply must satisfy before the engine is called: a schema that cannot be checked is answered
 * with 400 and the reason. Schemas that are only shown to the model are not compiled.
 */
import type { Json } from "../../harmony/json.ts";
import {
  CompileBudget,
  compileSchema,
  type SchemaChecker,
  SchemaError,
} from "../../json-schema/index.ts";
import { refusal } from "../errors.ts";

/**
 * @param schema The schema with its key order kept. It is the cache key of compiled schemas.
 * @param plain The same schema from `JSON.parse`.
 * @param param The schema's field, for the error.
 * @param budget Shared by several schemas of one request.
 */
export function compileEnforced(
  schema: Json,
  plain: unknown,
  param: string,
  budget = new CompileBudget(),
): SchemaChecker {
  const key = typeof schema === "object" && schema !== null ? schema : undefined;
  const known = key && compiled.get(key);
  if (known) return known;
  try {
    const checker = compileSchema(plain, budget);
    if (key) compiled.set(key, checker);
    return checker;
  } catch (error) {
    if (!(error instanceof SchemaError)) throw error;
    const problem = "the schema cannot be enforced";
    throw refusal(param, `${problem}: ${error.message}`, { reason: `${param}: ${problem}` });
  }
}

/** Clients send the same tools with every turn, and `readOrdered` then gives the same value. */
const compiled = new WeakMap<object, SchemaChecker>();
