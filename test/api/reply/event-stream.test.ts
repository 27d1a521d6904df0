import { Hono } from "hono";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { sseResponse } from "../../../src/api/reply/event-stream.ts";
import { type Consumer, createPushStream } from "../../../src/streams/push-stream.ts";
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

test("a silence is broken before keepAliveMs is over, whenever the last frame came", async () => {
  for (const lastFrameAt of [0, 1, KEEP_ALIVE_MS / 2, KEEP_ALIVE_MS * 0.9]) {
    const frame = Promise.withResolvers<void>();
    const { reader } = await respond(async (take) => {
      await frame.promise;
      await take("data: one\n\n");
      await new Promise(() => {});
    });
    await vi.advanceTimersByTimeAsync(lastFrameAt);
    frame.resolve();
    expect(decode(await reader.read())).toBe("data: one\n\n");
    let isBroken = false;
    void reader.read().then(() => (isBroken = true));
    await vi.advanceTimersByTimeAsync(KEEP_ALIVE_MS * 0.7);
    expect(isBroken).toBe(false);
    await vi.advanceTimersByTimeAsync(KEEP_ALIVE_MS * 0.3);
    expect(isBroken).toBe(true);
    let isBrokenAgain = false;
    void reader.read().then(() => (isBrokenAgain = true));
    await vi.advanceTimersByTimeAsync(KEEP_ALIVE_MS);
    expect(isBrokenAgain).toBe(true);
  }
});

function decode({ value }: { readonly value?: Uint8Array | undefined }): string {
  return new TextDecoder().decode(value);
}

/** An endless stream, over a web stream. */
async function stream() {
  const state = { taken: 0, isStopped: false };
  const response = await respond(async (take) => {
    while (await take("data: one\n\n")) state.taken += 1;
    state.isStopped = true;
  });
  return { ...response, state };
}

/** A stream of what `produce` delivers. */
async function respond(produce: (take: Consumer<string>) => Promise<void>) {
  const app = new Hono<{ Bindings: NonNullable<Parameters<typeof sseResponse>[0]["env"]> }>();
  const left: unknown[] = [];
  app.get("/", (c) => {
    return sseResponse(c, createPushStream(produce), {
      keepAliveMs: KEEP_ALIVE_MS,
      clientIdleTimeoutMs: IDLE_MS,
      onCancel: (reason) => left.push(reason),
    });
  });
  const response = await app.request("/");
  const reader = response.body?.getReader();
  if (reader === undefined) throw new Error("no body");
  return { reader, left };
}

test("a client that never reads is disconnected after the idle timeout, and its turn is stopped", async () => {
  const pendingTimers = countPendingTimers(KEEP_ALIVE_MS / 4, IDLE_MS);
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
