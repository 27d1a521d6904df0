/** Which requests get a slot at a backend, which wait, and which are refused. */
import { describe, expect, test } from "vitest";

import { EngineError } from "../../../src/index.ts";
import { complete, requestOf } from "../support.ts";
import {
  counts,
  createScriptedEngine,
  errorOf,
  FINISH,
  hold,
  inOrder,
  poolOf,
  settle,
  WHOLE,
} from "./support.ts";

describe("the queue", () => {
  test("queues requests while all backends are full, and admits them in order", async () => {
    const pool = poolOf([createScriptedEngine(), createScriptedEngine()], { maxConcurrent: 1 });
    const held = [await hold(pool), await hold(pool)];
    const order: number[] = [];
    const waiting = [0, 1, 2].map(async (n) => {
      const events = pool.complete(requestOf(), new AbortController().signal);
      for await (const event of events) if (event.type === "open") order.push(n);
    });
    await settle();
    expect(pool.state).toMatchObject({ queued: 3, ready: true });
    for (const each of held) await each.end();
    await Promise.all(waiting);
    expect(order).toEqual([0, 1, 2]);
    expect(pool.state.queued).toBe(0);
    expect(counts(pool)).toEqual([0, 0]);
  });

  test("is limited, and reports when to retry", async () => {
    const pool = poolOf([createScriptedEngine()], { maxConcurrent: 1, maxQueued: 1 });
    const held = await hold(pool);
    const waiting = complete(pool);
    await settle();
    await expect(
      pool.complete(requestOf(), new AbortController().signal)[Symbol.asyncIterator]().next(),
    ).rejects.toMatchObject({
      kind: "overloaded",
      message: "All backends are busy and the queue is full (1 waiting). Try again later.",
      retryAfter: 1,
    });
    await held.end();
    expect((await waiting).finish).toBeDefined();
  });

  test("times out", async () => {
    const pool = poolOf([createScriptedEngine()], { maxConcurrent: 1, queueTimeoutMs: 500 });
    const held = await hold(pool);
    const waiting = complete(pool);
    await settle();
    pool.clock.advance(500);
    expect((await waiting).error).toEqual({
      kind: "overloaded",
      message: "All backends stayed busy for 500 ms.",
    });
    expect(pool.state.queued).toBe(0);
    await held.end();
    expect((await complete(pool)).finish).toBeDefined();
  });

  test("releases a client that disconnects", async () => {
    const pool = poolOf([createScriptedEngine()], { maxConcurrent: 1 });
    const held = await hold(pool);
    const abort = new AbortController();
    const waiting = pool.complete(requestOf(), abort.signal)[Symbol.asyncIterator]().next();
    await settle();
    abort.abort(new Error("left"));
    await expect(waiting).rejects.toThrow("left");
    expect(pool.state.queued).toBe(0);
    await held.end();
    expect(counts(pool)).toEqual([0]);
  });

  test("admits queued requests first when a backend's pause has ended", async () => {
    const failing = createScriptedEngine([errorOf("unreachable")], WHOLE);
    const other = createScriptedEngine();
    const breaker = { failures: 1, pauseMs: 1_000, maxPauseMs: 1_000 };
    const pool = poolOf([other, failing], { maxConcurrent: 1, breaker });
    const held = await hold(pool);
    const order: string[] = [];
    const run = async (name: string): Promise<void> => {
      for await (const event of pool.complete(requestOf(), new AbortController().signal)) {
        if (event.type === "open") order.push(name);
      }
    };
    expect(counts(pool)).toEqual([1, 0]);
    const first = run("first");
    await settle();
    pool.clock.advance(1_000);
    await Promise.all([first, run("second")]);
    expect(order).toEqual(["first", "second"]);
    await held.end();
  });

  test("reports when no request is queued", async () => {
    const engine = createScriptedEngine();
    const pool = poolOf([engine], { maxConcurrent: 1 });
    const held = await hold(pool);
    const waiting = complete(pool);
    await settle();
    engine.fallIll(errorOf("unreachable"));
    for (let n = 0; n < 2; n += 1)
      await pool.check(new AbortController().signal).catch(() => undefined);
    expect((await waiting).error?.kind).toBe("unavailable");
    expect(pool.state.queued).toBe(0);
    await held.end();
  });

  test("does not block those after one whose backend is full", async () => {
    const failing = createScriptedEngine([errorOf("server-error")], WHOLE);
    const pool = poolOf([createScriptedEngine(), failing], {
      maxConcurrent: 2,
      affinitySlack: 2,
    });
    // Two long streams of one conversation, which belongs to the first backend.
    const affinity = await findAffinity();
    const streams = [
      await hold(pool, requestOf({ affinity })),
      await hold(pool, requestOf({ affinity })),
    ];
    expect(counts(pool)).toEqual([2, 0]);
    const retried = complete(pool);
    await settle();
    expect(pool.state).toMatchObject({ queued: 1, retries: 1 });
    const others = await Promise.all(Array.from({ length: 6 }, () => complete(pool)));
    expect(others.map(({ finish }) => finish)).toEqual(others.map(() => FINISH));
    expect(pool.state.queued).toBe(1);
    for (const each of streams) await each.end();
    expect((await retried).finish).toBeDefined();
    expect(counts(pool)).toEqual([0, 0]);
  });
});

describe("tenants", () => {
  /** A pool of one backend, and requests of tenants that end on demand. */
  function share(options: Parameters<typeof poolOf>[1]) {
    const pool = poolOf([createScriptedEngine()], options);
    const running: { tenant: string; end: () => unknown }[] = [];
    const refused: string[] = [];
    const send = (tenant: string, count = 1): void => {
      for (let n = 0; n < count; n += 1) {
        hold(pool, requestOf({ tenant })).then(
          ({ end }) => running.push({ tenant, end }),
          (error: unknown) =>
            refused.push(`${tenant} ${error instanceof EngineError ? error.kind : "?"}`),
        );
      }
    };
    return {
      pool,
      refused,
      /** The slots of each tenant. */
      shares: () => {
        const groups = Object.groupBy(running, ({ tenant }) => tenant);
        return Object.fromEntries(
          Object.entries(groups).map(([name, each]) => [name, each?.length ?? 0]),
        );
      },
      send: async (tenant: string, count?: number) => {
        send(tenant, count);
        await settle();
      },
      /** Ends the oldest running request. */
      end: async (count = 1) => {
        for (const each of running.splice(0, count)) await each.end();
        await settle();
      },
    };
  }

  test("a single tenant gets all slots", async () => {
    const { shares, send } = share({ maxConcurrent: 8 });
    await send("a", 20);
    expect(shares()).toEqual({ a: 8 });
  });

  test("a late tenant gets the next slot, and then an equal share", async () => {
    const { shares, send, end } = share({ maxConcurrent: 8 });
    await send("a", 200);
    await send("b", 10);
    await end();
    expect(shares()).toEqual({ a: 7, b: 1 });
    await end(8);
    expect(shares()).toEqual({ a: 4, b: 4 });
    await send("c", 10);
    await end(8);
    await end(8);
    expect(inOrder(Object.values(shares()))).toEqual([2, 3, 3]);
  });

  test("unused slots go to a queued tenant", async () => {
    const { shares, send, end } = share({ maxConcurrent: 8 });
    await send("a", 100);
    await send("b", 1);
    await end(8);
    expect(shares()).toEqual({ a: 7, b: 1 });
  });

  test("that fill the queue make room for a new tenant", async () => {
    const { pool, refused, send } = share({ maxConcurrent: 1, maxQueued: 4 });
    await send("a", 6);
    expect(refused).toEqual(["a overloaded"]);
    await send("b", 3);
    expect(pool.state.queued).toBe(4);
    // Two of each tenant wait: the third of either exceeds its share.
    expect(refused.toSorted()).toEqual([
      "a overloaded",
      "a tenant-limit",
      "a tenant-limit",
      "b tenant-limit",
    ]);
    await send("a");
    expect(refused.at(-1)).toBe("a tenant-limit");
  });

  test("that have equal shares of a full queue find it full", async () => {
    const { refused, send } = share({ maxConcurrent: 1, maxQueued: 3 });
    await send("x");
    for (const tenant of ["a", "b", "c"]) await send(tenant);
    await send("d");
    expect(refused).toEqual(["d overloaded"]);
  });

  test("have limits of their own, of what waits and of what runs", async () => {
    const { pool, refused, shares, send, end } = share({
      maxConcurrent: 8,
      tenants: [{ name: "a", maxQueued: 2, maxConcurrent: 3 }, { name: "b" }],
    });
    await send("a", 6);
    expect(shares()).toEqual({ a: 3 });
    expect(refused).toEqual(["a tenant-limit"]);
    await send("b", 6);
    expect(shares()).toEqual({ a: 3, b: 5 });
    expect(pool.state.tenants).toMatchObject([
      { index: 0, queued: 2, inFlight: 3 },
      { index: 1, queued: 1, inFlight: 5 },
    ]);
    await end(3);
    expect(shares()).toEqual({ a: 2, b: 6 });
  });

  test("get the exceeded limit, and when to retry", async () => {
    const { pool, send } = share({
      maxConcurrent: 8,
      tenants: [{ name: "a", maxQueued: 0, maxConcurrent: 1 }],
    });
    await send("a");
    await expect(hold(pool, requestOf({ tenant: "a" }))).rejects.toMatchObject({
      kind: "tenant-limit",
      message:
        "Your share of this model is used up: 1 of your requests are in flight and 0 are waiting. " +
        "Wait for some of them to end, then try again.",
      retryAfter: 1,
    });
  });

  test("that wait too long for their own slots get an error", async () => {
    const { pool, refused, send } = share({
      maxConcurrent: 8,
      queueTimeoutMs: 500,
      tenants: [{ name: "a", maxConcurrent: 1 }],
    });
    await send("a", 2);
    pool.clock.advance(500);
    await settle();
    expect(refused).toEqual(["a tenant-limit"]);
  });

  test("are counted with their waiting time under their number", async () => {
    const { pool, send, end } = share({
      maxConcurrent: 1,
      tenants: [{ name: "a" }, { name: "b" }],
    });
    await send("a");
    await send("b");
    pool.clock.advance(700);
    await end();
    await send("someone");
    pool.clock.advance(200);
    await end();
    expect(pool.state.tenants).toEqual([
      { index: 0, queued: 0, inFlight: 0, waits: 0, waitedMs: 0 },
      { index: 1, queued: 0, inFlight: 0, waits: 1, waitedMs: 700 },
      { index: 2, queued: 0, inFlight: 1, waits: 1, waitedMs: 200 },
    ]);
  });
});

/** An affinity that belongs to the first of two backends. */
async function findAffinity(): Promise<string> {
  for (let n = 1; ; n++) {
    const pool = poolOf([createScriptedEngine(), createScriptedEngine()]);
    await complete(pool, requestOf({ affinity: `c${n}` }));
    if (pool.state.backends[0]?.succeeded === 1) return `c${n}`;
  }
}
