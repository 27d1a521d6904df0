/**
 * A store with a timeout and circuit breakers, whose failures are reported. Rejects with a {@link StoreError}, because
 * clients rely on what is stored here. Where a loss only costs quality, see `forgiving-store.ts`.
 *
 * Reads and writes have a breaker each: a store that is full, or has become a replica, can still be read. An error that the
 * store answered opens neither, because it may concern a single entry.
 */
import { byteLength } from "./byte-length.ts";
import { StoreError, StoreRefusal } from "./store-error.ts";
import { readMany, type Store } from "./store.ts";

export type StoreOperation = "get" | "set" | "delete";

/**
 * - `refused`: the store answered with an error
 * - `resting`: the circuit breaker is open, because the store has just failed several times
 */
export type StoreFailure = "error" | "timeout" | "refused" | "resting";

export interface GuardOptions {
  /** Timeout of one operation. */
  readonly timeoutMs: number;
  /** Maximum size of a value, in UTF-8 bytes. Absent: limited by the store only. */
  readonly maxEntryBytes?: number;
  /** Monotonic, in milliseconds. */
  readonly now: () => number;
  readonly onFailure: (operation: StoreOperation, failure: StoreFailure, error?: unknown) => void;
  /** Reads and writes succeed again, and none has failed for a while. */
  readonly onRecovery: () => void;
}

export interface GuardedStore extends Store {
  readonly maxEntryBytes: number;
  readonly staleMs: number;
  readonly paceMs: number;
  /**
   * Rejects if reading or writing is known to fail. Costs nothing while the store works: only after a failure does it
   * send a request, to find out whether the store works again.
   */
  check(): Promise<void>;
}

/** Consecutive outages after which a circuit opens, so that requests need not wait for the timeout. */
const FAILURES_BEFORE_REST = 3;
const REST_MS = 1000;

/** Read and written only to find out whether the store works. */
const PROBE_KEY = "probe";
const PROBE_TTL_SECONDS = 60;

/** The recent failures of reads, or of writes. */
interface Circuit {
  /** The last operation has failed. */
  isFailing: boolean;
  /** Consecutive ones without any answer. */
  outages: number;
  restUntil: number;
}

export function createGuardedStore(store: Store, options: GuardOptions): GuardedStore {
  const { timeoutMs, maxEntryBytes = Infinity, now, onFailure, onRecovery } = options;
  const writeTimeoutMs = timeoutMs + (store.writeWaitMs ?? 0);
  const reads: Circuit = { isFailing: false, outages: 0, restUntil: -Infinity };
  const writes: Circuit = { ...reads };
  /** The last reported failure; undefined once its end has been reported. */
  let failedAt: number | undefined;

  async function attempt<T>(
    circuit: Circuit,
    operation: StoreOperation,
    ask: () => Promise<T>,
  ): Promise<T> {
    const limitMs = circuit === reads ? timeoutMs : writeTimeoutMs;
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
      failed(circuit, operation, error instanceof StoreRefusal ? "refused" : "error", error);
      throw unavailable(error);
    } finally {
      clearTimeout(timer);
    }
    if (result === LATE) {
      const late = new Error(`There was no answer within ${limitMs} ms (setting storeTimeoutMs).`);
      failed(circuit, operation, "timeout", late);
      throw unavailable();
    }
    succeeded(circuit);
    return result;
  }

  function failed(
    circuit: Circuit,
    operation: StoreOperation,
    failure: StoreFailure,
    error?: unknown,
  ): void {
    circuit.isFailing = true;
    circuit.outages = failure === "refused" ? 0 : circuit.outages + 1;
    if (circuit.outages >= FAILURES_BEFORE_REST) circuit.restUntil = now() + REST_MS;
    failedAt = now();
    onFailure(operation, failure, error);
  }

  function succeeded(circuit: Circuit): void {
    circuit.isFailing = false;
    circuit.outages = 0;
    if (failedAt === undefined || reads.isFailing || writes.isFailing) return;
    // Some entries may be refused while others succeed: that is one failure, not many.
    if (now() - failedAt < REST_MS) return;
    failedAt = undefined;
    onRecovery();
  }

  const get = (key: string) => attempt(reads, "get", () => store.get(key));
  const set: Store["set"] = (...entry) => attempt(writes, "set", () => store.set(...entry));

  return {
    maxEntryBytes,
    staleMs: store.staleMs ?? 0,
    paceMs: store.paceMs ?? 0,
    get,
    // Elsewhere each entry is an operation of its own: one that cannot be read costs no other.
    ...(store.getMany !== undefined && {
      getMany: (keys: readonly string[]) => attempt(reads, "get", () => readMany(store, keys)),
    }),
    async set(key, value, ttlSeconds, tenant) {
      if (!fits(value, maxEntryBytes)) return false;
      return set(key, value, ttlSeconds, tenant);
    },
    delete: (key) => attempt(writes, "delete", () => store.delete(key)),
    async check() {
      if (reads.isFailing) await get(PROBE_KEY);
      // Each time another key: KV refuses to write one more than once a second.
      const key = `${PROBE_KEY}:${crypto.randomUUID()}`;
      if (writes.isFailing) await set(key, "", PROBE_TTL_SECONDS, "");
    },
  };
}

/** A character has one to three bytes, so only a value near the limit is counted. */
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
