/**
 * A JSON reader and printer that, unlike `JSON.parse`, keep the order of all keys and the spelling of numbers.
 *
 * Tool signatures are printed from the client's schema in source order, and default numbers as they were
 * written. openai/harmony reads them with a JSON crate that keeps both.
 */

import { isOutOfRange, toCompactNumber } from "./json-number.ts";

/** A JSON value. Objects are maps in source order; numbers keep their source text. */
export type Json = null | boolean | string | JsonNumber | readonly Json[] | JsonObject;

export type JsonObject = ReadonlyMap<string, Json>;

/** A number as its source text, for instance `1.0` or `18446744073709551615`. */
export interface JsonNumber {
  readonly number: string;
}

/**
 * Maximum nesting of arrays and objects. The reference's reader has the same limit.
 *
 * @example
 * ```ts
 * import { MAX_JSON_DEPTH } from "harmony-gateway/harmony";
 *
 * MAX_JSON_DEPTH; // => 127
 * ```
 */
export const MAX_JSON_DEPTH = 127;

/**
 * Thrown for text that is not JSON, nests deeper than {@link MAX_JSON_DEPTH}, or contains a number out of range.
 *
 * @example
 * ```ts
 * import { JsonSyntaxError, parseJson } from "harmony-gateway/harmony";
 *
 * let position;
 * try {
 *   parseJson('{"a": oops}');
 * } catch (error) {
 *   if (error instanceof JsonSyntaxError) position = error.position;
 * }
 * position; // => 6
 * ```
 */
export class JsonSyntaxError extends SyntaxError {
  /** Offset of the error in UTF-16 code units. */
  readonly position: number;

  constructor(problem: string, position: number) {
    super(`${problem} at position ${position}`);
    this.name = "JsonSyntaxError";
    this.position = position;
  }
}

/**
 * Parses one JSON document. A repeated key keeps its first position and its last value. Throws a
 * {@link JsonSyntaxError}, also for values that the reference rejects and `JSON.parse` accepts: numbers beyond the
 * range of a double, and strings with a lone surrogate.
 *
 * @example
 * ```ts
 * import { parseJson, toCompactJson } from "harmony-gateway/harmony";
 *
 * toCompactJson(parseJson('{"10": 1.0, "2": 18446744073709551615}')); // => '{"10":1.0,"2":18446744073709551615}'
 * ```
 */
export function parseJson(text: string): Json {
  return new Reader(text).readDocument();
}

/**
 * Converts a plain JavaScript value as `JSON.stringify` would write it. Integer-like keys have already lost their
 * position and `1.0` its spelling, so use {@link parseJson} if the text is available. Throws a `TypeError` for values
 * without a JSON form, and the errors of {@link parseJson}.
 *
 * @example
 * ```ts
 * import { fromPlainJson } from "harmony-gateway/harmony";
 *
 * fromPlainJson({ type: "object" }); // => new Map([["type", "object"]])
 * ```
 */
export function fromPlainJson(value: unknown): Json {
  const text: string | undefined = JSON.stringify(value);
  if (text === undefined) throw new TypeError(`A ${typeof value} has no JSON form`);
  return parseJson(text);
}

/**
 * Prints without spaces; numbers as in `toCompactNumber`, strings as `JSON.stringify` writes them.
 *
 * @example
 * ```ts
 * import { fromPlainJson, toCompactJson } from "harmony-gateway/harmony";
 *
 * toCompactJson(fromPlainJson({ a: [1, true] })); // => '{"a":[1,true]}'
 * ```
 */
export function toCompactJson(json: Json): string {
  if (json === null || typeof json === "boolean") return String(json);
  if (typeof json === "string") return JSON.stringify(json);
  if (isJsonArray(json)) return `[${json.map(toCompactJson).join(",")}]`;
  if (isJsonObject(json)) {
    // Concatenation takes a quarter of the time of joining an array.
    let members = "";
    for (const [key, value] of json) {
      members += `${members === "" ? "" : ","}${JSON.stringify(key)}:${toCompactJson(value)}`;
    }
    return `{${members}}`;
  }
  return toCompactNumber(json.number);
}

/**
 * @example
 * ```ts
 * import { isJsonArray, parseJson } from "harmony-gateway/harmony";
 *
 * isJsonArray(parseJson("[1]")); // => true
 * isJsonArray(parseJson("{}")); // => false
 * ```
 */
export function isJsonArray(json: Json | undefined): json is readonly Json[] {
  return Array.isArray(json);
}

/**
 * @example
 * ```ts
 * import { isJsonObject, parseJson } from "harmony-gateway/harmony";
 *
 * isJsonObject(parseJson("{}")); // => true
 * isJsonObject(undefined); // => false
 * ```
 */
export function isJsonObject(json: Json | undefined): json is JsonObject {
  return json instanceof Map;
}

/** A recursive reader. {@link MAX_JSON_DEPTH} prevents a stack overflow. */
class Reader {
  readonly #text: string;
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
  }

  readDocument(): Json {
    this.#skipSpace();
    const value = this.#readValue();
    this.#skipSpace();
    if (this.#at < this.#text.length) throw this.#unexpected();
    return value;
  }

  #readValue(): Json {
    const char = this.#text[this.#at];
    if (char === "{") return this.#readObject();
    if (char === "[") return this.#readArray();
    if (char === '"') return this.#readString();
    if (char === "t") return this.#readWord("true", true);
    if (char === "f") return this.#readWord("false", false);
    if (char === "n") return this.#readWord("null", null);
    return this.#readNumber();
  }

  #readObject(): JsonObject {
    const members = new Map<string, Json>();
    this.#enter();
    if (!this.#accept("}")) {
      do {
        this.#skipSpace();
        if (this.#text[this.#at] !== '"') throw this.#unexpected();
        const key = this.#readString();
        if (!this.#accept(":")) throw this.#unexpected();
        this.#skipSpace();
        members.set(key, this.#readValue());
      } while (this.#accept(","));
      if (!this.#accept("}")) throw this.#unexpected();
    }
    this.#depth--;
    return members;
  }

  #readArray(): readonly Json[] {
    const items: Json[] = [];
    this.#enter();
    if (!this.#accept("]")) {
      do {
        this.#skipSpace();
        items.push(this.#readValue());
      } while (this.#accept(","));
      if (!this.#accept("]")) throw this.#unexpected();
    }
    this.#depth--;
    return items;
  }

  #readString(): string {
    const start = this.#at;
    const end = this.#findQuote(start + 1);
    const raw = this.#text.slice(start + 1, end);
    const value = raw.includes("\\") ? this.#unescape(start, end) : raw;
    if (!value.isWellFormed()) throw new JsonSyntaxError("Half a surrogate pair", start);
    this.#at = end + 1;
    return value;
  }

  /** Returns the index of the closing quote. */
  #findQuote(from: number): number {
    for (let at = from; at < this.#text.length; at++) {
      const code = this.#text.charCodeAt(at);
      if (code === 0x22) return at;
      if (code < 0x20) throw new JsonSyntaxError("Control character in a string", at);
      if (code === 0x5c) at++;
    }
    throw new JsonSyntaxError("Unfinished string", from - 1);
  }

  #unescape(start: number, end: number): string {
    try {
      return String(JSON.parse(this.#text.slice(start, end + 1)));
    } catch {
      throw new JsonSyntaxError("Bad escape in a string", start);
    }
  }

  #readNumber(): JsonNumber {
    const start = this.#at;
    const [number] = matchAt(NUMBER, this.#text, start) ?? [];
    if (number === undefined) throw this.#unexpected();
    if (isOutOfRange(number)) throw new JsonSyntaxError("Number out of range", start);
    this.#at += number.length;
    return { number };
  }

  #readWord<T>(word: string, value: T): T {
    if (!this.#text.startsWith(word, this.#at)) throw this.#unexpected();
    this.#at += word.length;
    return value;
  }

  #enter(): void {
    this.#depth++;
    if (this.#depth > MAX_JSON_DEPTH) {
      throw new JsonSyntaxError(`Nested deeper than ${MAX_JSON_DEPTH}`, this.#at);
    }
    this.#at++;
  }

  /** Skips white space and then `char`. Returns whether `char` was there. */
  #accept(char: string): boolean {
    this.#skipSpace();
    if (this.#text[this.#at] !== char) return false;
    this.#at++;
    return true;
  }

  #skipSpace(): void {
    for (;;) {
      const code = this.#text.charCodeAt(this.#at);
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return;
      this.#at++;
    }
  }

  #unexpected(): JsonSyntaxError {
    const char = this.#text[this.#at];
    return char === undefined
      ? new JsonSyntaxError("Unexpected end", this.#at)
      : new JsonSyntaxError(`Unexpected ${JSON.stringify(char)}`, this.#at);
  }
}

/** Matches a number only. A second digit after a leading 0 does not match. */
const NUMBER = /-?(?:0(?!\d)|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}
