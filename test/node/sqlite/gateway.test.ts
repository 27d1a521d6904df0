/** A gateway over a file: its promises while the file is locked or damaged, and its metrics. */
import { copyFileSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { eventually } from "../../helpers/eventually.ts";
import { startTestGateway, type TestGatewayOptions } from "../../helpers/gateway.ts";
import { openTestFile, temporaryFile } from "../../helpers/sqlite.ts";

const MODEL = "openai/gpt-oss-20b";
const UNAVAILABLE =
  "The gateway's store is not available, so the response cannot be stored or read. Try again later, or set store to false. Please try again in 1s.";

const created = z.object({ id: z.string() });
const refused = z.object({ error: z.object({ message: z.string() }) });

async function startOver(path: string, settings: TestGatewayOptions["settings"] = {}) {
  const gateway = await startTestGateway({ settings: { store: `sqlite:${path}`, ...settings } });
  onTestFinished(() => gateway.close());
  const ask = (route: string, body?: object) =>
    fetch(`${gateway.baseURL}/${route}`, {
      method: body === undefined ? "GET" : "POST",
      headers: { "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify({ model: MODEL, ...body }) }),
    });
  return {
    gateway,
    ask,
    create: async (input: string) =>
      created.parse(await (await ask("responses", { input })).json()).id,
    status: async (route: string, body?: object) => (await ask(route, body)).status,
  };
}

async function messageOf(response: Response) {
  return { status: response.status, message: refused.parse(await response.json()).error.message };
}

test("while another program has locked the file, only requests whose data would be lost are refused", async () => {
  const path = temporaryFile();
  const { gateway, ask, create, status } = await startOver(path, { storeTimeoutMs: 2_000 });
  const id = await create("Hello!");
  const other = new DatabaseSync(path);
  other.exec("BEGIN IMMEDIATE");
  onTestFinished(() => other.close());
  const chat = { messages: [{ role: "user", content: "Hello!" }] };
  expect(await status("chat/completions", chat)).toBe(200);
  expect(await status("responses", { input: "Hello!", store: false })).toBe(200);
  // The first response is generated before its write fails; later ones are refused before that.
  for (let times = 0; times < 2; times++) {
    const response = await ask("responses", { input: "Hello!" });
    expect(await messageOf(response)).toEqual({ status: 503, message: UNAVAILABLE });
  }
  const background = await ask("responses", { input: "Hello!", background: true });
  expect(await messageOf(background)).toEqual({ status: 503, message: UNAVAILABLE });
  expect(await status(`responses/${id}`)).toBe(200);
  expect(gateway.logged.find(({ event }) => event === "store failing")).toMatchObject({
    level: "warn",
  });
  other.exec("COMMIT");
  await eventually(async () => expect(await status("responses", { input: "Hello!" })).toBe(200));
});

test.each([
  ["deleted", (path: string) => rmSync(path)],
  ["replaced", (path: string) => copyFileSync(path, `${path}.new`)],
])("when the file is %s while it is open, /ready and the log say so", async (what, change) => {
  const path = temporaryFile();
  const { gateway, create } = await startOver(path);
  const ready = async () => (await fetch(new URL("/ready", gateway.baseURL))).json();
  await create("Hello!");
  expect(await ready()).not.toHaveProperty("warnings");
  renameSync(path, `${path}.old`);
  copyFileSync(`${path}.old`, path);
  change(path);
  if (what === "replaced") renameSync(`${path}.new`, path);
  await create("Hello!");
  const message = expect.stringContaining("was deleted or replaced while it was open");
  await eventually(async () =>
    expect(await ready()).toMatchObject({ status: "ready", warnings: [message] }),
  );
  const warnings = () => gateway.logged.filter(({ event }) => event === "store file not in place");
  expect(warnings()).toMatchObject([{ level: "warn", path, message }]);
  await create("Hello!");
  expect(warnings()).toHaveLength(1);
  renameSync(`${path}.old`, path);
  await create("Hello!");
  await eventually(async () => expect(await ready()).not.toHaveProperty("warnings"));
  expect(gateway.logged.some(({ event }) => event === "store file in place again")).toBe(true);
});

test("when the file is damaged while it is open, only requests that depend on it are refused", async () => {
  const path = temporaryFile();
  const { gateway, ask, create, status } = await startOver(path);
  const id = await create("Hello!");
  damage(path);
  // After a write of another process, the pages in memory are read again.
  const other = new DatabaseSync(path);
  other.exec("PRAGMA user_version = 1");
  other.close();
  expect(await messageOf(await ask(`responses/${id}`))).toEqual({
    status: 503,
    message: UNAVAILABLE,
  });
  const chat = { messages: [{ role: "user", content: "Hello!" }] };
  expect(await status("chat/completions", chat)).toBe(200);
  expect(gateway.logged.find(({ event }) => event === "store failing")).toMatchObject({
    level: "warn",
    failure: "refused",
    message: `store sqlite:${path}: it is damaged.`,
  });
});

/** Overwrites all pages but the first, and empties the log. */
function damage(path: string): void {
  const database = new DatabaseSync(path);
  database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  database.close();
  const bytes = readFileSync(path);
  writeFileSync(path, bytes.fill(0xa5, 4096), { flag: "r+" });
  expect(statSync(path).size).toBe(bytes.length);
}

test("the metrics are the counts of the file, by a tenant's place among the keys", async () => {
  const path = temporaryFile();
  const store = await openTestFile(path);
  for (const key of ["1", "2"]) await store.set(`bob${key}`, "x", 3600, "bob");
  await store.set("carol", "12345", 3600, "carol");
  await store.close();
  const keys = [`alice:${"a".repeat(64)}`, `bob:${"b".repeat(64)}`];
  const { gateway } = await startOver(path, { keys, metrics: "open" });
  const read = async () => {
    const text = await (await fetch(`${gateway.origin}/metrics`)).text();
    return text.split("\n").filter((line) => /^harmony_gateway_store_(?!fail|corr)/.test(line));
  };
  await eventually(async () => expect(await read()).not.toEqual([]));
  const [last = "", ...rest] = (await read()).toReversed();
  expect(rest.toReversed()).toEqual([
    'harmony_gateway_store_entries{tenant="1"} 2',
    // Carol's key is no longer configured.
    'harmony_gateway_store_entries{tenant="2"} 1',
    'harmony_gateway_store_bytes{tenant="1"} 10',
    'harmony_gateway_store_bytes{tenant="2"} 10',
    "harmony_gateway_store_expired_entries 0",
  ]);
  expect(Number(/^harmony_gateway_store_file_bytes (\d+)$/.exec(last)?.[1])).toBeGreaterThan(4096);
});

test("the metrics have nothing of a file where there is none", async () => {
  const gateway = await startTestGateway({ settings: { metrics: "open" } });
  onTestFinished(() => gateway.close());
  const text = await (await fetch(`${gateway.origin}/metrics`)).text();
  expect(text).not.toContain("harmony_gateway_store_file_bytes");
});
