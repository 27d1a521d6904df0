/**
 * Finds the ends of a request's messages in the bytes of its JSON, without parsing.
 *
 * The bytes may be anything: positions are only meaningful if the bytes are valid JSON. Each byte is read once.
 */

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

export interface MessageList {
  /** The member of the body. */
  readonly name: string;
  /** The offset after the opening bracket. */
  readonly start: number;
}

/** Finds the first top-level member with one of these names that is an array. */
export function findMessageList(
  bytes: Uint8Array,
  names: readonly string[],
): MessageList | undefined {
  let at = skipSpace(bytes, 0);
  if (bytes[at] !== OPEN_BRACE) return undefined;
  do {
    const key = skipSpace(bytes, at + 1);
    if (bytes[key] !== QUOTE) return undefined;
    const keyEnd = stringEnd(bytes, key);
    const colon = skipSpace(bytes, keyEnd);
    if (bytes[colon] !== COLON) return undefined;
    const value = skipSpace(bytes, colon + 1);
    const name = names.find((each) => isAscii(bytes, key + 1, keyEnd - 1, each));
    if (name !== undefined && bytes[value] === OPEN_BRACKET) return { name, start: value + 1 };
    at = skipSpace(bytes, valueEnd(bytes, value).end);
  } while (bytes[at] === COMMA);
  return undefined;
}

/** The end of each message, and the maximum number of JSON values in it and the messages before it. */
export interface MessageEnds {
  readonly ends: number[];
  readonly values: number[];
}

/**
 * Continues at `from`, the start of the list or the end of a message, and stops at the end of the list, at an entry
 * that is not an object, or after `most` messages.
 */
export function findMessageEnds(
  bytes: Uint8Array,
  from: number,
  found: MessageEnds,
  most: number = Number.POSITIVE_INFINITY,
): void {
  const { ends, values } = found;
  let at = from;
  while (ends.length < most) {
    at = skipSpace(bytes, at);
    if (ends.length > 0) {
      if (bytes[at] !== COMMA) return;
      at = skipSpace(bytes, at + 1);
    }
    if (bytes[at] !== OPEN_BRACE) return;
    const message = valueEnd(bytes, at);
    at = message.end;
    ends.push(at);
    values.push(message.values + (values.at(-1) ?? 0));
  }
}

function isAscii(bytes: Uint8Array, start: number, end: number, text: string): boolean {
  if (end - start !== text.length) return false;
  for (let i = 0; i < text.length; i++) {
    if (bytes[start + i] !== text.charCodeAt(i)) return false;
  }
  return true;
}

function skipSpace(bytes: Uint8Array, from: number): number {
  let at = from;
  for (;;) {
    const byte = bytes[at];
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return at;
    at++;
  }
}

/** The offset after the string that begins at `start`. */
function stringEnd(bytes: Uint8Array, start: number): number {
  let at = start + 1;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return Math.min(at + 1, bytes.length);
}

/** The offset after the value that begins at `start`, and the maximum number of values in it. */
function valueEnd(bytes: Uint8Array, start: number): { end: number; values: number } {
  let open = 0;
  let values = 1;
  let at = start;
  while (at < bytes.length) {
    const byte = bytes[at];
    if (byte === QUOTE) {
      at = stringEnd(bytes, at);
      if (open === 0) break;
      continue;
    }
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      open++;
      values++;
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      // The enclosing object ends here; the bracket is not part of the number.
      if (open === 0) break;
      open--;
      if (open === 0) return { end: at + 1, values };
    } else if (byte === COMMA) {
      if (open === 0) break;
      values++;
    }
    at++;
  }
  return { end: at, values };
}
