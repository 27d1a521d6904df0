/** Bounds of records in memory. Sizes are estimates in bytes: what the texts and numbers of a record take at least. */

export interface RecordLimits {
  /** Of one record. What comes after is left out, and the record says so. */
  readonly maxRecordBytes: number;
  /** Of all records together, those of running turns included. The oldest that are complete are dropped. */
  readonly maxTotalBytes: number;
  readonly maxRecords: number;
}

/** The memory that all records share. */
export class RecordMemory {
  #used = 0;
  readonly #max: number;
  readonly #dropOldest: () => boolean;

  /** @param dropOldest frees a complete record. Returns false if there is none. */
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

/** Counts what a record keeps, and what it had to leave out. */
export class RecordBudget {
  #used = 0;
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

  /** Whether there is room for `bytes` more. If not, `amount` of `what` is noted as left out. */
  take(bytes: number, what: string, amount = bytes): boolean {
    if (this.#used + bytes <= this.#max && this.#memory.take(bytes)) {
      this.#used += bytes;
      return true;
    }
    this.leaveOut(what, amount);
    return false;
  }

  leaveOut(what: string, amount: number): void {
    this.#cut.set(what, (this.#cut.get(what) ?? 0) + amount);
  }

  /** The record is gone. */
  release(): void {
    this.#memory.release(this.#used);
    this.#used = 0;
  }
}
