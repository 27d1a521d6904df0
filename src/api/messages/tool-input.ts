/**
 * The arguments of a call as what this API promises: a JSON object, whatever the model wrote.
 *
 * Clients parse what they have so far and throw where it cannot be the beginning of JSON. So text goes out only up to where
 * it can be completed by closing what is open: keys with their value, numbers and words when they are whole, strings
 * character by character. What is no JSON object ends there. Two mistakes models make are repaired: raw control
 * characters in strings, and escapes that JSON has not.
 */

export interface ToolInput {
  /** What may go out now. */
  push(args: string): string;
  /** What completes the object. Empty where nothing went out: clients take that for `{}`. */
  end(): string;
}

/**
 * What is being read.
 * - `start`, `end`: before and behind the object
 * - `first`: what an object or an array begins with, or its end
 * - `next`: behind a comma
 * - `key`, `value-string`: inside a string
 * - `colon`, `value`: behind a key, behind its colon
 * - `scalar`: a number or a word
 * - `after`: behind a value
 */
type Place =
  | "start"
  | "first"
  | "next"
  | "key"
  | "colon"
  | "value"
  | "value-string"
  | "scalar"
  | "after"
  | "end";

/** Objects nested deeper are not taken for one. */
const MAX_DEPTH = 500;
const SCALAR = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/;
const SCALAR_CHARACTER = /[-+.\w]/;
/** Longer ones are no number anybody reads. */
const MAX_SCALAR = 1_000;

export function createToolInput(): ToolInput {
  let place: Place = "start";
  /** The closing brackets that what is open needs, innermost last. */
  const closers: ("}" | "]")[] = [];
  /** Read, but not yet certain to be followed by a value. */
  let waiting = "";
  let scalar = "";
  /** Of an escape in a string: the backslash and what has come of `\uXXXX`. */
  let escape = "";
  let hasWritten = false;

  return { push, end };

  function push(args: string): string {
    let out = "";
    for (let at = 0; at < args.length; at++) {
      if (place === "end") break;
      // Most characters stand inside strings, and most of those for themselves.
      if (place === "value-string" && escape === "") {
        const from = at;
        while (at < args.length && isPlain(args.charCodeAt(at))) at++;
        out += args.slice(from, at);
        if (at === args.length) break;
      }
      out += read(args.charAt(at));
    }
    if (out !== "") hasWritten = true;
    return out;
  }

  function end(): string {
    if (!hasWritten) return "";
    const rest = isWholeScalar() ? takeWaiting(scalar) : "";
    const quote = place === "value-string" ? '"' : "";
    place = "end";
    return rest + quote + closers.toReversed().join("");
  }

  /** One character; gives what may go out. */
  function read(character: string): string {
    switch (place) {
      case "key":
        return readKey(character);
      case "value-string":
        return readString(character);
      case "scalar":
        return readScalar(character);
      default:
        return isSpace(character) ? "" : readStructure(character);
    }
  }

  function readStructure(character: string): string {
    const inObject = closers.at(-1) === "}";
    switch (place) {
      case "start":
        return character === "{" ? open(character) : stop();
      case "first":
        if (character === closers.at(-1)) return close();
        return inObject ? beginKey(character) : beginValue(character);
      case "next":
        return inObject ? beginKey(character) : beginValue(character);
      case "colon":
        if (character !== ":") return stop();
        waiting += ":";
        place = "value";
        return "";
      case "value":
        return beginValue(character);
      case "after":
        if (character === closers.at(-1)) return close();
        if (character !== ",") return stop();
        waiting = ",";
        place = "next";
        return "";
      case "end":
      case "key":
      case "value-string":
      case "scalar":
        return "";
      default:
        return place satisfies never;
    }
  }

  function beginKey(character: string): string {
    if (character !== '"') return stop();
    waiting += '"';
    place = "key";
    return "";
  }

  function readKey(character: string): string {
    waiting += takeBrokenEscape(character);
    const isEnd = escape === "" && character === '"';
    waiting += isEnd ? '"' : toStringText(character);
    if (isEnd) place = "colon";
    return "";
  }

  function beginValue(character: string): string {
    if (character === "{" || character === "[") return open(character);
    if (character === '"') {
      place = "value-string";
      return takeWaiting('"');
    }
    if (!SCALAR_CHARACTER.test(character)) return stop();
    scalar = character;
    place = "scalar";
    return "";
  }

  function readString(character: string): string {
    const broken = takeBrokenEscape(character);
    if (escape !== "" || character !== '"') return broken + toStringText(character);
    place = "after";
    return `${broken}"`;
  }

  function readScalar(character: string): string {
    if (SCALAR_CHARACTER.test(character)) {
      scalar += character;
      return scalar.length > MAX_SCALAR ? stop() : "";
    }
    if (!isWholeScalar()) return stop();
    const written = takeWaiting(scalar);
    scalar = "";
    place = "after";
    return written + (isSpace(character) ? "" : readStructure(character));
  }

  function isWholeScalar(): boolean {
    return place === "scalar" && SCALAR.test(scalar);
  }

  function open(bracket: "{" | "["): string {
    if (closers.length >= MAX_DEPTH) return stop();
    closers.push(bracket === "{" ? "}" : "]");
    place = "first";
    return takeWaiting(bracket);
  }

  function close(): string {
    const closer = closers.pop() ?? "";
    place = closers.length === 0 ? "end" : "after";
    return closer;
  }

  /** From here on it is no JSON. */
  function stop(): string {
    place = "end";
    return "";
  }

  function takeWaiting(followedBy: string): string {
    const taken = waiting + followedBy;
    waiting = "";
    return taken;
  }

  /** A character inside a string as JSON has it; empty while an escape is not complete. */
  function toStringText(character: string): string {
    if (escape !== "") return readEscape(character);
    if (character === "\\") {
      escape = "\\";
      return "";
    }
    return character < " " ? toJsonCharacters(character) : character;
  }

  function readEscape(character: string): string {
    escape += character;
    // Any other was meant as a backslash, in a pattern or a path.
    if (escape.length === 2 && !'"\\/bfnrtu'.includes(character)) return takeRepairedEscape();
    const isWhole = escape.length === (escape.startsWith("\\u") ? 6 : 2);
    if (!isWhole) return "";
    const written = escape;
    escape = "";
    return written;
  }

  /** What has come of a `\\uXXXX` that does not go on with this character. */
  function takeBrokenEscape(character: string): string {
    return escape.startsWith("\\u") && !/[\da-f]/i.test(character) ? takeRepairedEscape() : "";
  }

  function takeRepairedEscape(): string {
    const written = toJsonCharacters(escape);
    escape = "";
    return written;
  }
}

/** As they stand inside a string of JSON. */
function toJsonCharacters(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function isPlain(unit: number): boolean {
  return unit >= 0x20 && unit !== 0x22 && unit !== 0x5c;
}

function isSpace(character: string): boolean {
  return character === " " || character === "\n" || character === "\r" || character === "\t";
}
