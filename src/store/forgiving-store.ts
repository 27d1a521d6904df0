/**
 * A store whose troubles are nobody else's: down, slow or full, it answers as if it were empty, and the loss is
 * reported. A request waits for it no longer than it is worth waiting.
 */
import type { Store } from "./store.ts";

export type StoreOperation = "get" | "set" | "delete";

/** `resting`: not asked, because it has just failed several times. */
export type StoreFailure = "error" | "timeout" | "resting";

export interface ForgivingOptions {
  /** Longest wait for one operation. */
  readonly timeoutMs: number;
  /** Milliseconds. */
  readonly now: () => number;
  readonly onFailure: (operation: StoreOperation, failure: StoreFailure, error?: unknown) => void;
  /** It answers again. */
  readonly onRecovery: () => void;
}

/** So many failures in a row, and the store is left alone for a while: requests need not all wait for the timeout. */
const FAILURES_BEFORE_REST = 3;
const REST_MS = 1000;

/** Never rejects. */
export function createForgivingStore(store: Store, options: ForgivingOptions): Store {
  const { timeoutMs, now, onFailure, onRecovery } = options;
  let failures = 0;
  let restUntil = 0;

  async function attempt<T>(
    operation: StoreOperation,
    ask: () => Promise<T>,
  ): Promise<T | undefined> {
    if (now() < restUntil) {
      onFailure(operation, "resting");
      return undefined;
    }
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<typeof LATE>((resolve) => {
      timer = setTimeout(() => resolve(LATE), timeoutMs);
    });
    try {
      const result = await Promise.race([ask(), late]);
      if (result !== LATE) {
        if (failures > 0) onRecovery();
        failures = 0;
        return result;
      }
      failed(operation, "timeout");
    } catch (error) {
      failed(operation, "error", error);
    } finally {
      clearTimeout(timer);
    }
    return undefined;
  }

  function failed(operation: StoreOperation, failure: StoreFailure, error?: unknown): void {
    failures += 1;
    if (failures >= FAILURES_BEFORE_REST) restUntil = now() + REST_MS;
    onFailure(operation, failure, error);
  }

  return {
    get: (key) => attempt("get", () => store.get(key)),
    set: (key, value, ttlSeconds) => attempt("set", () => store.set(key, value, ttlSeconds)),
    delete: (key) => attempt("delete", () => store.delete(key)),
  };
}

const LATE = Symbol("late");
