import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createMemoryStore, type Store } from "../../../src/index.ts";
import { createTurnApp, end, FAILURE, type TurnEvent } from "./turn-events.ts";

const COMMENT = /^: HARMONY-GATEWAY PROCESSING\n\n$/;
const START: TurnEvent = { type: "start", promptTokens: 1 };

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A stream that keeps alive, whose turn awaits promises between its events. */
async function open(turn: AsyncIterable<TurnEvent>, keepAliveMs: number, store?: Store) {
  const app = createTurnApp({
    settings: { keepAliveMs, storeTimeoutMs: 60_000 },
    ...(store && { store }),
  });
  let text = "";
  const read = async () => {
    const { body } = await app.post(turn, { stream: true, store: store !== undefined });
    for await (const bytes of body ?? []) text += new TextDecoder().decode(bytes);
  };
  void read();
  return async (ms = keepAliveMs) => {
    text = "";
    await vi.advanceTimersByTimeAsync(ms);
    return text;
  };
}

const typesOf = (frames: string) => [...frames.matchAll(/^event: (.*)$/gm)].map(([, type]) => type);

test("every fourth keep-alive is an event, and the first announces the response", async () => {
  const begun = Promise.withResolvers<void>();
  const next = await open(
    (async function* turn() {
      await begun.promise;
      yield START;
      await new Promise(() => {});
    })(),
    15_000,
  );
  // The first one sends the head of the reply.
  expect(await next()).toBe("");
  for (let comment = 0; comment < 3; comment++) expect(await next()).toMatch(COMMENT);
  expect(typesOf(await next())).toEqual(["response.created", "response.in_progress"]);
  begun.resolve();
  const started = await next(0);
  expect(typesOf(started)).toEqual(["response.in_progress"]);
  expect(started).toContain('"sequence_number":2');
  for (let comment = 0; comment < 3; comment++) expect(await next()).toMatch(COMMENT);
  expect(typesOf(await next())).toEqual(["response.in_progress"]);
});

test.each<[string, Error | undefined]>([
  ["the end", undefined],
  // The events of a failure have their numbers already.
  ["a failure", FAILURE],
])("while %s is being stored, keep-alives are comments", async (_, error) => {
  const kept = Promise.withResolvers<void>();
  const memory = createMemoryStore({ maxEntries: 10, maxBytes: 1e6, now: Date.now });
  const store: Store = {
    get: (key) => memory.get(key),
    delete: (key) => memory.delete(key),
    set: (...entry) => kept.promise.then(() => memory.set(...entry)),
  };
  const next = await open(
    (async function* turn() {
      yield START;
      await Promise.resolve();
      if (error) throw error;
      yield end("stop");
    })(),
    1000,
    store,
  );
  // Keys of the store are hashed in other threads, for which no fake time passes.
  const newest = async () => typesOf(await next(0)).at(-1);
  await expect.poll(newest).toBe("response.in_progress");
  for (let comment = 0; comment < 4; comment++) expect(await next()).toMatch(COMMENT);
  kept.resolve();
  await expect.poll(newest).toBe(error ? "response.failed" : "response.completed");
});

test.each([
  [5_000, 4],
  [15_000, 4],
  [60_000, 2],
  [120_000, 1],
  [300_000, 1],
])(
  "an event comes at least every two minutes, unless keep-alives are rarer: of those every %i ms, each %i. is one",
  async (keepAliveMs, every) => {
    const next = await open(
      (async function* turn() {
        yield START;
        await new Promise(() => {});
      })(),
      keepAliveMs,
    );
    await next(0);
    for (let round = 0; round < 2; round++) {
      for (let comment = 1; comment < every; comment++) expect(await next()).toMatch(COMMENT);
      expect(typesOf(await next())).toEqual(["response.in_progress"]);
    }
  },
);
