/** Tracks which members or items of a value its schemas have evaluated, for `unevaluatedProperties` and `unevaluatedItems`. */
import type { Work } from "./work.ts";

export type Evaluated = "all" | ReadonlySet<string | number>;

/** The evaluated members or items of one value. Does nothing unless a schema needs them. */
export class EvaluatedMarks {
  readonly #wanted: boolean;
  readonly #work: Work;
  #keys: Set<string | number> | "all" | undefined;

  constructor(wanted: boolean, work: Work) {
    this.#wanted = wanted;
    this.#work = work;
  }

  get evaluated(): Evaluated | undefined {
    return this.#keys;
  }

  has(key: string | number): boolean {
    return this.#keys === "all" || this.#keys?.has(key) === true;
  }

  add(key: string | number): void {
    if (!this.#wanted || this.#keys === "all") return;
    this.#keys ??= new Set();
    this.#keys.add(key);
    this.#work.spend(1);
  }

  addAll(): void {
    if (this.#wanted) this.#keys = "all";
  }

  merge(evaluated: Evaluated | undefined): void {
    if (evaluated === "all") this.addAll();
    else for (const key of evaluated ?? []) this.add(key);
  }
}
