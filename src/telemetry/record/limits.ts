/** Memory limits of records. Sizes are estimates in bytes, of the texts and numbers in a record. */

/** Maximum recorded turns: a list cannot show more. Their memory is limited by a setting. */
export const MAX_RECORDS = 1000;

export interface RecordLimits {
  /** Limit for one record. Content beyond it is left out and counted in the record. */
  readonly maxRecordBytes: number;
  /** Limit for all records, including running turns. The oldest complete ones are dropped. */
  readonly maxTotalBytes: number;
  readonly maxRecords: number;
  /** Maximum age of complete records since their start, in milliseconds. Absent: unlimited. */
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

/** Counts the bytes of a record, and the parts that were left out. */
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
   * Reserves bytes. If there is no room, notes that `amount` of `what` was left out, and returns false. Later parts of that kind
   * are left out too, so that the kept ones are the first.
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

  /** Adds a record that shares the counted bytes. */
  hold(): void {
    this.#holders += 1;
  }

  /** Frees the memory when all records that share it have been dropped. */
  release(): void {
    this.#holders -= 1;
    if (this.#holders > 0) return;
    this.#memory.release(this.#used);
    this.#used = 0;
  }
}
