/**
 * Text that grows by a token at a time and is rarely read. Kept as a list of its pieces: `+=` would make an object of 32
 * bytes for each, which the collector copies and the first reader walks, where a piece in a list takes 8.
 */
import { o200kHarmony, type TokenId } from "../tokenizer/index.ts";

export class GrowingText {
  #pieces: (string | readonly TokenId[])[] = [];

  push(text: string): void {
    if (text !== "") this.#pieces.push(text);
  }

  /** Adds the text of these ids, at least one, which must be whole characters. Decoded only if the text is read. */
  pushIds(ids: readonly TokenId[]): void {
    this.#pieces.push(ids);
  }

  clear(): void {
    this.#pieces = [];
  }

  get isEmpty(): boolean {
    return this.#pieces.length === 0;
  }

  /** Joins the pieces: linear in the text, so not to be called for each of them. */
  toString(): string {
    const [first = ""] = this.#pieces;
    if (this.#pieces.length <= 1 && typeof first === "string") return first;
    const text = this.#pieces.map(toText).join("");
    this.#pieces = [text];
    return text;
  }
}

function toText(piece: string | readonly TokenId[]): string {
  return typeof piece === "string" ? piece : o200kHarmony().decode(piece);
}
