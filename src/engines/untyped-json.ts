/** Reads JSON that may be anything, such as a server's error or a client's schema, without throwing. */
import { hasMoreValues, MAX_VALUES } from "../json-text.ts";
import { runAtOnce } from "../streams/slices.ts";

export type UntypedObject = Readonly<Record<string, unknown>>;

/** Undefined for text that is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * As {@link parseJson}, and for text that is JSON but for the numbers that Python writes into it, `NaN` and `Infinity`: they are
 * null then.
 */
export function parsePythonJson(text: string): unknown {
  return parseJson(text) ?? parseJson(text.replace(NO_NUMBERS, "null"));
}

/** Within a string they would not be between these, unless the string is JSON itself. */
const NO_NUMBERS = /(?<=[:[,] ?)(?:NaN|-?Infinity)(?= ?[,}\]])/g;

export function isObject(value: unknown): value is UntypedObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** An object or a list. */
export function hasMembers(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** Empty for anything else. */
export function asObject(value: unknown): UntypedObject {
  return isObject(value) ? value : {};
}

/** Empty for anything else. */
export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** As {@link parseJson}, and undefined for text with far more than {@link MAX_VALUES}. */
export function parseBoundedJson(text: string): unknown {
  return runAtOnce(hasMoreValues(text, MAX_VALUES)) ? undefined : parseJson(text);
}
