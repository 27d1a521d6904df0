/**
 * The thread of the database: SQLite waits for locks and for the disk, which must not block the event loop of the streams.
 *
 * Started by `sqlite-store.ts`.
 */
import { statSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";
import { CLOCK_PROOF_MS, openExpiryClock } from "../../store/expiry-clock.ts";
import { EntryTable } from "./entry-table.ts";
import { toFault, toProblem } from "./fault.ts";
import { openDatabase } from "./open-database.ts";
import type {
  Deleted,
  Operation,
  Reply,
  Request,
  Results,
  StoreCounts,
  ThreadOptions,
} from "./protocol.ts";

/** Interval at which expired entries are removed. */
const PRUNE_EVERY_MS = 10_000;

if (parentPort === null) throw new Error("This module is a thread of the store.");
const port = parentPort;
const options: ThreadOptions = workerData;

type Database = ReturnType<typeof openDatabase>;

/** Runs the operations on a database, and removes expired entries periodically. */
class DatabaseServer {
  readonly #database: Database;
  readonly #table: EntryTable;
  readonly #identity = identify();
  #isInPlace = true;
  #timer: NodeJS.Timeout | undefined;
  #isTidying = false;
  /** Time before which nothing is removed: a machine may start with a wrong clock, and no other to compare it with. */
  readonly #prunesFrom = performance.now() + CLOCK_PROOF_MS;

  constructor(database: Database) {
    this.#database = database;
    this.#table = new EntryTable(database, options.limits, openExpiryClock());
  }

  serve(): void {
    this.#timer = setInterval(() => void this.#tidy(), PRUNE_EVERY_MS);
    port.on("message", ({ id, operation }: Request) => {
      this.#run(operation).then(
        (result) => reply({ type: "result", id, result }),
        (error: unknown) => {
          const { code, message } = toFault(error) ?? { code: "ERROR", message: String(error) };
          reply({ type: "fault", id, fault: { code, message } });
        },
      );
    });
    reply({ type: "open" });
    void this.#patiently(() => this.#sendCounts());
  }

  async #run(operation: Operation): Promise<Results[keyof Results]> {
    const table = this.#table;
    switch (operation.type) {
      case "get":
        return table.get(operation.key);
      case "set":
        this.#lookAtFile();
        return table.set(operation);
      case "delete":
        table.delete(operation.key);
        return undefined;
      case "prune":
        return this.#prune();
      case "counts":
        return this.#countAll();
      case "deleteTenant":
        return this.#deleteTenant(operation.tenant);
      case "rewrite":
        table.rewrite();
        return table.emptyLog();
      case "close":
        clearInterval(this.#timer);
        // The last process that closes the file moves its write-ahead log into it.
        this.#database.close();
        return undefined;
      default:
        return operation satisfies never;
    }
  }

  /** Removes expired entries in slices: operations that have arrived in the meantime run in between. */
  async #prune(): Promise<number> {
    const table = this.#table;
    let removed = 0;
    for (let slice = table.prune(); slice > 0; slice = table.prune()) {
      removed += slice;
      await setImmediate();
    }
    let isSmaller = false;
    while (table.shrink()) {
      isSmaller = true;
      await setImmediate();
    }
    // The file shrinks when the log is moved into it.
    if (isSmaller) table.emptyLog();
    return removed;
  }

  async #tidy(): Promise<void> {
    if (this.#isTidying) return;
    this.#isTidying = true;
    this.#lookAtFile();
    await this.#patiently(() => this.#table.mend());
    if (performance.now() >= this.#prunesFrom) await this.#patiently(() => this.#prune());
    await this.#patiently(() => this.#sendCounts());
    this.#isTidying = false;
  }

  /** Ignores errors of a full or locked file: operations report them, and the next run retries. */
  async #patiently(step: () => unknown): Promise<void> {
    try {
      await step();
    } catch (error) {
      if (toFault(error) === undefined && this.#database.isOpen) throw error;
    }
  }

  /** Checks whether another program has deleted or replaced the file: later writes would be lost with this process. */
  #lookAtFile(): void {
    const isInPlace = identify() === this.#identity;
    if (isInPlace === this.#isInPlace) return;
    this.#isInPlace = isInPlace;
    reply({ type: "file", isInPlace });
  }

  #sendCounts(): void {
    reply({ type: "counts", counts: this.#countAll() });
  }

  async #deleteTenant(tenant: string): Promise<Deleted> {
    let [entries, bytes] = [0, 0];
    for (let slice = this.#table.removeSlice(tenant); slice.entries > 0;) {
      entries += slice.entries;
      bytes += slice.bytes;
      await setImmediate();
      slice = this.#table.removeSlice(tenant);
    }
    return { entries, bytes };
  }

  #countAll(): StoreCounts {
    const fileBytes = ["", "-wal"]
      .map((suffix) => statSync(options.path + suffix, { throwIfNoEntry: false })?.size ?? 0)
      .reduce((sum, size) => sum + size, 0);
    return { ...this.#table.counts(), fileBytes };
  }
}

/** Identity of the file at the path. */
function identify(): string | undefined {
  const found = statSync(options.path, { throwIfNoEntry: false, bigint: true });
  return found && `${found.dev}:${found.ino}`;
}

let opened: Database | undefined;
try {
  opened = openDatabase(options);
} catch (error) {
  const problem = toProblem(error);
  if (problem === undefined) throw error;
  reply({ type: "unusable", problem });
}
if (opened === undefined) port.close();
else new DatabaseServer(opened).serve();

function reply(message: Reply): void {
  port.postMessage(message);
}
