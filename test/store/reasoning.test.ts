/** The store and the sealing keys of a gateway, by its log, its metrics and its responses. */
import { describe, expect, test, vi } from "vitest";
import type { Store } from "../../src/index.ts";
import { MODEL, responsesApp, type ResponsesAppOptions } from "../api/responses/support.ts";
import { useFakeTime } from "../helpers/fake-time.ts";
import { scriptedEngine } from "../helpers/scripted-engine.ts";

const THOUGHT =
  "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Hi.<|return|>";
const KEY = Buffer.alloc(32, "k").toString("base64url");

function serve(options: Partial<ResponsesAppOptions> = {}) {
  const app = responsesApp({ engine: scriptedEngine(() => THOUGHT), here: true, ...options });
  return {
    ...app,
    find: async (id = "resp_1") => (await app.send("GET", `/v1/responses/${id}`)).status,
    metrics: async () => (await app.send("GET", "/metrics")).text(),
    logOf: (text: string) => app.logged.filter(({ event }) => String(event).includes(text)),
  };
}

/** A store with this read, whose writes succeed. */
function reading(get: Store["get"], more: Partial<Store> = {}): Store {
  return { get, set: async () => true, delete: async () => {}, ...more };
}

test("a store's failures are logged when they begin and end, and each is counted", async () => {
  const state = { isDown: true, now: 0 };
  const store = reading(async () => {
    if (state.isDown) throw new Error("connection refused");
    return undefined;
  });
  const { find, logOf, metrics } = serve({ store, clock: () => state.now });
  for (let times = 0; times < 5; times++) expect(await find()).toBe(503);
  state.isDown = false;
  state.now += 1000;
  expect(await find()).toBe(404);
  state.isDown = true;
  expect(await find()).toBe(503);
  expect(logOf("store")).toMatchObject([
    { event: "store failing", level: "warn", message: "connection refused" },
    { event: "store answering again", level: "info" },
    { event: "store failing", level: "warn" },
  ]);
  const text = await metrics();
  expect(text).toContain('store_failures_total{operation="get",failure="error"} 4\n');
  expect(text).toContain('store_failures_total{operation="get",failure="resting"} 2\n');
});

describe("a store that answers too late", () => {
  useFakeTime();

  test.each([
    ["its own timeout", { timeoutMs: 3000 }, {}, 3000],
    ["that of the setting", { timeoutMs: 3000 }, { storeTimeoutMs: 20 }, 20],
    ["half a second by default", {}, {}, 500],
  ])("is logged after %s, with the setting to raise", async (_, more, settings, ms) => {
    const { find, logOf } = serve({ store: reading(() => new Promise(() => {}), more), settings });
    const late = find();
    await vi.advanceTimersByTimeAsync(ms - 1);
    expect(logOf("store")).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(await late).toBe(503);
    expect(logOf("store")).toMatchObject([
      { message: `There was no answer within ${ms} ms (setting storeTimeoutMs).` },
    ]);
  });
});

describe("encryption keys", () => {
  const OPENED = 'reasoning_returned_total{outcome="sealed"} 1';
  const ask = { input: "Hi.", include: ["reasoning.encrypted_content"], store: false };

  /** Sends an earlier response's sealed reasoning back, and returns the counters of seals. */
  async function sendBack(app: ReturnType<typeof serve>, output: readonly object[]) {
    const sealed = output.find((item) => "encrypted_content" in item);
    const reasoning = { ...sealed, summary: [], content: undefined };
    const input = [
      { role: "user", content: "Hi." },
      reasoning,
      { type: "function_call", call_id: "c1", name: "f", arguments: "{}" },
      { type: "function_call_output", call_id: "c1", output: "ok" },
    ];
    await app.send("POST", "/v1/responses", { model: MODEL, ...ask, input });
    return (await app.metrics()).match(/(?<=_)(?:seals_refused|reasoning_returned)_total\{.*/g);
  }

  test("are this process's own if none are configured, which is logged at first use", async () => {
    const app = serve();
    expect(app.logOf("sealing")).toEqual([]);
    const { output } = await app.create(ask);
    await app.create(ask);
    expect(app.logOf("sealing")).toMatchObject([
      { level: "warn", event: "sealing without sealingKeys" },
    ]);
    expect(await sendBack(app, output)).toEqual([OPENED]);
    expect(await sendBack(serve(), output)).toContain(
      'seals_refused_total{reason="unknown-key"} 1',
    );
  });

  test("from the settings decrypt after a restart", async () => {
    const settings = { sealingKeys: [KEY] };
    const app = serve({ settings });
    const { output } = await app.create(ask);
    expect(await sendBack(serve({ settings }), output)).toEqual([OPENED]);
    expect(app.logOf("sealing")).toEqual([]);
  });
});
