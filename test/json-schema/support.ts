import type { SchemaChecker, SchemaVerdict } from "../../src/json-schema/index.ts";

/** A check that is not expected to need a second slice. */
export function checkOnce(checker: SchemaChecker, value: unknown): Promise<SchemaVerdict> {
  return checker.check(value, { pause: () => Promise.reject(new Error("a second slice")) });
}
