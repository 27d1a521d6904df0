/** Reads JSON that may be anything, such as a server's error or a client's schema, without throwing. */

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

/** Most values of a request, and of any JSON in it. */
export const MAX_VALUES = 250_000;

/** As {@link parseJson}, and undefined for text with far more than {@link MAX_VALUES}. */
export function parseBoundedJson(text: string): unknown {
  return runAtOnce(hasMoreValues(text, MAX_VALUES)) ? undefined : parseJson(text);
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;

/** Characters between two yields: a few milliseconds, but for a run of backslashes, which takes as long as in `JSON.parse`. */
const SLICE = 250_000;

/**
 * Whether JSON text has so many more values than `most` that they must not be built: one takes up to 100 bytes. A comma or an open
 * bracket stands before each value, and another in each that is empty, so twice `most` of them are too many. Each value takes two
 * characters, so texts of up to four times `most` are not looked through. Members that repeat a name count, too.
 */
export function* hasMoreValues(text: string, most: number): Generator<void, boolean> {
  if (text.length <= 4 * most) return false;
  let separators = 0;
  let isInString = false;
  let pauseAt = SLICE;
  for (let at = 0; at < text.length; at++) {
    if (at > pauseAt) {
      yield;
      pauseAt = at + SLICE;
    }
    if (isInString) {
      at = text.indexOf('"', at);
      if (at < 0) return false;
      isInString = isEscaped(text, at);
      continue;
    }
    const code = text.charCodeAt(at);
    if (code === QUOTE) isInString = true;
    else if (code === COMMA || code === OPEN_BRACKET || code === OPEN_BRACE) {
      separators++;
      if (separators > 2 * most) return true;
    }
  }
  return false;
}

/** Of a character within a string. */
export function isEscaped(text: string, at: number): boolean {
  let before = at;
  while (text.charCodeAt(before - 1) === BACKSLASH) before--;
  return (at - before) % 2 === 1;
}
