/**
 * Cloudflare's KV as a store, for Workers.
 *
 * KV is eventually consistent: another location may see an entry up to a minute late, so a loop whose requests move between
 * locations can miss stored data. KV accepts one write a second for each key, and a thousand operations in one invocation, of
 * which a read of a hundred keys is one. Entries live for at least a minute, with any TTL.
 */
import { sleep } from "../streams/timers.ts";
import { isRefusal, StoreRefusal } from "./store-error.ts";
import type { Store } from "./store.ts";

/** The members of a KV namespace that are used. */
export interface KvNamespace {
  get(key: string): Promise<string | null>;
  get(keys: string[]): Promise<ReadonlyMap<string, string | null>>;
  put(key: string, value: string, options?: { expirationTtl?: number }): Promise<void>;
  delete(key: string): Promise<void>;
}

export function isKvNamespace(value: unknown): value is KvNamespace {
  return hasMethods(value, ["get", "put", "delete"]);
}

/** Whether the value is a binding with these methods. */
export function hasMethods(value: unknown, names: readonly string[]): boolean {
  return (
    typeof value === "object" &&
    value !== null &&
    names.every((name) => typeof Reflect.get(value, name) === "function")
  );
}

/** Minimum TTL that KV accepts. */
const SHORTEST_TTL_SECONDS = 60;
/** Lifetime of a location's cache, which includes misses. */
const CACHE_MS = 60_000;
/** Timeout of an operation. An entry without a local copy comes from a distant location. */
const TIMEOUT_MS = 3000;
/** Minimum time between two writes of a key. */
const WRITE_EVERY_MS = 1000;
/** Maximum total wait of one write. Another location may write the key as well, so KV may refuse a write that has waited. */
const MAX_WRITE_WAIT_MS = 3 * WRITE_EVERY_MS;
/** Minimum time between writes. A background response of half an hour then takes fewer operations than one invocation may use. */
const PACE_MS = 2000;
/** Maximum keys of one read. */
const MAX_KEYS = 100;

/**
 * @example
 * ```ts
 * import { createKvStore } from "harmony-gateway";
 *
 * // On Workers: createKvStore(env.STORE)
 * const values = new Map<string, string>();
 * const get = async (keys: string | string[]): Promise<any> =>
 *   typeof keys === "string"
 *     ? (values.get(keys) ?? null)
 *     : new Map(keys.map((key) => [key, values.get(key) ?? null]));
 * const store = createKvStore({
 *   get,
 *   put: async (key, value) => void values.set(key, value),
 *   delete: async (key) => void values.delete(key),
 * });
 * await store.set("key", "value", 60, "alice");
 * await store.get("key"); // => "value"
 * ```
 */
export function createKvStore(namespace: KvNamespace): Store {
  const waitForTurn = createWriteTurns();

  async function write(key: string, ask: () => Promise<void>): Promise<void> {
    const latest = performance.now() + MAX_WRITE_WAIT_MS;
    await waitForTurn(key, latest);
    try {
      await answered(ask);
    } catch (error) {
      if (!isRefusal(error, TOO_OFTEN)) throw error;
      await waitForTurn(key, latest);
      await answered(ask);
    }
  }

  async function getMany(keys: readonly string[]): Promise<[string, string | null][]> {
    try {
      return [...(await answered(() => namespace.get([...keys])))];
    } catch (error) {
      if (!isRefusal(error, TOO_LARGE) || keys.length < 2) throw error;
      const half = keys.length >> 1;
      const halves = [keys.slice(0, half), keys.slice(half)];
      return (await Promise.all(halves.map(getMany))).flat();
    }
  }

  return {
    staleMs: CACHE_MS,
    timeoutMs: TIMEOUT_MS,
    writeWaitMs: MAX_WRITE_WAIT_MS,
    paceMs: PACE_MS,
    get: async (key) => (await answered(() => namespace.get(key))) ?? undefined,
    async getMany(keys) {
      const slices: Promise<[string, string | null][]>[] = [];
      for (let at = 0; at < keys.length; at += MAX_KEYS) {
        slices.push(getMany(keys.slice(at, at + MAX_KEYS)));
      }
      const values = (await Promise.all(slices)).flat();
      return new Map(values.flatMap(([key, value]) => (value === null ? [] : [[key, value]])));
    },
    async set(key, value, ttlSeconds) {
      const expirationTtl = Math.max(ttlSeconds, SHORTEST_TTL_SECONDS);
      try {
        await write(key, () => namespace.put(key, value, { expirationTtl }));
        return true;
      } catch (error) {
        if (isRefusal(error, TOO_LARGE)) return false;
        throw error;
      }
    },
    delete: (key) => write(key, () => namespace.delete(key)),
  };
}

/**
 * Schedules the writes of a key, one a second, in the order of the calls. Each write has a separate timer: on Workers, a request
 * cannot wait for the timer of another one.
 */
function createWriteTurns(): (key: string, latest: number) => Promise<void> {
  /** The latest scheduled write of each key, in the order of scheduling. */
  const turns = new Map<string, number>();
  return async (key, latest) => {
    const now = performance.now();
    for (const [oldest, turn] of turns) {
      if (turn + WRITE_EVERY_MS > now) break;
      turns.delete(oldest);
    }
    const turn = Math.max(now, (turns.get(key) ?? -Infinity) + WRITE_EVERY_MS);
    if (turn > latest) {
      throw new StoreRefusal(TOO_OFTEN, "KV takes one write a second for each key.");
    }
    turns.delete(key);
    turns.set(key, turn);
    if (turn > now) await sleep(turn - now);
  };
}

const TOO_OFTEN = "429";
const TOO_LARGE = "413";

/** Converts refusals: a key is written too often, or one invocation has used up its operations, without an outage for others. */
async function answered<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    const { message } = error instanceof Error ? error : new Error("");
    const code = /^KV \w+ failed: (4\d\d)\b/.exec(message)?.[1] ?? /^Too many/.exec(message)?.[0];
    if (code === undefined) throw error;
    throw new StoreRefusal(code, `KV answered: ${code}.`, error);
  }
}
