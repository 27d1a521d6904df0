/**
 * Prices of a stored response and of the reasoning of a call, in memory, in a file and in Redis: `node proof/bench/store-cost.ts`. Each
 * operation runs as the gateway runs it, one after the other: the time is its latency, the CPU that of the thread with the event loop.
 * Needs `redis-server`; without it, that row is left out.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  createResponseStore,
  type StoredResponse,
} from "../../src/api/responses/response-store.ts";
import { openStore } from "../../src/node/open-store.ts";
import { createEntries } from "../../src/store/entries.ts";
import { keptReasoning } from "../../src/store/call-reasoning.ts";
import { createGuardedStore } from "../../src/store/guarded-store.ts";
import { testSettings } from "../../test/helpers/gateway.ts";
import { HAS_REDIS, startRedis } from "../../test/helpers/redis.ts";

const TIMES = 2000;
const WARM_UPS = 300;
const ROUNDS = 5;

const WORDS = "The quick brown fox jumps over a lazy dog, and runs away from all of us. ";

/** Some 8 KB: a question, a page of reasoning, and an answer. */
const RESPONSE: StoredResponse = {
  response: {
    id: "resp_0",
    status: "completed",
    output: [
      {
        type: "reasoning",
        id: "rs_0_0",
        content: [{ type: "reasoning_text", text: WORDS.repeat(40) }],
      },
      {
        type: "message",
        id: "msg_0_1",
        content: [{ type: "output_text", text: WORDS.repeat(30) }],
      },
    ],
  },
  input: [{ type: "message", role: "user", content: WORDS.repeat(30) }],
  ancestors: [],
  storedAt: 0,
};

/** Some 1.5 KB. */
const STEP = { before: [[WORDS.repeat(20)]], after: [] };

const folder = mkdtempSync(join(tmpdir(), "store-cost-"));
const redis = HAS_REDIS ? await startRedis() : undefined;
const rows: Record<string, string>[] = [];
try {
  const stores = ["memory", `sqlite:${join(folder, "state.db")}`, ...(redis ? [redis.url] : [])];
  for (const store of stores) await measureStore(store);
} finally {
  await redis?.kill();
  rmSync(folder, { recursive: true });
}
console.table(rows);

async function measureStore(name: string): Promise<void> {
  const opened = await openStore(testSettings({ store: name, storeTimeoutMs: 60_000 }));
  const store = createGuardedStore(opened.store, {
    timeoutMs: 60_000,
    maxEntryBytes: 8_000_000,
    now: () => performance.now(),
    onFailure: (...failure) => console.error(...failure),
    onRecovery: () => {},
  });
  const deps = { store, ttlSeconds: 3600, onUnreadable: console.error };
  const responses = createResponseStore(deps);
  const steps = createEntries("reasoning", [keptReasoning], deps);
  const kind = name.replace(/:.*/s, "");
  const options = { store: true, earlier: [] };
  await measure(`${kind}: store a response`, (n) => {
    const response = { ...RESPONSE.response, id: `resp_${n}` };
    return responses.put("alice", { ...RESPONSE, response }, options);
  });
  await measure(`${kind}: read it`, (n) => responses.get("alice", `resp_${n}`));
  await measure(`${kind}: store a call's reasoning`, (n) => steps.set(STEP, "alice", `call_${n}`));
  await measure(`${kind}: read it`, (n) => steps.get("alice", `call_${n}`));
  await opened.close();
}

/** The median of the rounds, and their range. */
async function measure(name: string, run: (n: number) => Promise<unknown>): Promise<void> {
  for (let n = 0; n < WARM_UPS; n++) await run(n);
  const latency: number[] = [];
  const cpu: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const [began, cpuBegan] = [performance.now(), threadMicros()];
    for (let n = 0; n < TIMES; n++) await run(n);
    latency.push(((performance.now() - began) * 1000) / TIMES);
    cpu.push((threadMicros() - cpuBegan) / TIMES);
  }
  rows.push({ operation: name, µs: toRange(latency), "µs of CPU": toRange(cpu) });
}

function threadMicros(): number {
  const { user, system } = process.threadCpuUsage();
  return user + system;
}

function toRange(values: readonly number[]): string {
  const [least = 0, , median = 0, , most = 0] = values.toSorted((a, b) => a - b);
  return `${median.toFixed(0)} (${least.toFixed(0)}–${most.toFixed(0)})`;
}
