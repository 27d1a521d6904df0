/**
 * Finds the raw text of one member of a large JSON object without parsing the rest.
 *
 * Request bodies are read by `JSON.parse`, which is fast but loses key order and the spelling of numbers, which tool
 * schemas need (see `json.ts`). The schemas are therefore cut out of the body's text and parsed again on their own. The
 * messages, often megabytes, are skipped string by string.
 */

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/**
 * Returns the text of the value at `path`, a list of member names from the outside in: `memberText(body,
 * "tools")`, `memberText(body, "response_format", "json_schema", "schema")`. Returns `undefined` if there is
 * no such member. If a member is repeated, the last one counts, as in `JSON.parse`.
 *
 * `json` must be valid JSON, which `JSON.parse` has usually verified already. Any other text gives an
 * arbitrary result but no exception.
 *
 * @example
 * ```ts
 * import { memberText } from "harmony-gateway/harmony";
 *
 * memberText('{"tools": [{"n": 1.0}], "n": 2}', "tools"); // => '[{"n": 1.0}]'
 * memberText('{"a": {"b": 1e3}}', "a", "b"); // => "1e3"
 * ```
 */
export function memberText(json: string, ...path: readonly string[]): string | undefined {
  let value: string | undefined = json;
  for (const name of path) {
    if (value === undefined) return undefined;
    value = lastMember(value, name);
  }
  return value;
}

function lastMember(json: string, name: string): string | undefined {
  let at = skipSpace(json, 0);
  if (json.charCodeAt(at) !== OPEN_BRACE) return undefined;
  let found: string | undefined;
  do {
    const key = skipSpace(json, at + 1);
    if (json.charCodeAt(key) !== QUOTE) break;
    const keyEnd = stringEnd(json, key);
    const colon = skipSpace(json, keyEnd);
    if (json.charCodeAt(colon) !== COLON) break;
    const value = skipSpace(json, colon + 1);
    const end = valueEnd(json, value);
    if (isKey(json.slice(key, keyEnd), name)) found = json.slice(value, end);
    at = skipSpace(json, end);
  } while (json.charCodeAt(at) === COMMA);
  return found;
}

function isKey(quoted: string, name: string): boolean {
  if (!quoted.includes("\\")) return quoted.slice(1, -1) === name;
  try {
    return JSON.parse(quoted) === name;
  } catch {
    return false;
  }
}

function skipSpace(json: string, from: number): number {
  let at = from;
  for (;;) {
    const code = json.charCodeAt(at);
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return at;
    at++;
  }
}

/** Returns the index after the string that begins at `start`. */
function stringEnd(json: string, start: number): number {
  let from = start + 1;
  for (;;) {
    const quote = json.indexOf('"', from);
    if (quote < 0) return json.length;
    // A quote after an odd number of backslashes is escaped. Each backslash is read only once.
    let before = quote - 1;
    while (before >= from && json.charCodeAt(before) === BACKSLASH) before--;
    if ((quote - 1 - before) % 2 === 0) return quote + 1;
    from = quote + 1;
  }
}

function valueEnd(json: string, start: number): number {
  let open = 0;
  let at = start;
  while (at < json.length) {
    const code = json.charCodeAt(at);
    if (code === QUOTE) {
      at = stringEnd(json, at);
      if (open === 0) return at;
      continue;
    }
    if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      open++;
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
      // The enclosing object ends here; the bracket is not part of the number.
      if (open === 0) return at;
      open--;
      if (open === 0) return at + 1;
    } else if (open === 0 && (code <= 0x20 || code === COMMA)) {
      return at;
    }
    at++;
  }
  return at;
}
