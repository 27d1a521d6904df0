/** The records that are kept. The oldest complete ones go when there are too many, too large or too old; pinned ones stay. */
import { type Begun, Entry, type EntryOptions, type RecordEntry } from "./entry.ts";
import { RecordBudget, type RecordLimits, RecordMemory } from "./limits.ts";

/** Why a record cannot be pinned. */
export type PinProblem = "missing" | "running" | "full";

/** Most pinned records. Together they may take half of the memory, so that new turns find room. */
export const MAX_PINNED = 20;

export class KeptRecords {
  readonly #limits: RecordLimits;
  readonly #now: () => Date;
  readonly #onChange: (entry: Entry) => void;
  readonly #memory: RecordMemory;
  /** By number, oldest first. */
  readonly #entries = new Map<number, Entry>();
  #count = 0;

  /** @param onChange called when a record is pinned, unpinned or dropped. */
  constructor(limits: RecordLimits, now: () => Date, onChange: (entry: Entry) => void) {
    this.#limits = limits;
    this.#now = now;
    this.#onChange = onChange;
    this.#memory = new RecordMemory(limits.maxTotalBytes, () => this.#dropOldest());
  }

  /** Oldest first. */
  get entries(): readonly RecordEntry[] {
    return [...this.#entries.values()];
  }

  /** By its number. */
  find(number: number): RecordEntry | undefined {
    return this.#entries.get(number);
  }

  createBudget(): RecordBudget {
    return new RecordBudget(this.#limits.maxRecordBytes, this.#memory);
  }

  add(begun: Begun, options: EntryOptions): Entry {
    const entry = new Entry(++this.#count, begun, options);
    this.#entries.set(entry.number, entry);
    if (this.#entries.size > this.#limits.maxRecords) this.#dropOldest();
    return entry;
  }

  /** Forgets all records that are complete, but those that are pinned. */
  clear(): void {
    for (const entry of this.#entries.values()) if (isDroppable(entry)) this.#drop(entry);
  }

  /** Forgets those that have become too old. To be called from time to time. */
  dropExpired(): void {
    const { maxAgeMs } = this.#limits;
    if (maxAgeMs === undefined) return;
    const oldest = this.#now().getTime() - maxAgeMs;
    for (const entry of this.#entries.values()) {
      if (entry.at < oldest && isDroppable(entry)) this.#drop(entry);
    }
  }

  /** Keeps a record until it is unpinned. Returns why it cannot be pinned. */
  pin(number: number): PinProblem | undefined {
    const entry = this.#entries.get(number);
    if (entry === undefined) return "missing";
    // What a running one will take is unknown.
    if (!entry.isComplete) return "running";
    if (entry.isPinned) return undefined;
    const pinned = [...this.#entries.values()].filter(({ isPinned }) => isPinned);
    const bytes = pinned.reduce((sum, each) => sum + each.bytes, entry.bytes);
    if (pinned.length >= MAX_PINNED || bytes > this.#limits.maxTotalBytes / 2) return "full";
    entry.isPinned = true;
    this.#onChange(entry);
    return undefined;
  }

  unpin(number: number): void {
    const entry = this.#entries.get(number);
    if (entry === undefined || !entry.isPinned) return;
    entry.isPinned = false;
    this.#onChange(entry);
  }

  #dropOldest(): boolean {
    for (const entry of this.#entries.values()) {
      if (!isDroppable(entry)) continue;
      this.#drop(entry);
      return true;
    }
    return false;
  }

  #drop(entry: Entry): void {
    this.#entries.delete(entry.number);
    entry.release();
    this.#onChange(entry);
  }
}

function isDroppable({ isComplete, isPinned }: Entry): boolean {
  return isComplete && !isPinned;
}
