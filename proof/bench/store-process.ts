/**
 * A store in a file behind HTTP, for `loop-hold.ts`: `POST /<write|read>/<name>` runs the operation with one of these texts. They are
 * made at the start, so that the event loop is held by the operations only.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSqliteStore } from "../../src/node/sqlite/sqlite-store.ts";
import { createGuardedStore } from "../../src/store/guarded-store.ts";

/** The largest entry by default. */
const LARGEST = 8 * 1024 * 1024;
const LIMITS = { maxEntries: 10_000, maxBytes: 8 * LARGEST };

/** Texts that are written or read at once. */
const TEXTS: Readonly<Record<string, readonly string[]>> = {
  letters: ["abcdefgh".repeat(LARGEST / 8)],
  // Two bytes each in memory, three in the file.
  chinese: ["\u6f22".repeat(Math.floor(LARGEST / 3))],
  many: Array.from({ length: 1000 }, (_, n) => String(n).padEnd(4000, "x")),
};

const folder = mkdtempSync(join(tmpdir(), "store-process-"));
process.once("exit", () => rmSync(folder, { recursive: true }));
process.once("SIGTERM", () => process.exit());
const file = await openSqliteStore(join(folder, "state.db"), {
  timeoutMs: 60_000,
  limits: LIMITS,
  quotaOf: () => ({}),
});
const store = createGuardedStore(file, {
  timeoutMs: 60_000,
  maxEntryBytes: LARGEST,
  now: () => performance.now(),
  onFailure: (...failure) => console.error(...failure),
  onRecovery: () => {},
});

async function run(operation: string, name: string): Promise<boolean> {
  const done = (TEXTS[name] ?? []).map(async (text, n) =>
    operation === "write"
      ? store.set(`${name}${n}`, text, 3600, "alice")
      : (await store.get(`${name}${n}`)) === text,
  );
  return done.length > 0 && !(await Promise.all(done)).includes(false);
}

const server = createServer((request, response) => {
  request.resume().once("end", () => {
    const [, operation = "", name = ""] = request.url?.split("/") ?? [];
    const isRight = operation === "health" ? Promise.resolve(true) : run(operation, name);
    isRight.then(
      (is) => response.writeHead(is ? 200 : 500).end(),
      () => response.writeHead(500).end(),
    );
  });
});
server.listen(Number(process.argv[2]), "127.0.0.1");
