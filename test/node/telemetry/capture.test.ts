import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startCapture } from "../../../src/node/telemetry/capture.ts";
import { replay } from "../../helpers/command-io.ts";
import { testLog } from "../../helpers/gateway.ts";
import { createRecordedApp, type RecordedApp } from "../../helpers/recorded-app.ts";
import { scriptedEngine } from "../../helpers/scripted-engine.ts";

const FINAL = "<|channel|>final<|message|>Hello!<|return|>";
const HELLO = { model: "openai/gpt-oss-20b", messages: [{ role: "user", content: "Hi" }] };

type RecordEntry = RecordedApp["entries"][number];

function newFolder(): string {
  return mkdtempSync(join(tmpdir(), "capture-"));
}

/** The entry with events of 1,000 characters each. @param onEvent called when one is converted to JSON */
async function withEvents(
  entry: RecordEntry,
  count: number,
  onEvent: () => void,
): Promise<RecordEntry> {
  const record = await entry.record();
  const event = {
    ms: 0,
    text: "",
    toJSON() {
      onEvent();
      return { ms: 0, text: "x".repeat(1000) };
    },
  };
  const events = Array.from({ length: count }, () => event);
  return {
    number: entry.number,
    isComplete: true,
    isPinned: false,
    summary: () => entry.summary(),
    changes: () => Promise.reject(new Error("not asked for")),
    record: async () => ({ ...record, answer: record.answer && { ...record.answer, events } }),
  };
}

async function capture(folder: string, turns: number, maxBytes = 1_000_000, ids?: string) {
  const warned: Record<string, unknown>[] = [];
  const log = testLog(warned, "warn");
  const app = createRecordedApp({ engine: scriptedEngine(() => FINAL) });
  const writer = await startCapture(app.recorder, { folder, maxBytes, log });
  for (let turn = 0; turn < turns; turn++) {
    const headers = ids === undefined ? {} : { "x-request-id": ids };
    await (await app.post("/v1/chat/completions", HELLO, headers)).text();
  }
  await writer.close();
  return { warned, app };
}

test("each turn is a file that only its owner can read, and that can be read again", async () => {
  const folder = join(newFolder(), "new", "folder");
  await capture(folder, 2);
  const names = readdirSync(folder);
  expect(names).toHaveLength(2);
  for (const name of names) {
    expect(name).toMatch(/^20260131T120000000Z-\d+-req_\w+\.json$/);
    expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
    const record: unknown = JSON.parse(readFileSync(join(folder, name), "utf8"));
    expect(await replay(record)).toMatchObject({ differences: [], skipped: [] });
  }
});

test("a turn can be written again on request, into the same file", async () => {
  const folder = newFolder();
  const log = testLog();
  const app = createRecordedApp({ engine: scriptedEngine(() => FINAL) });
  const writer = await startCapture(app.recorder, { folder, maxBytes: 1_000_000, log });
  await (await app.post("/v1/chat/completions", HELLO)).text();
  const [entry] = app.entries;
  if (entry === undefined) throw new Error("no entry");
  const path = await writer.save(entry);
  const names = readdirSync(folder);
  expect(names).toHaveLength(1);
  expect(path).toBe(join(folder, names[0] ?? ""));
  rmSync(path);
  expect(await writer.save(entry)).toBe(path);
  expect(JSON.parse(readFileSync(path, "utf8"))).toMatchObject({ end: { outcome: "stop" } });
  await writer.close();
});

test("a turn that cannot be written is an error for the caller, and the next one is written", async () => {
  const folder = newFolder();
  const warned: Record<string, unknown>[] = [];
  const log = testLog(warned, "warn");
  const app = createRecordedApp({ engine: scriptedEngine(() => FINAL) });
  const writer = await startCapture(app.recorder, { folder, maxBytes: 1_000_000, log });
  await (await app.post("/v1/chat/completions", HELLO)).text();
  const [entry] = app.entries;
  if (entry === undefined) throw new Error("no entry");
  const path = await writer.save(entry);
  mkdirSync(`${path}.part`);
  await expect(writer.save(entry)).rejects.toThrow(/EEXIST|EISDIR/);
  expect(warned).toHaveLength(1);
  rmdirSync(`${path}.part`);
  expect(await writer.save(entry)).toBe(path);
  await writer.close();
});

test("a long turn is written in chunks", async () => {
  const folder = newFolder();
  const log = testLog();
  const app = createRecordedApp({ engine: scriptedEngine(() => FINAL) });
  const writer = await startCapture(app.recorder, { folder, maxBytes: 10_000_000, log });
  await (await app.post("/v1/chat/completions", { ...HELLO, stream: true })).text();
  const [entry] = app.entries;
  if (entry === undefined) throw new Error("no entry");
  const path = await writer.save(entry);
  let made = 0;
  let most = 0;
  const long = await withEvents(entry, 5000, () => {
    made += 1000;
    most = Math.max(most, made - statSync(`${path}.part`).size);
  });
  expect(await writer.save(long)).toBe(path);
  expect(JSON.parse(readFileSync(path, "utf8")).answer.events).toHaveLength(5000);
  expect(most).toBeLessThan(2_000_000);
  await writer.close();
});

test("a request id cannot leave the folder", async () => {
  const folder = newFolder();
  await capture(folder, 1, 1_000_000, "..:..:etc.passwd");
  expect(readdirSync(folder)).toEqual(["20260131T120000000Z-1-------etc-passwd.json"]);
});

test("the oldest captured files are deleted to make room, and no other files", async () => {
  const folder = newFolder();
  writeFileSync(join(folder, "notes.json"), "x".repeat(50_000));
  await capture(folder, 1);
  const file = readdirSync(folder).find((name) => name !== "notes.json") ?? "";
  const size = statSync(join(folder, file)).size;
  const later = newFolder();
  writeFileSync(join(later, "notes.json"), "x".repeat(50_000));
  writeFileSync(join(later, "20250131T120000000Z-1-old.json"), "x".repeat(size));
  await capture(later, 3, size * 2 + 200);
  const left = readdirSync(later);
  expect(left).toContain("notes.json");
  expect(left).not.toContain("20250131T120000000Z-1-old.json");
  expect(left).toHaveLength(3);
});

test("a turn larger than the limit is not written, which is logged once", async () => {
  const folder = newFolder();
  const { warned } = await capture(folder, 2, 100);
  expect(readdirSync(folder)).toEqual([]);
  expect(warned).toHaveLength(1);
  expect(JSON.stringify(warned)).toContain("a turn is larger than captureMaxBytes");
});

/** The name of a capture of an earlier process. */
const OLD = "20250131T120000000Z-1-old.json";

test("S27: only unfinished files of an earlier process are deleted at the start", async () => {
  const folder = newFolder();
  for (const name of [`${OLD}.part`, "20250131T120000000Z-2-kept.json", "download.part"]) {
    writeFileSync(join(folder, name), "{}");
  }
  await capture(folder, 0);
  expect(readdirSync(folder)).toEqual(["20250131T120000000Z-2-kept.json", "download.part"]);
});

test("S27: where an old file cannot be deleted, nothing is written beyond the bound, and no part of it stays", async () => {
  const folder = newFolder();
  // Not even root can delete a directory as a file.
  mkdirSync(join(folder, OLD));
  writeFileSync(join(folder, OLD, "entry"), "");
  const bytes = statSync(join(folder, OLD)).size + 100;
  const { warned } = await capture(folder, 2, bytes);
  expect(readdirSync(folder)).toEqual([OLD]);
  expect(warned).toHaveLength(1);
  expect(JSON.stringify(warned)).toContain("older files cannot be deleted to make room");
});

test("S27: the folder stays within its bound while a turn is written", async () => {
  const folder = newFolder();
  writeFileSync(join(folder, OLD), "x".repeat(900_000));
  const log = testLog();
  const app = createRecordedApp({ engine: scriptedEngine(() => FINAL) });
  const writer = await startCapture(app.recorder, { folder, maxBytes: 1_000_000, log });
  await (await app.post("/v1/chat/completions", { ...HELLO, stream: true })).text();
  const [entry] = app.entries;
  if (entry === undefined) throw new Error("no entry");
  await writer.save(entry);
  let most = 0;
  const large = await withEvents(entry, 900, () => {
    const sizes = readdirSync(folder).map((name) => statSync(join(folder, name)).size);
    most = Math.max(
      most,
      sizes.reduce((sum, size) => sum + size, 0),
    );
  });
  await writer.save(large);
  await writer.close();
  expect(readdirSync(folder)).not.toContain(OLD);
  expect(most).toBeGreaterThan(900_000);
  expect(most).toBeLessThanOrEqual(1_000_000);
});

test("a folder that cannot be used prevents the start, with an explanation", async () => {
  const file = join(newFolder(), "file");
  writeFileSync(file, "");
  await expect(capture(file, 0)).rejects.toThrow(
    `capture ${file}: there is already a file with this name.`,
  );
  const below = join(file, "folder");
  await expect(capture(below, 0)).rejects.toThrow(
    `capture ${below}: a part of the path is not a folder.`,
  );
});
