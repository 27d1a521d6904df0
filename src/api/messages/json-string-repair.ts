/**
 * Repairs the text of a JSON string while it is streamed. Models make two mistakes in strings: raw control
 * characters, and escapes that JSON does not have.
 */

export class JsonStringRepair {
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
    // Any other escape was meant as a backslash, as in a pattern or a path.
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
