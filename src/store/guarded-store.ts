/**
 * A store with a timeout and circuit breakers, whose failures are reported. Rejects with a {@link StoreError}, because clients
 * rely on stored data. For data whose loss only costs quality, see `forgiving-store.ts`.
 *
 * Reads and writes have separate breakers: a full store, or a replica, can still be read. An error answer of the store opens
 * neither, because it may concern a single entry.
 */
import { partOf, type ProcessState } from "../lazy.ts";
import { StoreError, StoreRefusal } from "./store-error.ts";
import { byteLength, readMany, type Store } from "./store.ts";

type StoreOperation = "get" | "set" | "delete";

/**
 * - `refused`: the store answered with an error
 * - `resting`: the circuit breaker is open, because the store has just failed several times
 */
type StoreFailure = "error" | "timeout" | "refused" | "resting";

interface GuardOptions {
  /** Timeout of one operation. */
  readonly timeoutMs: number;
  /** Maximum size of a value, in UTF-8 bytes. Absent: limited by the store only. */
  readonly maxEntryBytes?: number;
  /** Monotonic time, in milliseconds. */
  readonly now: () => number;
  readonly onFailure: (operation: StoreOperation, failure: StoreFailure, error?: unknown) => void;
  /** Called when reads and writes succeed again, and none has failed for a while. */
  readonly onRecovery: () => void;
  /** The state with the store's recent failures. Absent: there is no earlier state. */
  readonly state?: ProcessState;
}

export interface GuardedStore extends Store {
  readonly maxEntryBytes: number;
  readonly staleMs: number;
  readonly paceMs: number;
  /** Maximum time of a read followed by a write. */
  readonly changeMs: number;
  /**
   * Rejects if reading or writing is known to fail. Costs nothing while the store works: only after a failure is there a request to
   * the store, which tests whether it works again.
   */
  check(): Promise<void>;
}

/** Consecutive outages after which a circuit opens, so that requests need not wait for the timeout. */
const FAILURES_BEFORE_REST = 3;
const REST_MS = 1000;

/** Key of an entry that only tests the store. */
const PROBE_KEY = "probe";
const PROBE_TTL_SECONDS = 60;

export function createGuardedStore(store: Store, options: GuardOptions): GuardedStore {
  const { maxEntryBytes = Infinity } = options;
  const writeWaitMs = store.writeWaitMs ?? 0;
  const guard = new StoreGuard(options, writeWaitMs);
  const get = (key: string) => guard.read(() => store.get(key));
  const set: Store["set"] = (...entry) => guard.write("set", () => store.set(...entry));

  return {
    maxEntryBytes,
    staleMs: store.staleMs ?? 0,
    paceMs: store.paceMs ?? 0,
    changeMs: 2 * options.timeoutMs + writeWaitMs,
    get,
    // Without `getMany` each entry is a separate operation: an unreadable entry affects no other.
    ...(store.getMany !== undefined && {
      getMany: (keys: readonly string[]) => guard.read(() => readMany(store, keys)),
    }),
    async set(key, value, ttlSeconds, tenant) {
      if (!fits(value, maxEntryBytes)) return false;
      return set(key, value, ttlSeconds, tenant);
    },
    delete: (key) => guard.write("delete", () => store.delete(key)),
    async check() {
      if (guard.areReadsFailing) await get(PROBE_KEY);
      // The key is always new: KV refuses more than one write a second of the same key.
      const key = `${PROBE_KEY}:${crypto.randomUUID()}`;
      if (guard.areWritesFailing) await set(key, "", PROBE_TTL_SECONDS, "");
    },
  };
}

interface Circuits {
  readonly reads: Circuit;
  readonly writes: Circuit;
  /** Time of the last reported failure. Undefined: its end was reported. */
  failedAt: number | undefined;
}

const circuitsIn = partOf((): Circuits => {
  const reads = { isFailing: false, outages: 0, restUntil: -Infinity };
  return { reads, writes: { ...reads }, failedAt: undefined };
});

/** The recent failures of reads, or of writes. */
interface Circuit {
  /** The last operation has failed. */
  isFailing: boolean;
  /** Consecutive outages without any answer. */
  outages: number;
  restUntil: number;
}

/** Runs operations within their timeout, while their circuit is closed, and reports failures. */
class StoreGuard {
  readonly #options: GuardOptions;
  readonly #writeWaitMs: number;
  readonly #circuits: Circuits;

  /** @param writeWaitMs additional time of a write. */
  constructor(options: GuardOptions, writeWaitMs: number) {
    this.#options = options;
    this.#writeWaitMs = writeWaitMs;
    this.#circuits = circuitsIn(options.state);
  }

  get areReadsFailing(): boolean {
    return this.#circuits.reads.isFailing;
  }

  get areWritesFailing(): boolean {
    return this.#circuits.writes.isFailing;
  }

  read<T>(ask: () => Promise<T>): Promise<T> {
    return this.#attempt(this.#circuits.reads, "get", this.#options.timeoutMs, ask);
  }

  write<T>(operation: "set" | "delete", ask: () => Promise<T>): Promise<T> {
    const limitMs = this.#options.timeoutMs + this.#writeWaitMs;
    return this.#attempt(this.#circuits.writes, operation, limitMs, ask);
  }

  async #attempt<T>(
    circuit: Circuit,
    operation: StoreOperation,
    limitMs: number,
    ask: () => Promise<T>,
  ): Promise<T> {
    const { now, onFailure } = this.#options;
    if (now() < circuit.restUntil) {
      onFailure(operation, "resting");
      throw unavailable();
    }
    let timer: ReturnType<typeof setTimeout> | undefined;
    const timeout = new Promise<typeof LATE>((resolve) => {
      timer = setTimeout(() => resolve(LATE), limitMs);
    });
    let result: T | typeof LATE;
    try {
      result = await Promise.race([ask(), timeout]);
    } catch (error) {
      const failure = error instanceof StoreRefusal ? "refused" : "error";
      this.#noteFailure(circuit, operation, failure, error);
      throw unavailable(error);
    } finally {
      clearTimeout(timer);
    }
    if (result === LATE) {
      const late = new Error(`There was no answer within ${limitMs} ms (setting storeTimeoutMs).`);
      this.#noteFailure(circuit, operation, "timeout", late);
      throw unavailable();
    }
    this.#noteSuccess(circuit);
    return result;
  }

  #noteFailure(
    circuit: Circuit,
    operation: StoreOperation,
    failure: StoreFailure,
    error: unknown,
  ): void {
    const { now, onFailure } = this.#options;
    circuit.isFailing = true;
    circuit.outages = failure === "refused" ? 0 : circuit.outages + 1;
    if (circuit.outages >= FAILURES_BEFORE_REST) circuit.restUntil = now() + REST_MS;
    this.#circuits.failedAt = now();
    onFailure(operation, failure, error);
  }

  #noteSuccess(circuit: Circuit): void {
    const { now, onRecovery } = this.#options;
    circuit.isFailing = false;
    circuit.outages = 0;
    if (this.#circuits.failedAt === undefined || this.areReadsFailing || this.areWritesFailing)
      return;
    // A few refused entries among others that succeed are one failure.
    if (now() - this.#circuits.failedAt < REST_MS) return;
    this.#circuits.failedAt = undefined;
    onRecovery();
  }
}

/** Whether a value fits. A character has one to three bytes, so only a value near the limit is counted. */
function fits(value: string, maxBytes: number): boolean {
  if (value.length > maxBytes) return false;
  return value.length * 3 <= maxBytes || byteLength(value) <= maxBytes;
}

function unavailable(cause?: unknown): StoreError {
  return cause instanceof StoreRefusal
    ? new StoreError("unavailable", "The store has refused the operation.", cause)
    : new StoreError("unavailable", "The store does not answer.", cause);
}

const LATE = Symbol("late");

/** A store whose operations never reject. The guarded store has reported the failure already. */
export function createForgivingStore(store: GuardedStore): Store {
  return {
    get: (key) => store.get(key).catch(() => undefined),
    set: (key, value, ttlSeconds, tenant) =>
      store.set(key, value, ttlSeconds, tenant).catch(() => false),
    delete: (key) => store.delete(key).catch(() => {}),
    ...(store.getMany !== undefined && {
      getMany: async (keys) => (await store.getMany?.(keys).catch(() => undefined)) ?? new Map(),
    }),
  };
}
