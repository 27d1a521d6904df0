/** Finds the JSON Schema that a text asks for, as clients write it there when they cannot ask for a response format. */
import { asObject, isObject, parseJson } from "../untyped-json.ts";

export interface SchemaInText {
  readonly schema: unknown;
  readonly start: number;
  readonly end: number;
}

/** Each of them may have been read to the end of the text without a result. */
const MAX_FAILURES = 8;

/** The last one: explanations and examples stand before it. */
export function findSchema(text: string): SchemaInText | undefined {
  const opening = /\{(?=\s*")/g;
  let found: SchemaInText | undefined;
  let failures = 0;
  for (let match = opening.exec(text); match !== null; match = opening.exec(text)) {
    const end = endOfObject(text, match.index);
    const value = parseJson(text.slice(match.index, end));
    if (value === undefined) {
      if (++failures === MAX_FAILURES) break;
      continue;
    }
    opening.lastIndex = end;
    if (isSchema(value)) found = { schema: value, start: match.index, end };
  }
  return found;
}

/** The offset after the brace that closes the one at `start`, or the end of the text. */
function endOfObject(text: string, start: number): number {
  const sign = /"(?:[^"\\]|\\.)*"|[{}]/gs;
  sign.lastIndex = start;
  let depth = 0;
  for (let match = sign.exec(text); match !== null; match = sign.exec(text)) {
    if (match[0] === "{") depth++;
    if (match[0] === "}" && --depth === 0) return sign.lastIndex;
  }
  return text.length;
}

function isSchema(value: unknown): boolean {
  const { properties } = asObject(value);
  return isObject(properties) && Object.keys(properties).length > 0;
}
