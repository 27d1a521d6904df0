/**
 * Collects text of any length in bounded memory: the head and the tail are kept, the part between them is counted.
 *
 * Also imported by the interpreter's process, so it has no imports.
 */

/** Maximum characters kept of a call's output. */
export const MAX_OUTPUT = 20_000;

export class BoundedText {
  readonly #limit: number;
  #head = "";
  #tail = "";
  #length = 0;

  constructor(limit = MAX_OUTPUT) {
    this.#limit = limit;
  }

  /** Length of all text pushed. */
  get length(): number {
    return this.#length;
  }

  push(text: string): void {
    this.#length += text.length;
    const room = Math.max(0, this.#limit - this.#head.length);
    this.#head += text.slice(0, room);
    this.#tail += text.slice(room);
    // Cut rarely: a cut per push would be quadratic for output that arrives byte by byte.
    if (this.#tail.length > 4 * this.#limit) this.#tail = this.#tail.slice(-this.#limit);
  }

  /** The kept text: at most the limit, and one line that says how much is missing. */
  toString(): string {
    if (this.#length <= this.#limit) return this.#head + this.#tail;
    const half = Math.floor(this.#limit / 2);
    const head = wholeStart(this.#head.slice(0, half));
    const tail = wholeEnd((this.#head + this.#tail).slice(-half));
    const omitted = this.#length - head.length - tail.length;
    return `${head}\n[… ${omitted} characters omitted …]\n${tail}`;
  }
}

/** Returns `text`, cut like collected output. */
export function boundText(text: string, limit = MAX_OUTPUT): string {
  const bounded = new BoundedText(limit);
  bounded.push(text);
  return bounded.toString();
}

/** Removes half of a surrogate pair at the end. */
function wholeStart(text: string): string {
  return /[\uD800-\uDBFF]$/.test(text) ? text.slice(0, -1) : text;
}

function wholeEnd(text: string): string {
  return /^[\uDC00-\uDFFF]/.test(text) ? text.slice(1) : text;
}
