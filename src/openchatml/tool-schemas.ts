/** Checks the arguments of calls against the JSON Schemas of their tools, which the caller supplies. */
import { compileSchema, isObject, type SchemaChecker, SchemaError } from "../json-schema/index.ts";

/** JSON Schemas by recipient: `{"functions.get_weather": {…}}`. */
export type ToolSchemas = Readonly<Record<string, unknown>>;

/** Returns the problem of a call's arguments. Undefined: they are valid. */
export type ArgumentCheck = (recipient: string, args: string) => string | undefined;

/** Schemas are compiled at the first call of their tool. The check throws a `TypeError` for an invalid schema. */
export function createArgumentCheck(schemas: ToolSchemas): ArgumentCheck {
  const known = new Map(Object.entries(schemas));
  const checkers = new Map<string, SchemaChecker>();
  return (recipient, args) => {
    const schema = known.get(recipient);
    if (schema === undefined) return undefined;
    const checker = checkers.get(recipient) ?? compile(recipient, schema);
    checkers.set(recipient, checker);
    const value = tryParse(args);
    if (!isObject(value)) return "they are not a JSON object";
    const verdict = checker.checkAtOnce(withoutDeadline(value, schema));
    return verdict.valid ? undefined : verdict.problem;
  };
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function compile(recipient: string, schema: unknown): SchemaChecker {
  try {
    return compileSchema(schema);
  } catch (error) {
    if (!(error instanceof SchemaError)) throw error;
    throw new TypeError(`the schema of ${recipient} is not valid: ${error.message}`, {
      cause: error,
    });
  }
}

/** `deadline_ms` is meant for the runtime, which removes it, unless the tool's schema declares it. */
function withoutDeadline(args: object, schema: unknown): object {
  if (!("deadline_ms" in args) || declaresDeadline(schema)) return args;
  const { deadline_ms: _, ...rest } = args;
  return rest;
}

function declaresDeadline(schema: unknown): boolean {
  const properties = isObject(schema) ? schema["properties"] : undefined;
  return isObject(properties) && "deadline_ms" in properties;
}
