/**
 * Filters the arguments of a streamed call: trims white space and removes extra closing brackets.
 *
 * Nothing else is repaired (rule R5), and nothing is buffered: text that is certain to be part of the
 * arguments is returned at once. Only text that may have to be removed is held back, namely white space, and
 * brackets after a complete object.
 */

/** Limit for held-back white space or brackets, in characters. Beyond it they are passed on. */
const MAX_HELD_BACK = 4096;
/** The end of objects nested deeper is not tracked. */
const MAX_DEPTH = 1000;

/**
 * The kind of the text so far.
 * - `blank`: only white space
 * - `object`: an incomplete JSON object
 * - `closed`: a complete object, then at most brackets and white space
 * - `free`: anything else, passed on unchanged
 */
type Shape = "blank" | "object" | "closed" | "free";

export class ArgumentsFilter {
  #shape: Shape = "blank";
  #heldBack = "";
  /** Inside white space over the limit, which is passed on. */
  #isRunaway = false;
  readonly #object = new ObjectEnd();

  /** Adds text. Returns the arguments that are certain. */
  push(text: string): string {
    let rest = text;
    let proven = "";
    if (this.#shape === "blank") {
      rest = rest.trimStart();
      if (rest === "") return "";
      this.#shape = rest.startsWith("{") ? "object" : "free";
    }
    if (this.#shape === "object") {
      const end = this.#object.find(rest);
      if (end !== undefined) this.#shape = end.isClosed ? "closed" : "free";
      const at = end?.at ?? rest.length;
      proven = this.#releaseTrimmed(rest.slice(0, at));
      rest = rest.slice(at);
    }
    if (rest === "") return proven;
    return proven + (this.isComplete ? this.#pushAfterObject(rest) : this.#releaseTrimmed(rest));
  }

  /** Whether a complete object has been read. */
  get isComplete(): boolean {
    return this.#shape === "closed";
  }

  /** Whether brackets were removed. Known once the message has ended. */
  get hasExtraBrackets(): boolean {
    return this.isComplete && this.#heldBack.trim() !== "";
  }

  /** Whether only white space has been read. */
  get isEmpty(): boolean {
    return this.#shape === "blank";
  }

  /** Returns everything except trailing white space, which is held back. */
  #releaseTrimmed(text: string): string {
    const trimmed = text.trimEnd();
    let proven = "";
    if (trimmed !== "") {
      proven = this.#heldBack + trimmed;
      this.#heldBack = "";
      this.#isRunaway = false;
    }
    this.#heldBack += text.slice(trimmed.length);
    if (this.#heldBack.length > MAX_HELD_BACK) this.#isRunaway = true;
    if (this.#isRunaway) {
      proven += this.#heldBack;
      this.#heldBack = "";
    }
    return proven;
  }

  /** Reads text after a complete object. Brackets are held back, since there may be nothing else. */
  #pushAfterObject(text: string): string {
    const tail = this.#heldBack + text;
    if (/^[\s}\]]*$/.test(text) && tail.length <= MAX_HELD_BACK) {
      this.#heldBack = tail;
      return "";
    }
    this.#shape = "free";
    this.#heldBack = "";
    return this.#releaseTrimmed(tail);
  }
}

/** Finds the end of a JSON object that arrives in pieces. */
class ObjectEnd {
  /** Closing brackets the open object still needs, innermost last. */
  readonly #closers: string[] = [];
  #inString = false;
  #escaped = false;

  /**
   * Reads more text. Undefined: the object has not ended. `isClosed`: `at` is the index after its end. Otherwise the
   * text is not a JSON object, or is nested too deeply, and `at` is the end of the text.
   */
  find(text: string): { readonly at: number; readonly isClosed: boolean } | undefined {
    for (let at = 0; at < text.length; at++) {
      const character = text[at];
      if (this.#inString) {
        if (this.#escaped) this.#escaped = false;
        else if (character === "\\") this.#escaped = true;
        else if (character === '"') this.#inString = false;
      } else if (character === '"') {
        this.#inString = true;
      } else if (character === "{" || character === "[") {
        this.#closers.push(character === "{" ? "}" : "]");
        if (this.#closers.length > MAX_DEPTH) return { at: text.length, isClosed: false };
      } else if (character === "}" || character === "]") {
        if (this.#closers.pop() !== character) return { at: text.length, isClosed: false };
        if (this.#closers.length === 0) return { at: at + 1, isClosed: true };
      }
    }
    return undefined;
  }
}
