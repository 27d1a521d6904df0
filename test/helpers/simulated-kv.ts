/**
 * Cloudflare's KV with its rules in production, which its local simulation omits: a key is written at most once a
 * second, each location caches what it has read for a minute, misses included, and one invocation has a thousand
 * operations, of which a read of up to a hundred keys is one.
 */
import { sleep } from "../../src/streams/timers.ts";
import type { KvNamespace } from "../../src/index.ts";

export interface SimulatedKv {
  /** The namespace as bound in one location. All share their entries. */
  at(location: string): KvNamespace;
  /** From now on, operations belong to another invocation. */
  beginInvocation(): void;
  /** Operations of this invocation so far. */
  readonly operations: number;
  /** Writes so far, rejected ones included. */
  readonly writes: number;
  /** Messages of the rejections so far. */
  readonly rejected: readonly string[];
}

const CACHE_MS = 60_000;
const WRITE_EVERY_MS = 1000;
const MAX_OPERATIONS = 1000;
const SHORTEST_TTL_SECONDS = 60;
const MAX_VALUE_BYTES = 25 * 1024 * 1024;
const MAX_KEY_BYTES = 512;
const MAX_KEYS = 100;
const MAX_BULK_BYTES = 25 * 1024 * 1024;

/**
 * Times are those of `Date`.
 *
 * @param readMs duration of a read that its location has not cached.
 */
export function createSimulatedKv({ readMs = 0 } = {}): SimulatedKv {
  const entries = new Map<string, { readonly value: string; readonly until: number }>();
  const writtenAt = new Map<string, number>();
  const rejected: string[] = [];
  let operations = 0;
  let writes = 0;

  function reject(message: string): never {
    rejected.push(message);
    throw new Error(message);
  }

  function begin(operation: string, key: string): void {
    operations += 1;
    if (operations > MAX_OPERATIONS) reject("Too many API requests by single Worker invocation.");
    if (Buffer.byteLength(key) > MAX_KEY_BYTES) {
      reject(
        `KV ${operation} failed: 414 UTF-8 encoded length of ${key.length} exceeds key length limit of 512.`,
      );
    }
  }

  function beginWrite(operation: string, key: string): void {
    writes += 1;
    begin(operation, key);
    const last = writtenAt.get(key) ?? -Infinity;
    if (Date.now() - last < WRITE_EVERY_MS) reject(`KV ${operation} failed: 429 Too Many Requests`);
    writtenAt.set(key, Date.now());
  }

  function current(key: string): string | null {
    const entry = entries.get(key);
    return entry === undefined || entry.until <= Date.now() ? null : entry.value;
  }

  return {
    beginInvocation() {
      operations = 0;
    },
    get operations() {
      return operations;
    },
    get writes() {
      return writes;
    },
    rejected,
    at() {
      const cache = new Map<string, { readonly value: string | null; readonly until: number }>();
      const remember = (key: string): string | null => {
        const value = current(key);
        cache.set(key, { value, until: Date.now() + CACHE_MS });
        return value;
      };
      const isCached = (key: string) => (cache.get(key)?.until ?? -Infinity) > Date.now();
      const read = (key: string) =>
        isCached(key) ? (cache.get(key)?.value ?? null) : remember(key);

      function get(key: string): Promise<string | null>;
      function get(keys: string[]): Promise<ReadonlyMap<string, string | null>>;
      async function get(asked: string | string[]): Promise<any> {
        const keys = typeof asked === "string" ? [asked] : asked;
        const operation = typeof asked === "string" ? "GET" : "GET_BULK";
        if (keys.length > MAX_KEYS) {
          reject(`KV ${operation} failed: 400 You can request a maximum of 100 keys`);
        }
        begin(operation, keys[0] ?? "");
        if (readMs > 0 && !keys.every(isCached)) await sleep(readMs);
        if (typeof asked === "string") return read(asked);
        const values = new Map(keys.map((key) => [key, read(key)]));
        const bytes = [...values.values()].reduce(
          (sum, each) => sum + Buffer.byteLength(each ?? ""),
          0,
        );
        if (bytes > MAX_BULK_BYTES) {
          reject("KV GET_BULK failed: 413 Total size of request exceeds the limit of 25MB");
        }
        return values;
      }

      return {
        get,
        async put(key, value, { expirationTtl = Infinity } = {}) {
          if (expirationTtl < SHORTEST_TTL_SECONDS) {
            reject(
              `KV PUT failed: 400 Invalid expiration_ttl of ${expirationTtl}. Expiration TTL must be at least 60.`,
            );
          }
          if (Buffer.byteLength(value) > MAX_VALUE_BYTES) {
            reject("KV PUT failed: 413 Value length exceeds limit of 26214400.");
          }
          beginWrite("PUT", key);
          entries.set(key, { value, until: Date.now() + expirationTtl * 1000 });
          // A location sees its own writes at once.
          remember(key);
        },
        async delete(key) {
          beginWrite("DELETE", key);
          entries.delete(key);
          remember(key);
        },
      };
    },
  };
}
