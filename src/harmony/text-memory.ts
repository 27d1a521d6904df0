/**
 * A cache of values derived from texts, such as encoded prompts. Conversations and tools are sent again with
 * every turn, in new strings. Deriving their values costs far more than recognising the text.
 */

/** A memory limit in approximate bytes, shared by several caches. */
export class MemoryBudget {
  #maxYoungBytes: number;
  readonly #memories: { age(): void }[] = [];
  #youngBytes = 0;

  /** 0 disables caching. */
  constructor(maxBytes: number) {
    this.#maxYoungBytes = maxBytes / 2;
  }

  /** Changes the size. A smaller budget drops all but the recently used entries at once. */
  resize(maxBytes: number): void {
    this.#maxYoungBytes = maxBytes / 2;
    if (this.#youngBytes > this.#maxYoungBytes) {
      this.#age();
      this.#age();
    }
  }

  join(memory: { age(): void }): void {
    this.#memories.push(memory);
  }

  /**
   * Reserves memory for an entry. Returns false if the entry is too large to cache. When the young entries of
   * all caches reach half of the budget, all caches age.
   */
  reserve(bytes: number): boolean {
    if (bytes > this.#maxYoungBytes) return false;
    if (this.#youngBytes + bytes > this.#maxYoungBytes) this.#age();
    this.#youngBytes += bytes;
    return true;
  }

  release(bytes: number): void {
    this.#youngBytes -= bytes;
  }

  #age(): void {
    for (const memory of this.#memories) memory.age();
    this.#youngBytes = 0;
  }
}

interface TextMemoryOptions<V> {
  readonly budget: MemoryBudget;
  /** Approximate size of a text and its value in bytes. */
  readonly bytesOf: (text: string, value: V) => number;
}

interface RememberOptions<V> extends TextMemoryOptions<V> {
  /** Whether texts are copied first, because they are slices of a longer text that V8 would keep in memory. */
  readonly copies?: boolean;
}

/** Maximum entries per fingerprint. Bounds the comparisons of a lookup. */
const MAX_BUCKET = 16;
/** Character codes in a fingerprint, in addition to the length: this many at regular intervals… */
const SAMPLES = 64;
/** …and this many at the beginning, where similar texts differ: in a number, a name, a path. */
const HEAD = 32;

interface Entry<V> {
  readonly scope: string;
  readonly text: string;
  readonly value: V;
  readonly bytes: number;
}

type Entries<V> = Map<number, Entry<V>[]>;

/**
 * Values by text. A scope finds only its own entries: otherwise response times would reveal one tenant's texts to
 * another.
 *
 * Two generations replace an LRU list. A lookup moves an entry to the young generation. When that reaches
 * half of the budget, it becomes the old one, and the previous old entries are evicted.
 */
export class TextMemory<V extends object> {
  readonly #options: TextMemoryOptions<V>;
  #young: Entries<V> = new Map();
  #old: Entries<V> = new Map();

  constructor(options: TextMemoryOptions<V>) {
    this.#options = options;
    options.budget.join(this);
  }

  find(text: string, scope: string): V | undefined {
    const key = fingerprint(text);
    const known = find(this.#young, key, text, scope);
    if (known !== undefined) return known.value;
    const entry = find(this.#old, key, text, scope);
    if (entry !== undefined) this.#put(key, entry);
    return entry?.value;
  }

  keep(text: string, scope: string, value: V): void {
    const bytes = this.#options.bytesOf(text, value);
    this.#put(fingerprint(text), { scope, text, value, bytes });
  }

  /** Drops the old generation. Called by the budget. */
  age(): void {
    this.#old = this.#young;
    this.#young = new Map();
  }

  #put(key: number, entry: Entry<V>): void {
    const { budget } = this.#options;
    if (!budget.reserve(entry.bytes)) return;
    const bucket = this.#young.get(key);
    if (bucket === undefined) {
      this.#young.set(key, [entry]);
      return;
    }
    bucket.push(entry);
    const forgotten = bucket.length > MAX_BUCKET ? bucket.shift() : undefined;
    if (forgotten) budget.release(forgotten.bytes);
  }
}

/** Bytes of a text in memory: V8 stores one byte per character if all are Latin-1, otherwise two. */
export function textBytes(text: string): number {
  return /[\u0100-\uffff]/.test(text) ? 2 * text.length : text.length;
}

/** Memoizes `make` by text and scope. Errors thrown by `make` are not cached. */
export function rememberByText<V extends object>(
  make: (text: string) => V,
  { copies = false, ...options }: RememberOptions<V>,
): (text: string, scope: string) => V {
  const memory = new TextMemory(options);
  return (text, scope) => {
    const known = memory.find(text, scope);
    if (known !== undefined) return known;
    const own = copies ? copy(text) : text;
    const value = make(own);
    memory.keep(own, scope, value);
    return value;
  };
}

/** Joining creates a new string. Other operations of V8 may return a reference to the old one. */
function copy(text: string): string {
  return [text.slice(0, 1), text.slice(1)].join("");
}

function find<V>(
  entries: Entries<V>,
  key: number,
  text: string,
  scope: string,
): Entry<V> | undefined {
  return entries.get(key)?.find((entry) => entry.text === text && entry.scope === scope);
}

/**
 * A hash that differs for most different texts. A map keyed by text would be as fast where bodies are remembered, but V8 hashes a
 * text of more than 16,383 characters by its length alone: the look-ups of 485 such texts took 200 ms. Sampling less is worse:
 * with 24 characters, a quarter of 311 similar messages collided and were encoded every time.
 */
function fingerprint(text: string): number {
  const step = Math.max(1, Math.floor(text.length / SAMPLES));
  let hash = text.length;
  for (let at = text.length - 1; at >= 0; at -= step) {
    hash = (Math.imul(hash, 31) + text.charCodeAt(at)) | 0;
  }
  if (step === 1) return hash;
  for (let at = 0; at < HEAD; at++) hash = (Math.imul(hash, 31) + text.charCodeAt(at)) | 0;
  return hash;
}
