/**
 * The thread that has the database: SQLite waits for locks and for the disk, which must not hold the event loop that streams.
 *
 * Started by `sqlite-store.ts`.
 */
import { statSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";
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

/** How often expired entries are removed. */
const PRUNE_EVERY_MS = 10_000;

if (parentPort === null) throw new Error("This module is a thread of the store.");
const port = parentPort;
const options: ThreadOptions = workerData;

let opened: ReturnType<typeof openDatabase> | undefined;
try {
  opened = openDatabase(options);
} catch (error) {
  const problem = toProblem(error);
  if (problem === undefined) throw error;
  reply({ type: "unusable", problem });
}
if (opened === undefined) port.close();
else serve(opened);

function serve(database: ReturnType<typeof openDatabase>): void {
  const table = new EntryTable(database, options.limits, Date.now);
  const timer = setInterval(() => void tidy(), PRUNE_EVERY_MS);
  let isTidying = false;

  port.on("message", ({ id, operation }: Request) => {
    run(operation).then(
      (result) => reply({ type: "result", id, result }),
      (error: unknown) => {
        const { code, message } = toFault(error) ?? { code: "ERROR", message: String(error) };
        reply({ type: "fault", id, fault: { code, message } });
      },
    );
  });
  reply({ type: "open" });
  void patiently(sendCounts);

  async function run(operation: Operation): Promise<Results[keyof Results]> {
    switch (operation.type) {
      case "get":
        return table.get(operation.key);
      case "set":
        return table.set(operation);
      case "delete":
        table.delete(operation.key);
        return undefined;
      case "prune":
        return prune();
      case "counts":
        return countAll();
      case "deleteTenant":
        return deleteTenant(operation.tenant);
      case "rewrite":
        table.rewrite();
        return table.emptyLog();
      case "close":
        clearInterval(timer);
        // The last process that closes the file moves its log into it.
        database.close();
        return undefined;
      default:
        return operation satisfies never;
    }
  }

  /** In slices: operations that have arrived in the meantime run in between. */
  async function prune(): Promise<number> {
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
    // The file gets shorter when the log is moved into it.
    if (isSmaller) table.emptyLog();
    return removed;
  }

  async function tidy(): Promise<void> {
    if (isTidying) return;
    isTidying = true;
    await patiently(prune);
    await patiently(sendCounts);
    isTidying = false;
  }

  /** A full or locked file: operations report it, and the next time comes. */
  async function patiently(step: () => unknown): Promise<void> {
    try {
      await step();
    } catch (error) {
      if (toFault(error) === undefined && database.isOpen) throw error;
    }
  }

  function sendCounts(): void {
    reply({ type: "counts", counts: countAll() });
  }

  async function deleteTenant(tenant: string): Promise<Deleted> {
    let [entries, bytes] = [0, 0];
    for (let slice = table.removeSlice(tenant); slice.entries > 0;) {
      entries += slice.entries;
      bytes += slice.bytes;
      await setImmediate();
      slice = table.removeSlice(tenant);
    }
    return { entries, bytes };
  }

  function countAll(): StoreCounts {
    const fileBytes = ["", "-wal"]
      .map((suffix) => statSync(options.path + suffix, { throwIfNoEntry: false })?.size ?? 0)
      .reduce((sum, size) => sum + size, 0);
    return { ...table.counts(), fileBytes };
  }
}

function reply(message: Reply): void {
  port.postMessage(message);
}
