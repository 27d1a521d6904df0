import { Hono } from "hono";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { ApiEnv } from "../../src/api/client.ts";
import { sseResponse } from "../../src/api/sse.ts";
import { createPushStream } from "../../src/streams/push-stream.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

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
      keepAliveMs: 15_000,
      clientIdleTimeoutMs: 60_000,
      onCancel: (reason) => left.push(reason),
    });
  });
  const response = await app.request("/");
  const reader = response.body?.getReader();
  if (reader === undefined) throw new Error("no body");
  return { reader, left, state };
}

test("a client that never reads is disconnected after the idle timeout, and its turn is stopped", async () => {
  const { reader, left, state } = await stream();
  await vi.advanceTimersByTimeAsync(59_999);
  expect(state.isStopped).toBe(false);
  await vi.advanceTimersByTimeAsync(60_001);
  expect(state).toEqual({ taken: state.taken, isStopped: true });
  expect(left).toHaveLength(1);
  await expect(reader.read()).rejects.toThrow("the client has read nothing");
  expect(vi.getTimerCount()).toBe(0);
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
