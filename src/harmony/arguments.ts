/**
 * The arguments of a call on their way through: trimmed, and without closing brackets too many.
 *
 * Nothing else is repaired (rule R5), and nothing accumulates: what is certain to be part of the
 * arguments goes out at once. Only text that may have to go waits, namely white space, and brackets
 * after an object that is complete.
 */

export interface ArgumentsFilter {
  /** The part of the arguments that this text proves. */
  push(text: string): string;
  /** Whether an object has come to its end. */
  readonly isComplete: boolean;
  /** Whether brackets were taken away; known once the message is over. */
  readonly hasExtraBrackets: boolean;
  /** Whether nothing but white space has come. */
  readonly isEmpty: boolean;
}

/** More white space or brackets than this, in characters, are let through: waiting is bounded. */
const MAX_WAITING = 4096;
/** Objects nested deeper are passed on without watching for their end. */
const MAX_DEPTH = 1000;

/**
 * What the text so far is.
 * - `blank`: only white space
 * - `object`: a JSON object that is not complete
 * - `closed`: a complete object, then at most brackets and white space
 * - `free`: anything else, as it came
 */
type Shape = "blank" | "object" | "closed" | "free";

export function createArgumentsFilter(): ArgumentsFilter {
  let shape: Shape = "blank";
  let waiting = "";
  /** Within white space so long that it is let through. */
  let isRunaway = false;
  /** The closing brackets the open object still needs, innermost last. */
  const closers: string[] = [];
  let inString = false;
  let escaped = false;

  /** Reads on in the object; gives the index behind its end, or the length of the text. */
  function readObject(text: string): number {
    for (let i = 0; i < text.length; i++) {
      const character = text[i];
      if (inString) {
        if (escaped) escaped = false;
        else if (character === "\\") escaped = true;
        else if (character === '"') inString = false;
      } else if (character === '"') {
        inString = true;
      } else if (character === "{" || character === "[") {
        closers.push(character === "{" ? "}" : "]");
        if (closers.length > MAX_DEPTH) {
          shape = "free";
          return text.length;
        }
      } else if (character === "}" || character === "]") {
        if (closers.pop() !== character) {
          shape = "free";
          return text.length;
        }
        if (closers.length === 0) {
          shape = "closed";
          return i + 1;
        }
      }
    }
    return text.length;
  }

  /** Lets through what came, but for white space at the end. */
  function releaseTrimmed(text: string): string {
    const trimmed = text.trimEnd();
    let proven = "";
    if (trimmed !== "") {
      proven = waiting + trimmed;
      waiting = "";
      isRunaway = false;
    }
    waiting += text.slice(trimmed.length);
    if (waiting.length > MAX_WAITING) isRunaway = true;
    if (isRunaway) {
      proven += waiting;
      waiting = "";
    }
    return proven;
  }

  /** What came after a complete object: brackets wait, for all that comes may be brackets. */
  function pushBehindObject(text: string): string {
    const tail = waiting + text;
    if (/^[\s}\]]*$/.test(text) && tail.length <= MAX_WAITING) {
      waiting = tail;
      return "";
    }
    shape = "free";
    waiting = "";
    return releaseTrimmed(tail);
  }

  function push(text: string): string {
    let rest = text;
    let proven = "";
    if (shape === "blank") {
      rest = rest.trimStart();
      if (rest === "") return "";
      shape = rest.startsWith("{") ? "object" : "free";
    }
    if (shape === "object") {
      const end = readObject(rest);
      proven = releaseTrimmed(rest.slice(0, end));
      rest = rest.slice(end);
    }
    if (rest === "") return proven;
    return proven + (shape === "closed" ? pushBehindObject(rest) : releaseTrimmed(rest));
  }

  return {
    push,
    get isComplete() {
      return shape === "closed";
    },
    get hasExtraBrackets() {
      return shape === "closed" && waiting.trim() !== "";
    },
    get isEmpty() {
      return shape === "blank";
    },
  };
}
