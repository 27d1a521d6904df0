/**
 * A store with a timeout and a circuit breaker, whose failures are reported. Rejects with a {@link StoreError}, because
 * clients rely on what is stored here. Where a loss only costs quality, see `forgiving-store.ts`.
 */
import { byteLength } from "./byte-length.ts";
import { StoreError } from "./store-error.ts";
import type { Store } from "./store.ts";

export type StoreOperation = "get" | "set" | "delete";

/** `resting`: the circuit breaker is open, because the store has just failed several times. */
export type StoreFailure = "error" | "timeout" | "resting";

export interface GuardOptions {
  /** Timeout of one operation. */
  readonly timeoutMs: number;
  /** Maximum size of a value, in UTF-8 bytes. Absent: limited by the store only. */
  readonly maxEntryBytes?: number;
  /** Monotonic, in milliseconds. */
  readonly now: () => number;
  readonly onFailure: (operation: StoreOperation, failure: StoreFailure, error?: unknown) => void;
  /** The first success after a failure. */
  readonly onRecovery: () => void;
}

export interface GuardedStore extends Store {
  readonly maxEntryBytes: number;
  /**
   * Rejects if the store is known to fail. Costs nothing while the store works: only after a failure does it
   * send a request, to find out whether the store works again.
   */
  check(): Promise<void>;
}

/** Consecutive failures after which the circuit opens, so that requests need not wait for the timeout. */
const FAILURES_BEFORE_REST = 3;
const REST_MS = 1000;

/** A key that is never written. */
const PROBE_KEY = "probe";

export function createGuardedStore(store: Store, options: GuardOptions): GuardedStore {
  const { timeoutMs, maxEntryBytes = Infinity, now, onFailure, onRecovery } = options;
  let failures = 0;
  let restUntil = 0;

  async function attempt<T>(operation: StoreOperation, ask: () => Promise<T>): Promise<T> {
    if (now() < restUntil) {
      onFailure(operation, "resting");
      throw unavailable();
    }
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<typeof LATE>((resolve) => {
      timer = setTimeout(() => resolve(LATE), timeoutMs);
    });
    let result: T | typeof LATE;
    try {
      result = await Promise.race([ask(), late]);
    } catch (error) {
      failed(operation, "error", error);
      throw unavailable(error);
    } finally {
      clearTimeout(timer);
    }
    if (result === LATE) {
      failed(operation, "timeout");
      throw unavailable();
    }
    if (failures > 0) onRecovery();
    failures = 0;
    return result;
  }

  function failed(operation: StoreOperation, failure: StoreFailure, error?: unknown): void {
    failures += 1;
    if (failures >= FAILURES_BEFORE_REST) restUntil = now() + REST_MS;
    onFailure(operation, failure, error);
  }

  return {
    maxEntryBytes,
    get: (key) => attempt("get", () => store.get(key)),
    async set(key, value, ttlSeconds, tenant) {
      if (value.length > maxEntryBytes || byteLength(value) > maxEntryBytes) return false;
      return attempt("set", () => store.set(key, value, ttlSeconds, tenant));
    },
    delete: (key) => attempt("delete", () => store.delete(key)),
    async check() {
      if (failures > 0) await attempt("get", () => store.get(PROBE_KEY));
    },
  };
}

function unavailable(cause?: unknown): StoreError {
  return new StoreError("unavailable", "The store does not answer.", cause);
}

const LATE = Symbol("late");
