/** Memory limits of records. Sizes are estimates in bytes, of the texts and numbers in a record. */

/** More recorded turns are more than a list can show. The memory for them has a setting. */
export const MAX_RECORDS = 1000;

export interface RecordLimits {
  /** Limit for one record. What exceeds it is left out, and the record says so. */
  readonly maxRecordBytes: number;
  /** Limit for all records, running turns included. The oldest complete ones are dropped. */
  readonly maxTotalBytes: number;
  readonly maxRecords: number;
  /** Complete records that began longer ago are dropped, in milliseconds. Absent: age is no reason. */
  readonly maxAgeMs?: number;
}

/** The memory of all records together. */
export class RecordMemory {
  #used = 0;
  readonly #max: number;
  readonly #dropOldest: () => boolean;

  /** @param dropOldest frees the oldest complete record; returns false if there is none */
  constructor(maxBytes: number, dropOldest: () => boolean) {
    this.#max = maxBytes;
    this.#dropOldest = dropOldest;
  }

  get used(): number {
    return this.#used;
  }

  take(bytes: number): boolean {
    while (this.#used + bytes > this.#max) if (!this.#dropOldest()) return false;
    this.#used += bytes;
    return true;
  }

  release(bytes: number): void {
    this.#used -= bytes;
  }
}

/** Counts the bytes that a record takes, and what was left out of it. */
export class RecordBudget {
  #used = 0;
  #holders = 1;
  readonly #max: number;
  readonly #memory: RecordMemory;
  readonly #cut = new Map<string, number>();

  constructor(maxBytes: number, memory: RecordMemory) {
    this.#max = maxBytes;
    this.#memory = memory;
  }

  get used(): number {
    return this.#used;
  }

  get cut(): readonly { readonly what: string; readonly left: number }[] {
    return [...this.#cut].map(([what, left]) => ({ what, left }));
  }

  /**
   * Reserves bytes. If there is no room, notes that `amount` of `what` was left out, and returns false. Later ones of the same
   * kind are left out too, so that what is kept of a kind is its beginning.
   */
  take(bytes: number, what: string, amount: number): boolean {
    const left = this.#cut.get(what);
    if (left === undefined && this.#used + bytes <= this.#max && this.#memory.take(bytes)) {
      this.#used += bytes;
      return true;
    }
    this.leaveOut(what, amount);
    return false;
  }

  leaveOut(what: string, amount: number): void {
    this.#cut.set(what, (this.#cut.get(what) ?? 0) + amount);
  }

  /** Another record shares what is counted. */
  hold(): void {
    this.#holders += 1;
  }

  /** Frees the memory when each record that shares it has been dropped. */
  release(): void {
    this.#holders -= 1;
    if (this.#holders > 0) return;
    this.#memory.release(this.#used);
    this.#used = 0;
  }
}
