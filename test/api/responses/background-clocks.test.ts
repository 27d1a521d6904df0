/** Background responses, their heartbeat and their followers, by clocks that jump and stores that lose entries. */
import { describe, expect, test, vi } from "vitest";
import { createMemoryStore, type Store } from "../../../src/index.ts";
import { settled, useFakeTime } from "../../helpers/fake-time.ts";
import { scriptedEngine } from "../../helpers/scripted-engine.ts";
import { consume } from "./consumer.ts";
import { responseObject } from "./schemas.ts";
import { MODEL, readEvents, type ResponsesApp, responsesApp } from "./support.ts";

const CUT =
  "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>He";
const REQUEST = { model: MODEL, input: "Hi.", background: true };

useFakeTime();

/** Two gateways over one store, each with its own wall clock. The engine of the first never ends. */
function twoGateways() {
  const memory = createMemoryStore({
    maxEntries: 1000,
    maxBytes: 10_000_000,
    now: () => performance.now(),
  });
  const state = {
    ahead: { one: 0, other: 0 },
    /** The first gateway's process has died: nothing of it reaches the store. */
    isDead: false,
    /** Kinds of entries that cannot be found, or that fail. */
    missing: "none",
    failing: "none",
  };
  const read: Store["get"] = async (key) => {
    if (key.startsWith(`${state.failing}:`)) throw new Error("connection reset");
    return key.startsWith(`${state.missing}:`) ? undefined : memory.get(key);
  };
  const own: Store = {
    ...memory,
    set: (...entry) => (state.isDead ? new Promise(() => {}) : memory.set(...entry)),
  };
  const engine = scriptedEngine(() => ({ write: CUT, hang: true }));
  const one = responsesApp({ engine, store: own, now: () => Date.now() + state.ahead.one });
  const other = responsesApp({
    engine: scriptedEngine([]),
    store: { ...memory, get: read },
    now: () => Date.now() + state.ahead.other,
  });
  return { one, other, state };
}

async function start(app: ResponsesApp): Promise<string> {
  const response = await settled(app.send("POST", "/v1/responses", REQUEST));
  const { id } = responseObject.parse(await settled(response.json()));
  // Until its events are there.
  await vi.advanceTimersByTimeAsync(2_000);
  return id;
}

async function look(app: ResponsesApp, id: string) {
  const response = await settled(app.send("GET", `/v1/responses/${id}`));
  return responseObject.parse(await settled(response.json()));
}

async function cancel(app: ResponsesApp, id: string): Promise<void> {
  await settled(app.send("POST", `/v1/responses/${id}/cancel`));
}

async function follow(app: ResponsesApp, id: string) {
  return readEvents(await app.send("GET", `/v1/responses/${id}?stream=true`));
}

const MINUTE = 60_000;
const DAY = 86_400_000;

describe("S22: a background response that runs is never reported as failed", () => {
  test.each([
    ["the reader's clock is ahead", { one: 0, other: 40_000 }],
    ["the reader's clock is a day ahead", { one: 0, other: DAY }],
    ["its own clock is behind", { one: -MINUTE, other: 0 }],
    ["its own clock is ahead", { one: DAY, other: 0 }],
  ])("when %s", async (_, ahead) => {
    const { one, other, state } = twoGateways();
    state.ahead = ahead;
    const id = await start(one);
    for (let seconds = 0; seconds < 90; seconds += 5) {
      expect((await look(other, id)).status).toBe("in_progress");
      expect((await look(one, id)).status).toBe("in_progress");
      await vi.advanceTimersByTimeAsync(5_000);
    }
    await cancel(one, id);
  });

  test.each([MINUTE, -MINUTE, DAY, -DAY])("when all clocks jump by %i ms", async (jump) => {
    const { one, other } = twoGateways();
    const id = await start(one);
    expect((await look(other, id)).status).toBe("in_progress");
    vi.setSystemTime(Date.now() + jump);
    expect((await look(one, id)).status).toBe("in_progress");
    expect((await look(other, id)).status).toBe("in_progress");
    await vi.advanceTimersByTimeAsync(2 * MINUTE);
    expect((await look(other, id)).status).toBe("in_progress");
    await cancel(one, id);
  });

  test("where it runs, not even while the store is not written", async () => {
    const { one, state } = twoGateways();
    const id = await start(one);
    state.isDead = true;
    for (let seconds = 0; seconds < 60; seconds += 5) {
      expect((await look(one, id)).status).toBe("in_progress");
      await vi.advanceTimersByTimeAsync(5_000);
    }
    state.isDead = false;
    await cancel(one, id);
  });
});

test("it is reported as failed half a minute after a reader has seen its heartbeat stop", async () => {
  const { one, other, state } = twoGateways();
  const id = await start(one);
  state.isDead = true;
  expect((await look(other, id)).status).toBe("in_progress");
  await vi.advanceTimersByTimeAsync(29_000);
  expect((await look(other, id)).status).toBe("in_progress");
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await look(other, id)).toMatchObject({
    status: "failed",
    error: { message: "The gateway that ran this response has stopped. Send the request again." },
  });
  const events = await settled(follow(other, id));
  expect(events.map(({ type }) => type).slice(-2)).toEqual(["error", "response.failed"]);
  expect(consume(events).status).toBe("failed");
});

describe("S25: a followed stream", () => {
  test.each([
    ["the response is missing", { missing: "response" }],
    ["its events are missing", { missing: "response-events" }],
    ["the response cannot be read", { failing: "response" }],
    ["its events cannot be read", { failing: "response-events" }],
  ])("goes on after %s for a heartbeat", async (_, trouble) => {
    const { one, other, state } = twoGateways();
    const id = await start(one);
    const following = follow(other, id);
    await vi.advanceTimersByTimeAsync(1_000);
    Object.assign(state, trouble);
    await vi.advanceTimersByTimeAsync(3_000);
    Object.assign(state, { missing: "none", failing: "none" });
    await vi.advanceTimersByTimeAsync(3_000);
    await cancel(one, id);
    const events = await settled(following);
    expect(events.at(-1)).toMatchObject({
      type: "response.incomplete",
      response: { status: "cancelled" },
    });
  });

  test.each([
    [
      "is missing",
      { missing: "response" },
      (id: string) => `There is no response with the id "${id}".`,
      "response_not_found",
    ],
    [
      "cannot be read",
      { failing: "response" },
      () =>
        "The gateway's store is not available, so the response cannot be stored or read. Try again later, or set store to false. Please try again in 1s.",
      "server_error",
    ],
  ])("ends with an error when the response %s for good", async (_, trouble, message, code) => {
    const { one, other, state } = twoGateways();
    const id = await start(one);
    const following = follow(other, id);
    await vi.advanceTimersByTimeAsync(1_000);
    Object.assign(state, trouble);
    const events = await settled(following, 100);
    expect(events.at(-1)).toMatchObject({
      type: "error",
      sequence_number: events.length - 1,
      code,
      message: message(id),
    });
    await cancel(one, id);
  });
});
