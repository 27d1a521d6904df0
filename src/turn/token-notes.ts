/**
 * What a listener will be told of ids that were read one by one: a hundred or so at once. To tell of each touches a dozen objects
 * of its stream, which by the stream's next token have left the processor's cache; to note it touches one and a list.
 */
import type { TokenId } from "../tokenizer/index.ts";
import type { TokenHolder, TokenListener } from "./facts.ts";

/** Notes that are enough to be told of. */
const MANY = 96;

export class TokenNotes implements TokenHolder {
  readonly #listener: TokenListener;
  readonly #clock: TokenListener["clock"];
  /** A time and an id of each. */
  readonly #notes: number[] = [];
  #length = 0;
  /** That of the first one. */
  #number = 0;

  constructor(listener: TokenListener) {
    this.#listener = listener;
    this.#clock = listener.clock;
  }

  /** Notes an id that has just been read. Returns its number, see {@link TokenListener.begin}. */
  add(id: TokenId): number {
    if (this.#length === 0) this.#number = this.#listener.begin(this);
    const at = this.#length++;
    this.#notes[at * 2] = this.#clock?.recent() ?? 0;
    this.#notes[at * 2 + 1] = id;
    return this.#number + at;
  }

  get areMany(): boolean {
    return this.#length >= MANY;
  }

  tell(): void {
    const length = this.#length;
    this.#length = 0;
    if (length > 0) this.#listener.noteTokens(this.#notes, length);
  }
}
