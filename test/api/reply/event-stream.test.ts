import { Hono } from "hono";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { ApiEnv } from "../../../src/api/request/client.ts";
import { sseResponse } from "../../../src/api/reply/event-stream.ts";
import { createPushStream } from "../../../src/streams/push-stream.ts";
import { countPendingTimers } from "../../helpers/pending-timers.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** Delays that no other timer of this process has. */
const KEEP_ALIVE_MS = 15_013;
const IDLE_MS = 60_013;

/** An endless stream, over a web stream. */
async function stream() {
  const app = new Hono<ApiEnv>();
  const left: unknown[] = [];
  const state = { taken: 0, isStopped: false };
  app.get("/", (c) => {
    const frames = createPushStream<string>(async (take) => {
      while (await take("data: one\n\n")) state.taken += 1;
      state.isStopped = true;
    });
    return sseResponse(c, frames, {
      keepAliveMs: KEEP_ALIVE_MS,
      clientIdleTimeoutMs: IDLE_MS,
      onCancel: (reason) => left.push(reason),
    });
  });
  const response = await app.request("/");
  const reader = response.body?.getReader();
  if (reader === undefined) throw new Error("no body");
  return { reader, left, state };
}

test("a client that never reads is disconnected after the idle timeout, and its turn is stopped", async () => {
  const pendingTimers = countPendingTimers(KEEP_ALIVE_MS, IDLE_MS);
  const { reader, left, state } = await stream();
  expect(pendingTimers()).toBe(2);
  await vi.advanceTimersByTimeAsync(IDLE_MS - 1);
  expect(state.isStopped).toBe(false);
  await vi.advanceTimersByTimeAsync(IDLE_MS + 1);
  expect(state).toEqual({ taken: state.taken, isStopped: true });
  expect(left).toHaveLength(1);
  await expect(reader.read()).rejects.toThrow("the client has read nothing");
  expect(pendingTimers()).toBe(0);
});

test("a client that reads slowly is not disconnected", async () => {
  const { reader, left, state } = await stream();
  for (let minutes = 0; minutes < 30; minutes++) {
    await reader.read();
    await vi.advanceTimersByTimeAsync(55_000);
  }
  expect(state.isStopped).toBe(false);
  expect(left).toEqual([]);
  await reader.cancel();
});
