/**
 * Text that grows by a token at a time and is rarely read. Kept as a list of its pieces: `+=` would make an object of 32
 * bytes for each, which the collector copies and the first reader walks, where a piece in a list takes 8.
 */
export class GrowingText {
  #pieces: string[] = [];

  push(text: string): void {
    if (text !== "") this.#pieces.push(text);
  }

  clear(): void {
    this.#pieces = [];
  }

  get isEmpty(): boolean {
    return this.#pieces.length === 0;
  }

  /** Joins the pieces: linear in the text, so not to be called for each of them. */
  toString(): string {
    if (this.#pieces.length > 1) this.#pieces = [this.#pieces.join("")];
    return this.#pieces[0] ?? "";
  }
}
