/** Parses JSON of any form, such as a server's error or a client's schema, without throwing. */
import { hasMoreValues, MAX_VALUES } from "../json-text.ts";
import { runAtOnce } from "../streams/slices.ts";

export type UntypedObject = Readonly<Record<string, unknown>>;

/** Undefined: the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Like {@link parseJson}, but also accepts the numbers `NaN` and `Infinity` that Python writes, as null.
 */
export function parsePythonJson(text: string): unknown {
  return parseJson(text) ?? parseJson(text.replace(NO_NUMBERS, "null"));
}

/** Matches such numbers outside of strings, except in a string that contains JSON itself. */
const NO_NUMBERS = /(?<=[:[,] ?)(?:NaN|-?Infinity)(?= ?[,}\]])/g;

export function isObject(value: unknown): value is UntypedObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether the value is an object or a list. */
export function hasMembers(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** The object. Empty for any other value. */
export function asObject(value: unknown): UntypedObject {
  return isObject(value) ? value : {};
}

/** The list. Empty for any other value. */
export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Like {@link parseJson}. Undefined also for text with far more values than {@link MAX_VALUES}. */
export function parseBoundedJson(text: string): unknown {
  return runAtOnce(hasMoreValues(text, MAX_VALUES)) ? undefined : parseJson(text);
}
