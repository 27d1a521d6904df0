import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { readKeyUses } from "../../../src/node/telemetry/read-audit.ts";
import { runCommand } from "../../helpers/command-io.ts";

const NOW = Date.parse("2026-11-28T12:00:00Z");

const ZERO = { promptTokens: 0, cachedTokens: 0, completionTokens: 0, reasoningTokens: 0 };
const LINES = [
  {
    time: "2026-10-01T00:00:00.000Z",
    key: "alice",
    model: "m",
    status: 200,
    finish: "stop",
    ...ZERO,
    promptTokens: 1e9,
  },
  {
    time: "2026-11-26T09:00:00.000Z",
    key: "alice",
    model: "m",
    status: 200,
    finish: "stop",
    promptTokens: 10,
    cachedTokens: 4,
    completionTokens: 5,
    reasoningTokens: 2,
  },
  {
    time: "2026-11-27T09:00:00.000Z",
    key: "bob",
    model: "n",
    status: 200,
    finish: "failed",
    promptTokens: 20,
    cachedTokens: 0,
    completionTokens: 9,
    reasoningTokens: 0,
  },
  { time: "2026-11-27T10:00:00.000Z", key: "bob", model: null, status: 429, finish: null, ...ZERO },
  {
    time: "2026-11-27T11:00:00.000Z",
    key: "bob",
    model: "n",
    status: 502,
    finish: "failed",
    ...ZERO,
  },
  {
    time: "2026-11-27T12:00:00.000Z",
    key: "bob",
    model: "n",
    status: 499,
    finish: "cancelled",
    ...ZERO,
  },
  // The request of a turn in the background has a separate line.
  {
    time: "2026-11-28T09:00:00.000Z",
    key: "alice",
    model: "m",
    status: null,
    finish: "stop",
    promptTokens: 7,
    cachedTokens: 0,
    completionTokens: 3,
    reasoningTokens: 0,
  },
];

function writeAudit(text = LINES.map((line) => `${JSON.stringify(line)}\n`).join("")): string {
  const file = join(mkdtempSync(join(tmpdir(), "harmony-gateway-usage-")), "audit.jsonl");
  writeFileSync(file, text);
  return file;
}

async function run(...args: string[]): Promise<string> {
  vi.useFakeTimers({ toFake: ["Date"], now: NOW });
  onTestFinished(() => void vi.useRealTimers());
  const { printed, errors } = await runCommand(["usage", ...args]);
  return printed + errors;
}

test("requests and tokens of each key, largest first, without older lines", async () => {
  const file = writeAudit();
  expect((await run("--audit-file", file)).split("\n")).toEqual([
    `${file}: 2026-10-29T12:00:00.000Z to 2026-11-28T12:00:00.000Z`,
    "key    requests  failed  rejected  prompt  cached  completion  reasoning",
    "bob    4         2       1         20      0       9           0",
    "alice  1         0       0         17      4       8           2",
    "total  5         2       1         37      4       17          2",
  ]);
});

test.each([
  [
    ["--by", "model"],
    ["n", "m", "(none)"],
  ],
  [["--by=day"], ["2026-11-26", "2026-11-27", "2026-11-28"]],
  [
    ["--by=day", "--since", "36h"],
    ["2026-11-27", "2026-11-28"],
  ],
  [["--by=day", "--since", "2026-11-27", "--until", "2026-11-28"], ["2026-11-27"]],
])("groups of %j", async (args, names) => {
  const lines = (await run(writeAudit(), ...args)).split("\n");
  expect(lines.slice(2, -1).map((line) => line.split("  ", 1)[0])).toEqual(names);
});

test("several files are added up, and a line that a full disk has cut is counted", async () => {
  const line = `${JSON.stringify(LINES[1])}\n`;
  const printed = await run(writeAudit(line), writeAudit(`{"time":"2026-11\n${line}`), "--json");
  expect(JSON.parse(printed)).toMatchObject({
    groups: [{ key: "alice", requests: 2, promptTokens: 20 }],
    total: { requests: 2, completionTokens: 10 },
    unreadable: 1,
  });
});

test.each([
  [["--audit-file", "/none/audit.jsonl"], "usage: /none/audit.jsonl: there is no folder /none."],
  [[], "usage: there is no audit file. Name it: --audit-file audit.jsonl, or --config."],
  [["a", "--by", "keys"], "--by: expected key, model or day. Did you mean key?"],
  [["a", "--since", "30"], "--since: expected 30d, 12h, 45m or a date such as 2026-11-01."],
  [["a", "--since"], "--since: expected a time after it."],
])("%j is refused", async (args, message) => {
  expect(await run(...args)).toBe(message);
});

describe("the inspector's table of keys", () => {
  const KEYLESS = { ...LINES[1], key: null };

  test("has each key's requests of the last thirty days, the busiest key first", async () => {
    const more = { ...LINES[1], client: "codex", ms: 250, time: "2026-11-28T10:00:00.000Z" };
    const file = writeAudit(
      [...LINES, more, KEYLESS].map((each) => JSON.stringify(each)).join("\n"),
    );
    expect(await readKeyUses(file, NOW)).toEqual({
      since: "2026-11-26T09:00:00.000Z",
      count: 2,
      keys: [
        {
          key: "bob",
          clients: [],
          requests: 4,
          failed: 2,
          promptTokens: 20,
          completionTokens: 9,
          p95: null,
          at: "2026-11-27T12:00:00.000Z",
        },
        {
          key: "alice",
          clients: ["codex"],
          requests: 2,
          failed: 0,
          promptTokens: 27,
          completionTokens: 13,
          p95: 250,
          at: "2026-11-28T10:00:00.000Z",
        },
      ],
    });
  });

  test("reads the end of a large file, without the line that it begins in, and lists fifty keys", async () => {
    const lines = Array.from(
      { length: 200 },
      (_, at) => `${JSON.stringify({ ...LINES[1], key: `key-${at}` })}\n`,
    );
    const file = writeAudit(`${"x".repeat(100_000)}${lines.join("")}`);
    const maxBytes = lines.slice(-100).join("").length + 50;
    const { count, keys } = await readKeyUses(file, NOW, maxBytes);
    expect([count, keys.length, keys[0]?.key]).toEqual([100, 50, "key-100"]);
  });
});
