/**
 * Filters the arguments of a streamed call: trims white space and removes extra closing brackets.
 *
 * Nothing else is repaired (rule R5), and nothing is buffered: text that is certain to be part of the
 * arguments is returned at once. Only text that may have to be removed is held back, namely white space, and
 * brackets after a complete object.
 */

export interface ArgumentsFilter {
  /** Adds text. Returns the arguments that are certain. */
  push(text: string): string;
  /** Whether a complete object has been read. */
  isComplete(): boolean;
  /** Whether brackets were removed. Known once the message has ended. */
  hasExtraBrackets(): boolean;
  /** Whether only white space has been read. */
  isEmpty(): boolean;
}

/** Limit for held-back white space or brackets, in characters. Beyond it they are passed on. */
const MAX_HELD_BACK = 4096;
/** The end of objects nested deeper is not tracked. */
const MAX_DEPTH = 1000;

/**
 * What the text so far is.
 * - `blank`: only white space
 * - `object`: an incomplete JSON object
 * - `closed`: a complete object, then at most brackets and white space
 * - `free`: anything else, passed on unchanged
 */
type Shape = "blank" | "object" | "closed" | "free";

export function createArgumentsFilter(): ArgumentsFilter {
  let shape: Shape = "blank";
  let heldBack = "";
  /** Inside white space over the limit, which is passed on. */
  let isRunaway = false;
  /** Closing brackets the open object still needs, innermost last. */
  const closers: string[] = [];
  let inString = false;
  let escaped = false;

  /** Reads on in the object. Returns the index after its end, or the length of the text. */
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

  /** Returns everything except trailing white space, which is held back. */
  function releaseTrimmed(text: string): string {
    const trimmed = text.trimEnd();
    let proven = "";
    if (trimmed !== "") {
      proven = heldBack + trimmed;
      heldBack = "";
      isRunaway = false;
    }
    heldBack += text.slice(trimmed.length);
    if (heldBack.length > MAX_HELD_BACK) isRunaway = true;
    if (isRunaway) {
      proven += heldBack;
      heldBack = "";
    }
    return proven;
  }

  /** Reads text after a complete object. Brackets are held back, since there may be nothing else. */
  function pushAfterObject(text: string): string {
    const tail = heldBack + text;
    if (/^[\s}\]]*$/.test(text) && tail.length <= MAX_HELD_BACK) {
      heldBack = tail;
      return "";
    }
    shape = "free";
    heldBack = "";
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
    return proven + (shape === "closed" ? pushAfterObject(rest) : releaseTrimmed(rest));
  }

  return {
    push,
    isComplete: () => shape === "closed",
    hasExtraBrackets: () => shape === "closed" && heldBack.trim() !== "",
    isEmpty: () => shape === "blank",
  };
}
