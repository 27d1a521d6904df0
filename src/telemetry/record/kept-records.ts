/** The kept records. The oldest complete ones are dropped at the limits of number, size and age; pinned ones stay. */
import { type Begun, Entry, type EntryOptions, type RecordEntry } from "./entry.ts";
import { RecordBudget, type RecordLimits, RecordMemory } from "./limits.ts";

/** The reason why a record cannot be pinned. */
export type PinProblem = "missing" | "running" | "full";

/** Maximum pinned records. Together they may take half of the memory, so that new turns find room. */
export const MAX_PINNED = 20;

export class KeptRecords {
  readonly #limits: RecordLimits;
  readonly #now: () => Date;
  readonly #onChange: (entry: Entry) => void;
  readonly #memory: RecordMemory;
  /** Records by number, oldest first. */
  readonly #entries = new Map<number, Entry>();
  #count = 0;

  /** @param onChange called when a record is pinned, unpinned or dropped. */
  constructor(limits: RecordLimits, now: () => Date, onChange: (entry: Entry) => void) {
    this.#limits = limits;
    this.#now = now;
    this.#onChange = onChange;
    this.#memory = new RecordMemory(limits.maxTotalBytes, () => this.#dropOldest());
  }

  /** All records, oldest first. */
  get entries(): readonly RecordEntry[] {
    return [...this.#entries.values()];
  }

  /** Finds a record by its number. */
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

  /** Drops all complete records that are not pinned. */
  clear(): void {
    for (const entry of this.#entries.values()) if (isDroppable(entry)) this.#drop(entry);
  }

  /** Drops records beyond the maximum age. Must be called periodically. */
  dropExpired(): void {
    const { maxAgeMs } = this.#limits;
    if (maxAgeMs === undefined) return;
    const oldest = this.#now().getTime() - maxAgeMs;
    for (const entry of this.#entries.values()) {
      if (entry.at < oldest && isDroppable(entry)) this.#drop(entry);
    }
  }

  /** Keeps a record until it is unpinned. Returns the reason if it cannot be pinned. */
  pin(number: number): PinProblem | undefined {
    const entry = this.#entries.get(number);
    if (entry === undefined) return "missing";
    // The final size of a running turn is unknown.
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
