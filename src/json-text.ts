/** Checks on JSON text from outside, before it is parsed. */

/** Maximum values of a request, and of any JSON in it. */
export const MAX_VALUES = 250_000;
/** Maximum nesting of objects and arrays in a request. The body is level 1. */
export const MAX_DEPTH = 64;

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;

/** Characters between two yields: a few milliseconds, except for a run of backslashes, which takes as long as in `JSON.parse`. */
const SLICE = 250_000;

/**
 * Whether JSON text has far more values than `most`, too many to build: one takes up to 100 bytes. A comma or an open bracket
 * precedes each value, and an empty list or object has one of its own, so more than twice `most` of them are too many. Each value
 * takes two characters, so texts of up to four times `most` are not scanned. Members that repeat a name count, too.
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

/** Index of the quote that closes the string whose opening quote is at `start`, or the length of a text without one. */
export function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end !== -1 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end === -1 ? text.length : end;
}

/** Whether a character within a string is escaped. */
function isEscaped(text: string, at: number): boolean {
  let before = at;
  while (text.charCodeAt(before - 1) === BACKSLASH) before--;
  return (at - before) % 2 === 1;
}

/** JSON text as a value: a large list of such values takes less memory than its objects, and is written without a scan. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** The value for `JSON.stringify`. */
  toJSON(): unknown {
    return JSON.parse(this.text);
  }
}

/** Minimum characters of a piece, except the last one. Also the size at which a string is cut. */
export const PIECE = 65_536;

/** Like `JSON.stringify` for a plain value, without parsing the text of a {@link JsonText}. */
export function toJson(value: unknown): string {
  let json = "";
  for (const token of jsonTokens(value)) json += token;
  return json;
}

/** Like `JSON.stringify` for a plain value, in pieces that take a millisecond each. */
export function* jsonPieces(value: unknown): Generator<string, void> {
  let piece = "";
  for (const token of jsonTokens(value)) {
    for (const part of cut(token)) {
      piece += part;
      if (piece.length < PIECE) continue;
      yield piece;
      piece = "";
    }
  }
  if (piece !== "") yield piece;
}

function* jsonTokens(value: unknown): Generator<string, void> {
  if (value instanceof JsonText) yield value.text;
  else if (typeof value === "string" && value.length > PIECE) yield* stringTokens(value);
  else if (typeof value !== "object" || value === null) yield JSON.stringify(value) ?? "null";
  else if (Array.isArray(value)) {
    let before = "[";
    for (const each of value) {
      yield before;
      yield* jsonTokens(each);
      before = ",";
    }
    yield before === "[" ? "[]" : "]";
  } else {
    let before = "{";
    for (const [name, member] of Object.entries(value)) {
      if (member === undefined) continue;
      yield `${before}${JSON.stringify(name)}:`;
      yield* jsonTokens(member);
      before = ",";
    }
    yield before === "{" ? "{}" : "}";
  }
}

function* stringTokens(value: string): Generator<string, void> {
  yield '"';
  for (const part of cut(value)) yield JSON.stringify(part).slice(1, -1);
  yield '"';
}

/** Cuts a text. Surrogate pairs stay together: each half would be escaped, or lost. */
function cut(text: string): Iterable<string> {
  return text.length <= PIECE ? [text] : cutLong(text);
}

function* cutLong(text: string): Generator<string, void> {
  for (let at = 0; at < text.length;) {
    const end = at + PIECE - (isHighSurrogate(text.charCodeAt(at + PIECE - 1)) ? 1 : 0);
    yield text.slice(at, end);
    at = end;
  }
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd8_00 && code < 0xdc_00;
}
