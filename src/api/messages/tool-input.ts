/**
 * Streams the arguments of a call as the JSON object that this API guarantees, whatever the model wrote.
 *
 * Clients parse the partial input and throw if it is not a prefix of JSON. Text is therefore emitted only up to
 * where closing the open strings and brackets completes it: keys together with their value, numbers and words
 * once complete, strings character by character. At the first character that is not JSON, the input ends.
 * Mistakes inside strings are repaired (`JsonStringRepair`).
 */
/**
 * The next element to read.
 * - `start`, `end`: before and after the object
 * - `first`: the first member or item, or the closing bracket
 * - `next`: after a comma
 * - `key`, `value-string`: inside a string
 * - `colon`, `value`: after a key, after its colon
 * - `scalar`: inside a number or a word
 * - `after`: after a value
 */
type ReadState =
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

/** Objects nested deeper are cut off. */
const MAX_DEPTH = 500;
const SCALAR = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/;
const SCALAR_CHARACTER = /[-+.\w]/;
/** Maximum characters of a number. Longer numbers are cut off, since they are held back until complete. */
const MAX_SCALAR = 1_000;

export class ToolInput {
  #state: ReadState = "start";
  /** Closing brackets of the open objects and arrays, innermost last. */
  readonly #closers: ("}" | "]")[] = [];
  /** Text held back until a value follows. */
  #heldBack = "";
  #scalar = "";
  readonly #string = new JsonStringRepair();
  #hasWritten = false;

  /** Adds arguments. Returns the JSON that can be emitted. */
  push(args: string): string {
    let out = "";
    for (let at = 0; at < args.length; at++) {
      if (this.#state === "end") break;
      // Fast path: most characters are inside strings and need no escape.
      if (this.#state === "value-string" && !this.#string.isInEscape) {
        const from = at;
        while (at < args.length && isPlain(args.charCodeAt(at))) at++;
        out += args.slice(from, at);
        if (at === args.length) break;
      }
      out += this.#read(args.charAt(at));
    }
    if (out !== "") this.#hasWritten = true;
    return out;
  }

  /** Returns the text that completes the object. Empty if nothing was emitted: clients read no input as `{}`. */
  end(): string {
    if (!this.#hasWritten) return "";
    const rest = this.#isCompleteScalar() ? this.#release(this.#scalar) : "";
    const quote = this.#state === "value-string" ? '"' : "";
    this.#state = "end";
    return rest + quote + this.#closers.toReversed().join("");
  }

  #read(character: string): string {
    switch (this.#state) {
      case "key":
        return this.#readKey(character);
      case "value-string":
        return this.#readString(character);
      case "scalar":
        return this.#readScalar(character);
      default:
        return isSpace(character) ? "" : this.#readStructure(character);
    }
  }

  #readStructure(character: string): string {
    const state = this.#state;
    switch (state) {
      case "start":
        return character === "{" ? this.#open(character) : this.#stop();
      case "first":
        return character === this.#closers.at(-1) ? this.#close() : this.#readMember(character);
      case "next":
        return this.#readMember(character);
      case "colon":
        if (character !== ":") return this.#stop();
        this.#heldBack += ":";
        this.#state = "value";
        return "";
      case "value":
        return this.#beginValue(character);
      case "after":
        if (character === this.#closers.at(-1)) return this.#close();
        if (character !== ",") return this.#stop();
        this.#heldBack = ",";
        this.#state = "next";
        return "";
      case "end":
      case "key":
      case "value-string":
      case "scalar":
        return "";
      default:
        return state satisfies never;
    }
  }

  #readMember(character: string): string {
    return this.#closers.at(-1) === "}" ? this.#beginKey(character) : this.#beginValue(character);
  }

  #beginKey(character: string): string {
    if (character !== '"') return this.#stop();
    this.#heldBack += '"';
    this.#state = "key";
    return "";
  }

  #readKey(character: string): string {
    this.#heldBack += this.#string.endBrokenEscape(character);
    const isEnd = !this.#string.isInEscape && character === '"';
    this.#heldBack += isEnd ? '"' : this.#string.push(character);
    if (isEnd) this.#state = "colon";
    return "";
  }

  #beginValue(character: string): string {
    if (character === "{" || character === "[") return this.#open(character);
    if (character === '"') {
      this.#state = "value-string";
      return this.#release('"');
    }
    if (!SCALAR_CHARACTER.test(character)) return this.#stop();
    this.#scalar = character;
    this.#state = "scalar";
    return "";
  }

  #readString(character: string): string {
    const broken = this.#string.endBrokenEscape(character);
    if (this.#string.isInEscape || character !== '"') return broken + this.#string.push(character);
    this.#state = "after";
    return `${broken}"`;
  }

  #readScalar(character: string): string {
    if (SCALAR_CHARACTER.test(character)) {
      this.#scalar += character;
      return this.#scalar.length > MAX_SCALAR ? this.#stop() : "";
    }
    if (!this.#isCompleteScalar()) return this.#stop();
    const written = this.#release(this.#scalar);
    this.#scalar = "";
    this.#state = "after";
    return written + (isSpace(character) ? "" : this.#readStructure(character));
  }

  #isCompleteScalar(): boolean {
    return this.#state === "scalar" && SCALAR.test(this.#scalar);
  }

  #open(bracket: "{" | "["): string {
    if (this.#closers.length >= MAX_DEPTH) return this.#stop();
    this.#closers.push(bracket === "{" ? "}" : "]");
    this.#state = "first";
    return this.#release(bracket);
  }

  #close(): string {
    const closer = this.#closers.pop() ?? "";
    this.#state = this.#closers.length === 0 ? "end" : "after";
    return closer;
  }

  /** Ignores all further input, because it is not JSON. */
  #stop(): string {
    this.#state = "end";
    return "";
  }

  /** Returns the text held back and the beginning of the value after it. */
  #release(value: string): string {
    const released = this.#heldBack + value;
    this.#heldBack = "";
    return released;
  }
}

function isPlain(unit: number): boolean {
  return unit >= 0x20 && unit !== 0x22 && unit !== 0x5c;
}

function isSpace(character: string): boolean {
  return character === " " || character === "\n" || character === "\r" || character === "\t";
}

/**
 * Repairs the text of a JSON string while it is streamed. Models make two mistakes in strings: raw control
 * characters, and escapes that JSON does not have.
 */
class JsonStringRepair {
  /** The beginning of an escape: the backslash and the part of `\uXXXX` read so far. */
  #escape = "";

  /** An escape has begun and is not complete. */
  get isInEscape(): boolean {
    return this.#escape !== "";
  }

  /** Returns the beginning of a `\uXXXX` as text if `next` cannot continue it. Call before {@link push}. */
  endBrokenEscape(next: string): string {
    return this.#escape.startsWith("\\u") && !/[\da-f]/i.test(next) ? this.#toText() : "";
  }

  /** Adds a character of the string. Returns valid JSON; empty while an escape is not complete. */
  push(character: string): string {
    if (this.#escape !== "") return this.#pushEscape(character);
    if (character === "\\") {
      this.#escape = "\\";
      return "";
    }
    return character < " " ? toJsonCharacters(character) : character;
  }

  #pushEscape(character: string): string {
    this.#escape += character;
    // In any other escape the model meant a backslash, as in a pattern or a path.
    if (this.#escape.length === 2 && !'"\\/bfnrtu'.includes(character)) return this.#toText();
    const isComplete = this.#escape.length === (this.#escape.startsWith("\\u") ? 6 : 2);
    if (!isComplete) return "";
    const written = this.#escape;
    this.#escape = "";
    return written;
  }

  #toText(): string {
    const written = toJsonCharacters(this.#escape);
    this.#escape = "";
    return written;
  }
}

/** Escapes text for a JSON string, without the quotes. */
function toJsonCharacters(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}
