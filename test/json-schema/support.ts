import type { SchemaChecker, Verdict } from "../../src/json-schema/index.ts";

/** A check that is not expected to need a second slice. */
export function checkOnce(checker: SchemaChecker, value: unknown): Promise<Verdict> {
  return checker.check(value, { pause: () => Promise.reject(new Error("a second slice")) });
}
