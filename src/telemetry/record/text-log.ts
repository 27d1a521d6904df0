/**
 * Texts with their times. A few at a time are joined to one flat string: kept one by one, each would be several objects,
 * which the garbage collector copies twice before it leaves them alone.
 */

const JOINED = 32;

export class TextLog {
  readonly #chunks: string[] = [];
  #waiting: string[] = [];
  #length = 0;
  readonly #ends: number[] = [];
  readonly #times: number[] = [];

  get isEmpty(): boolean {
    return this.#ends.length === 0;
  }

  add(text: string, ms: number): void {
    this.#length += text.length;
    this.#ends.push(this.#length);
    this.#times.push(ms);
    this.#waiting.push(text);
    if (this.#waiting.length < JOINED) return;
    this.#chunks.push(this.#waiting.join(""));
    this.#waiting = [];
  }

  entries(): { ms: number; text: string }[] {
    const all = this.#chunks.join("") + this.#waiting.join("");
    let start = 0;
    return this.#ends.map((end, index) => {
      const text = all.slice(start, end);
      start = end;
      return { ms: this.#times[index] ?? 0, text };
    });
  }
}
