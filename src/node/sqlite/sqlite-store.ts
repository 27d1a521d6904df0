/**
 * A store in a file, by Node's own SQLite, in a separate thread. Several processes of one machine may have the file open.
 *
 * If the thread ends, its operations fail, and the next one starts another.
 */
import { resolve } from "node:path";
import { Worker } from "node:worker_threads";
import { SettingsError } from "../../config/resolve.ts";
import { limitsOf, type StoreLimits, type StoreQuota } from "../../store/fair-share.ts";
import { StoreRefusal } from "../../store/store-error.ts";
import type { Store } from "../../store/store.ts";
import { waitAtMost } from "../../streams/timers.ts";
import { moduleBeside } from "../module-beside.ts";
import {
  type Deleted,
  type Operation,
  type Problem,
  type Reply,
  type Request,
  type Results,
  StoreBusyError,
  type StoreCounts,
  type ThreadOptions,
} from "./protocol.ts";

export interface SqliteStoreOptions {
  /** Timeout of an operation for its caller. */
  readonly timeoutMs: number;
  readonly limits: StoreLimits;
  readonly quotaOf: (tenant: string) => StoreQuota;
  /** False: a file that does not exist is a problem. */
  readonly mayCreate?: boolean;
  /** Called when `problem` has changed. */
  readonly onProblem?: (problem: string | undefined) => void;
}

export interface SqliteStore extends Store {
  /** Counts of some seconds ago. */
  readonly lastCounts: StoreCounts | undefined;
  counts(): Promise<StoreCounts>;
  /** Removes expired entries now, and returns their number. */
  prune(): Promise<number>;
  /** Deletes a tenant's entries. Parts of them may be left in free space of the file until `rewrite`. */
  deleteTenant(tenant: string): Promise<Deleted>;
  /** Blocks other writers. False: another process is reading the file, and its log still has pages of deleted content. */
  rewrite(): Promise<boolean>;
  /** Closes the store after pending operations. */
  close(): Promise<void>;
}

/** Operations waiting for the thread, and bytes of values in them, above which one is refused. */
const MAX_PENDING = 10_000;
const MAX_PENDING_BYTES = 64 * 1024 * 1024;
/** Share of the timeout after which SQLite gives up, earlier than the caller, so that the reason is known. */
const BUSY_SHARE = 0.8;
const CLOSE_MS = 5_000;

const NOT_IN_PLACE =
  "The store's file was deleted or replaced while it was open: what is stored is lost at the next start. Put the file back, or " +
  "restart the gateway.";

const MODULE = moduleBeside(import.meta.url, "database-thread");

/**
 * Opens the store. Creates the file if it does not exist.
 * @throws SettingsError, StoreBusyError
 */
export async function openSqliteStore(
  path: string,
  options: SqliteStoreOptions,
): Promise<SqliteStore> {
  if ("bun" in process.versions || "deno" in process.versions) {
    throw new SettingsError([
      "store sqlite: is available on Node only. On Bun and Deno, use Redis.",
    ]);
  }
  const store = new ThreadStore(path, options);
  await store.connect();
  return store;
}

interface Pending {
  readonly bytes: number;
  resolve(result: Results[keyof Results]): void;
  reject(error: Error): void;
}

class ThreadStore implements SqliteStore {
  readonly #path: string;
  readonly #options: SqliteStoreOptions;
  #thread: Promise<Worker> | undefined;
  readonly #pending = new Map<number, Pending>();
  #pendingBytes = 0;
  #lastId = 0;
  lastCounts: StoreCounts | undefined;
  #problem: string | undefined;

  constructor(path: string, options: SqliteStoreOptions) {
    this.#path = path;
    this.#options = options;
  }

  get(key: string): Promise<string | undefined> {
    return this.ask({ type: "get", key });
  }

  set(key: string, value: string, ttlSeconds: number, tenant: string): Promise<boolean> {
    const limits = limitsOf(this.#options.limits, this.#options.quotaOf(tenant));
    if (value.length > limits.maxBytes) return Promise.resolve(false);
    return this.ask({ type: "set", key, value, ttlSeconds, tenant, limits });
  }

  delete(key: string): Promise<void> {
    return this.ask({ type: "delete", key });
  }

  counts(): Promise<StoreCounts> {
    return this.ask({ type: "counts" });
  }

  prune(): Promise<number> {
    return this.ask({ type: "prune" });
  }

  deleteTenant(tenant: string): Promise<Deleted> {
    return this.ask({ type: "deleteTenant", tenant });
  }

  rewrite(): Promise<boolean> {
    return this.ask({ type: "rewrite" });
  }

  async close(): Promise<void> {
    const thread = await this.#thread?.catch(() => undefined);
    if (thread === undefined) return;
    // Messages are handled in order. A failure was reported already.
    await waitAtMost(
      this.ask({ type: "close" }).catch(() => {}),
      CLOSE_MS,
    );
    await thread.terminate();
  }

  /** The open thread, or a new one. */
  connect(): Promise<Worker> {
    this.#thread ??= this.#start();
    return this.#thread;
  }

  #start(): Promise<Worker> {
    const { limits, timeoutMs, mayCreate = true } = this.#options;
    const workerData: ThreadOptions = {
      path: resolve(this.#path),
      busyMs: Math.floor(timeoutMs * BUSY_SHARE),
      limits,
      mayCreate,
    };
    // Node 22 prints a warning about SQLite on the terminal.
    const execArgv = ["--disable-warning=ExperimentalWarning"];
    const thread = new Worker(MODULE, { workerData, execArgv });
    const opened = new Promise<Worker>((done, reject) => {
      thread.on("message", (message: Reply) => {
        if (message.type === "open") done(thread);
        else if (message.type === "unusable") reject(this.#explain(message.problem));
        else this.#take(message);
      });
      thread.on("error", reject);
      thread.on("exit", () => reject(new Error("the thread has ended")));
    });
    thread.on("error", (error: Error) => this.#lose(opened, error));
    thread.on("exit", () => this.#lose(opened, new Error("the thread has ended")));
    return opened;
  }

  problem(): string | undefined {
    return this.#problem;
  }

  #setProblem(problem: string | undefined): void {
    if (problem === this.#problem) return;
    this.#problem = problem;
    this.#options.onProblem?.(problem);
  }

  #take(message: Exclude<Reply, { type: "open" | "unusable" }>): void {
    if (message.type === "file") {
      this.#setProblem(message.isInPlace ? undefined : NOT_IN_PLACE);
      return;
    }
    if (message.type === "counts") {
      this.lastCounts = message.counts;
      return;
    }
    const pending = this.#settle(message.id);
    if (pending === undefined) return;
    if (message.type === "result") pending.resolve(message.result);
    else pending.reject(this.#toError(message.fault));
  }

  #lose(thread: Promise<Worker>, cause: Error): void {
    if (this.#thread !== thread) return;
    this.#thread = undefined;
    // The next thread opens the file at the path.
    this.#setProblem(undefined);
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    this.#pendingBytes = 0;
    const error = new Error(`store sqlite:${this.#path}: ${cause.message}.`, { cause });
    for (const each of pending) each.reject(error);
  }

  /** The name is not `#ask`: Node 22 cannot strip an overload of a private name. */
  ask<T extends Operation["type"]>(operation: Extract<Operation, { type: T }>): Promise<Results[T]>;
  async ask(operation: Operation): Promise<Results[keyof Results]> {
    const bytes = operation.type === "set" ? operation.value.length : 0;
    if (this.#pending.size >= MAX_PENDING || this.#pendingBytes + bytes > MAX_PENDING_BYTES) {
      throw new Error("too many operations are waiting for it");
    }
    const id = ++this.#lastId;
    const result = new Promise<Results[keyof Results]>((done, reject) => {
      this.#pending.set(id, { bytes, resolve: done, reject });
      this.#pendingBytes += bytes;
    });
    this.connect().then(
      (thread) => thread.postMessage({ id, operation } satisfies Request, []),
      (error: Error) => this.#settle(id)?.reject(error),
    );
    return result;
  }

  #settle(id: number): Pending | undefined {
    const pending = this.#pending.get(id);
    if (pending === undefined) return undefined;
    this.#pending.delete(id);
    this.#pendingBytes -= pending.bytes;
    return pending;
  }

  /** Converts an error. A lock is an outage, which may last; any other error is an answer. */
  #toError({ code, message }: { readonly code: string; readonly message: string }): Error {
    const says = `store sqlite:${this.#path}: ${message}.`;
    return code === "BUSY" ? new Error(says) : new StoreRefusal(code, says);
  }

  #explain({ says, mayPass }: Problem): Error {
    const sentence = `store sqlite:${this.#path}: ${says}`;
    return mayPass ? new StoreBusyError(sentence) : new SettingsError([sentence]);
  }
}
