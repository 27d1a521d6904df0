/**
 * A store in Redis, over one connection. After a loss, the next operation opens another connection.
 *
 * Each value begins with its key. If replies shift against their commands, because Redis or a proxy sent a surplus reply, a value
 * with another key is not returned: the connection is dropped, and the operation is repeated on a new one.
 */
import { describeConnectionFailure } from "../../engines/transport.ts";
import { StoreRefusal } from "../../store/store-error.ts";
import { type Store, UNREADABLE } from "../../store/store.ts";
import { waitAtMost } from "../../streams/timers.ts";
import { parseRedisUrl, type RedisAddress } from "./address.ts";
import { ConnectionLost, expectOk, openConnection, type RedisConnection } from "./connection.ts";
import { ProtocolFault, type Reply } from "./reply-reader.ts";

export interface RedisStoreOptions {
  /** Timeout of an operation for its caller. After it, the operation is not repeated. */
  readonly timeoutMs: number;
  /** Maximum bytes of a value. */
  readonly maxValueBytes: number;
}

export interface RedisStore extends Store {
  /** Closes the store after a brief wait for pending operations. */
  close(): Promise<void>;
}

/**
 * Opens the store. Redis need not be reachable yet.
 * @throws SettingsError
 */
export function openRedisStore(url: string, options: RedisStoreOptions): RedisStore {
  const store = new OpenRedis(parseRedisUrl(url), options);
  // A failure is reported by the first operation.
  store.connect().catch(() => {});
  return store;
}

/** Prefix of all keys, in Redis and in values. */
const PREFIX = "harmony-gateway:";
/** Maximum bytes of a key: more than any key of the gateway takes. */
const MAX_KEY_BYTES = 1024;
/** Operations that time out before a silent connection is replaced. */
const SILENT_TIMEOUTS = 3;
/** Minimum time between two replacements of the connection to a server that refuses writes. */
const REPLACE_MS = 1000;

class OpenRedis implements RedisStore {
  readonly #address: RedisAddress;
  readonly #options: RedisStoreOptions;
  #connection: Promise<RedisConnection> | undefined;
  #openedAt = 0;

  constructor(address: RedisAddress, options: RedisStoreOptions) {
    this.#address = address;
    this.#options = options;
  }

  get(key: string): Promise<string | undefined> {
    const name = PREFIX + key;
    return this.#ask(["GET", name], (reply, isRepeated) => {
      if (reply.type === "nil") return undefined;
      if (reply.type === "oversized") return UNREADABLE;
      if (reply.type !== "text") throw new ProtocolFault();
      if (reply.text.startsWith(`${name}\n`)) return reply.text.slice(name.length + 1);
      // The value belongs to another entry. If a new connection returns it again, the value is really stored under this key.
      if (reply.text.startsWith(PREFIX) && !isRepeated) throw new ProtocolFault();
      return UNREADABLE;
    }).catch((error: unknown) => {
      if (error instanceof StoreRefusal && error.code === "WRONGTYPE") return UNREADABLE;
      throw error;
    });
  }

  set(key: string, value: string, ttlSeconds: number): Promise<boolean> {
    const name = PREFIX + key;
    return this.#ask(["SET", name, `${name}\n${value}`, "EX", String(ttlSeconds)], expectOk);
  }

  delete(key: string): Promise<void> {
    return this.#ask(["UNLINK", PREFIX + key], ({ type }) => {
      if (type !== "integer") throw new ProtocolFault();
    });
  }

  async close(): Promise<void> {
    const connection = await this.#connection?.catch(() => undefined);
    if (connection === undefined) return;
    // The reply follows those of all earlier commands. A lost connection was reported already.
    const last = connection.ask(["PING"], () => undefined).catch(() => {});
    await waitAtMost(last, this.#options.timeoutMs);
    connection.drop(new Error("the store is closed"));
  }

  /** The open connection, or a new one. */
  connect(): Promise<RedisConnection> {
    if (this.#connection !== undefined) return this.#connection;
    const { timeoutMs, maxValueBytes } = this.#options;
    const forget = () => {
      if (this.#connection === opening) this.#connection = undefined;
    };
    const opening = openConnection(this.#address, {
      connectMs: timeoutMs,
      silentMs: SILENT_TIMEOUTS * timeoutMs,
      maxReplyBytes: maxValueBytes + MAX_KEY_BYTES,
      onLost: forget,
    });
    this.#connection = opening;
    opening.catch(forget);
    this.#openedAt = performance.now();
    return opening;
  }

  /** Sends a command, and retries once on a new connection if the first one was lost: all commands are repeatable. */
  async #ask<T>(
    command: readonly string[],
    read: (reply: Reply, isRepeated: boolean) => T,
  ): Promise<T> {
    const startedAt = performance.now();
    for (let isRepeated = false; ; isRepeated = true) {
      let connection: RedisConnection | undefined;
      try {
        connection = await this.connect();
        return await connection.ask(command, (reply) => read(reply, isRepeated));
      } catch (error) {
        if (connection !== undefined && this.#isReplaced(error)) connection.drop(error);
        const isLate = performance.now() - startedAt >= this.#options.timeoutMs;
        if (!connection?.isLost || isRepeated || isLate) throw this.#explain(error);
      }
    }
  }

  /** After a failover, the name of a server that has become a replica may lead to the new primary. */
  #isReplaced(error: unknown): boolean {
    return (
      error instanceof StoreRefusal &&
      error.code === "READONLY" &&
      performance.now() - this.#openedAt >= REPLACE_MS
    );
  }

  #explain(error: unknown): Error {
    const { publicUrl } = this.#address;
    if (error instanceof StoreRefusal) {
      return new StoreRefusal(
        error.code,
        `Redis at ${publicUrl} answered: ${error.message}.`,
        error,
      );
    }
    const cause = error instanceof ConnectionLost ? error.cause : error;
    return new Error(
      `Cannot reach Redis at ${publicUrl} (${describeConnectionFailure(cause)}). Check that it is running and that the setting store is right.`,
      { cause },
    );
  }
}
