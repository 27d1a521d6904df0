/** The health of backends, from requests and health checks, and its effect on requests. */
import { describe, expect, test } from "vitest";

import { type Engine, EngineError, type EngineErrorKind } from "../../../src/index.ts";
import { createPool, type Pool } from "../../../src/engines/pool.ts";
import { createBackendCounts, createHealth } from "../../../src/engines/pool/backend-load.ts";
import { complete, requestOf } from "../support.ts";
import {
  counts,
  createFakeClock,
  createScriptedEngine,
  errorOf,
  FINISH,
  hold,
  OPEN,
  poolOf,
  settle,
  TOKEN,
  WHOLE,
} from "./support.ts";

const breaker = { failures: 2, pauseMs: 1_000, maxPauseMs: 4_000 };

const healthOf = (pool: Pool) => pool.state.backends.map(({ health }) => health);

/** A request of this client, in a conversation that prefers the first of two backends. */
function completeAs(pool: Pool, tenant: string, affinity: string) {
  return complete(pool, requestOf({ tenant, affinity }));
}

describe("requests", () => {
  test("show that a backend is up, or the kind of failure until the next success", async () => {
    const engine = createScriptedEngine(WHOLE, [errorOf("server-error")], WHOLE);
    const pool = poolOf([engine]);
    const look = () => pool.state.backends.map(({ health, reason }) => [health, reason]);
    expect(look()).toEqual([["unknown", undefined]]);
    await complete(pool);
    expect(look()).toEqual([["up", undefined]]);
    await complete(pool);
    expect(look()).toEqual([["up", "server-error"]]);
    await complete(pool);
    expect(look()).toEqual([["up", undefined]]);
  });

  test("eject an unreachable backend, and bring it back by their first tokens", async () => {
    const gone = createScriptedEngine([errorOf("unreachable")], [errorOf("unreachable")], WHOLE);
    const pool = poolOf([createScriptedEngine(), gone], { breaker });
    for (let n = 0; n < 8; n += 1) expect((await complete(pool)).finish).toBeDefined();
    expect(gone.requests).toHaveLength(2);
    expect(healthOf(pool)).toEqual(["up", "down"]);
    expect(pool.state.backends[1]).toMatchObject({ reason: "unreachable", ejections: 1 });
    expect(pool.state.retries).toBe(2);
    pool.clock.advance(1_000);
    for (let n = 0; n < 8; n += 1) expect((await complete(pool)).finish).toBeDefined();
    expect(healthOf(pool)).toEqual(["up", "up"]);
  });

  test("never eject the last remaining backend", async () => {
    const engine = createScriptedEngine(
      ...Array.from({ length: 40 }, () => [errorOf("timeout")]),
      WHOLE,
    );
    const pool = poolOf([engine], { breaker });
    for (let n = 0; n < 40; n += 1) expect((await complete(pool)).error?.kind).toBe("timeout");
    expect(pool.state).toMatchObject({
      ready: true,
      backends: [{ health: "degraded", reason: "timeout" }],
    });
    expect((await complete(pool)).finish).toBeDefined();
    expect(healthOf(pool)).toEqual(["up"]);
  });

  test("nor the last of several, however the others were ejected", async () => {
    const engines = [0, 1, 2].map(() => createScriptedEngine([errorOf("unreachable")]));
    const pool = poolOf(engines, { breaker });
    for (let n = 0; n < 40; n += 1) await complete(pool);
    expect(healthOf(pool).toSorted()).toEqual(["degraded", "down", "down"]);
    expect((await complete(pool)).error?.kind).toBe("unreachable");
  });

  test("an ejected backend is used when the others are down", async () => {
    const [stays, flaky] = [
      createScriptedEngine(),
      createScriptedEngine([errorOf("unreachable")], [errorOf("unreachable")], WHOLE),
    ];
    const pool = poolOf([stays, flaky], { breaker });
    for (let n = 0; n < 6; n += 1) await complete(pool);
    expect(healthOf(pool)).toEqual(["up", "down"]);
    stays.fallIll(errorOf("unreachable"));
    flaky.check = async () => undefined;
    for (let n = 0; n < 2; n += 1) await pool.check(new AbortController().signal);
    expect(healthOf(pool)).toEqual(["down", "degraded"]);
    expect((await complete(pool)).finish).toBeDefined();
  });

  test.each<EngineErrorKind>([
    "server-error",
    "closed",
    "not-found",
    "auth",
    "bad-request",
    "context-length",
  ])("of one client do not put anybody out, whatever they are answered with: %s", async (kind) => {
    const isPoison = (affinity?: string) => affinity === "poison";
    const engines = [0, 1, 2].map(() => {
      const engine = createScriptedEngine();
      const serve = engine.complete.bind(engine);
      engine.complete = (request, signal) =>
        isPoison(request.affinity)
          ? createScriptedEngine([errorOf(kind)]).complete(request, signal)
          : serve(request, signal);
      return engine;
    });
    for (const pool of [poolOf(engines, { breaker }), poolOf(engines.slice(0, 1), { breaker })]) {
      for (let n = 0; n < 30; n += 1) {
        expect((await completeAs(pool, "a", "poison")).error?.kind).toBe(kind);
      }
      for (let n = 0; n < 12; n += 1) {
        expect((await completeAs(pool, "b", `c${n}`)).finish).toBeDefined();
      }
      expect(healthOf(pool)).not.toContain("down");
    }
  });

  test("that fail for every client eject a backend within ten of them", async () => {
    const ill = createScriptedEngine([errorOf("server-error")]);
    const pool = poolOf([createScriptedEngine(), ill], { breaker });
    let sent = 0;
    while (pool.state.backends[1]?.health !== "down" && sent < 100) {
      sent += 1;
      expect(
        (await complete(pool, requestOf({ tenant: sent % 3 === 0 ? "a" : "b" }))).finish,
      ).toBeDefined();
    }
    expect(ill.requests).toHaveLength(10);
  });

  test("count against one backend only, however many they fail at", async () => {
    const engines = [0, 1, 2].map(() => createScriptedEngine([errorOf("timeout")]));
    const pool = poolOf(engines, { breaker: { ...breaker, failures: 1 } });
    await complete(pool);
    expect(engines.flatMap(({ requests }) => requests)).toHaveLength(3);
    expect(healthOf(pool).filter((health) => health === "down")).toHaveLength(1);
  });

  test("a long stream that is the trial lets others in with its first token", async () => {
    const gone = createScriptedEngine([errorOf("unreachable")], [errorOf("unreachable")], WHOLE);
    const other = createScriptedEngine();
    const pool = poolOf([other, gone], { breaker, maxConcurrent: 4 });
    for (let n = 0; n < 4; n += 1) await complete(pool);
    expect(healthOf(pool)).toEqual(["up", "down"]);
    pool.clock.advance(1_000);
    const streams = [];
    for (let n = 0; n < 8; n += 1) streams.push(await hold(pool));
    expect(counts(pool)).toEqual([4, 4]);
    for (const stream of streams) await stream.end();
    expect(counts(pool)).toEqual([0, 0]);
  });

  test("a disconnect is no evidence against a backend, nor for one on trial", async () => {
    const gone = createScriptedEngine([errorOf("unreachable")], [errorOf("unreachable")], WHOLE);
    const busy = createScriptedEngine();
    const pool = poolOf([busy, gone], { breaker, maxConcurrent: 1 });
    for (let n = 0; n < 4; n += 1) await complete(pool);
    const held = await hold(pool);
    pool.clock.advance(1_000);
    const events = pool.complete(requestOf(), new AbortController().signal)[Symbol.asyncIterator]();
    await events.next();
    expect(counts(pool)).toEqual([1, 1]);
    await events.return?.();
    expect(counts(pool)).toEqual([1, 0]);
    expect(healthOf(pool)).toEqual(["up", "down"]);
    expect((await complete(pool)).finish).toBeDefined();
    await held.end();
  });

  test("a backend that refuses our key or model is used last and reported, but not ejected", async () => {
    const wrong = createScriptedEngine([errorOf("auth")]);
    const pool = poolOf([createScriptedEngine(), wrong], { breaker });
    for (let n = 0; n < 30; n += 1) expect((await complete(pool)).finish).toBeDefined();
    expect(wrong.requests).toHaveLength(1);
    expect(pool.state.backends[1]).toMatchObject({ health: "degraded", reason: "auth" });
    await pool.probe(new AbortController().signal);
    expect(healthOf(pool)).toEqual(["up", "up"]);
  });
});

describe("health checks", () => {
  test("eject a backend after two failures, and nothing is sent to it", async () => {
    const engine = createScriptedEngine();
    const pool = poolOf([engine]);
    const { signal } = new AbortController();
    await pool.check(signal);
    engine.fallIll(errorOf("overloaded"));
    await pool.check(signal);
    expect(healthOf(pool)).toEqual(["up"]);
    await expect(pool.check(signal)).rejects.toMatchObject({
      message: "No backend is available (b0: it is overloaded).",
      operatorMessage: errorOf("overloaded").message,
    });
    expect(pool.state).toMatchObject({
      ready: false,
      backends: [{ health: "down", reason: "overloaded" }],
    });
    expect((await complete(pool)).error?.kind).toBe("unavailable");
    expect(engine.requests).toHaveLength(0);
    engine.fallIll(undefined);
    await pool.check(signal);
    expect(pool.state).toMatchObject({ ready: true, backends: [{ health: "up" }] });
  });

  test("that fail now and then have no effect", async () => {
    const engine = createScriptedEngine();
    const pool = poolOf([engine]);
    for (let n = 0; n < 6; n += 1) {
      engine.fallIll(n % 2 === 1 ? errorOf("unreachable") : undefined);
      await pool.check(new AbortController().signal);
    }
    expect(healthOf(pool)).toEqual(["up"]);
  });

  test("time out for a backend that hangs", async () => {
    const engine = createScriptedEngine();
    const pool = poolOf([engine]);
    const { signal } = new AbortController();
    await pool.check(signal);
    engine.check = () => new Promise(() => {});
    for (let n = 0; n < 2; n += 1) {
      const checking = pool.check(signal).catch(() => undefined);
      pool.clock.advance(3_000);
      await checking;
    }
    expect(pool.state.backends[0]).toMatchObject({ health: "down", reason: "timeout" });
  });

  test("that are slow do not count while requests are answered", async () => {
    const engine = createScriptedEngine();
    const pool = poolOf([engine]);
    const { signal } = new AbortController();
    await pool.check(signal);
    engine.check = () => new Promise(() => {});
    for (let n = 0; n < 4; n += 1) {
      const checking = pool.check(signal);
      pool.clock.advance(1_000);
      await complete(pool);
      pool.clock.advance(2_000);
      await checking;
    }
    expect(healthOf(pool)).toEqual(["up"]);
  });

  test("requests without a token move when a backend goes down, others stay", async () => {
    const stopped = () => new Promise<void>(() => {});
    const hanging = createScriptedEngine([OPEN, TOKEN, stopped()], [OPEN, stopped()], [stopped()]);
    const other = createScriptedEngine();
    const pool = poolOf([other, hanging]);
    const { signal } = new AbortController();
    await pool.check(signal);
    const busy = [];
    // Keeps the other one as busy as the hanging one.
    const begun = [await hold(pool), await hold(pool)];
    expect(counts(pool)).toEqual([1, 1]);
    for (let n = 0; n < 6; n += 1) busy.push(complete(pool));
    await settle();
    const waiting = pool.state.backends[1]?.inFlight ?? 0;
    expect(waiting).toBeGreaterThan(1);
    hanging.fallIll(errorOf("timeout"));
    for (let n = 0; n < 2; n += 1) await pool.check(signal);
    for (const each of await Promise.all(busy)) expect(each.finish).toEqual(FINISH);
    expect(counts(pool)).toEqual([1, 1]);
    expect(pool.state.retries).toBe(waiting - 1);
    for (const { abort } of begun) abort.abort();
    expect(counts(pool)).toEqual([0, 0]);
  });

  test("abort requests without a token when a single backend goes down", async () => {
    const engine = createScriptedEngine([OPEN, new Promise<void>(() => {})]);
    const pool = poolOf([engine]);
    const { signal } = new AbortController();
    await pool.check(signal);
    const waiting = complete(pool);
    await settle();
    engine.fallIll(errorOf("timeout"));
    for (let n = 0; n < 2; n += 1) await pool.check(signal).catch(() => undefined);
    expect((await waiting).error).toEqual({
      kind: "unavailable",
      message: "The backend b0 went down (it does not answer in time) before it began to answer.",
    });
    expect(counts(pool)).toEqual([0]);
  });

  test.each(["check", "probe"] as const)("a %s that is given up says nothing", async (question) => {
    const engine = createScriptedEngine();
    const pool = poolOf([engine], { breaker });
    const abort = new AbortController();
    engine.fallIll(errorOf("unreachable"));
    const asking = pool[question](abort.signal);
    abort.abort(new Error("stopping"));
    // An engine may report a better reason than "aborted": that its model is being downloaded.
    await expect(asking).rejects.toThrow(question === "check" ? "stopping" : "no: unreachable.");
    expect(pool.state.backends[0]?.health).toBe("unknown");
  });

  test("that succeed let a backend whose requests fail be tried early, no more", async () => {
    const engine = createScriptedEngine([errorOf("unreachable")]);
    const pool = poolOf([createScriptedEngine(), engine], { breaker });
    for (let n = 0; n < 4; n += 1) await complete(pool);
    await pool.check(new AbortController().signal);
    expect(healthOf(pool)).toEqual(["up", "down"]);
    expect(pool.backends[1]?.isAdmitting).toBe(true);
  });

  test("backends without a health check keep their state", async () => {
    const engine: Engine = createScriptedEngine();
    delete engine.check;
    const pool = poolOf([engine]);
    await pool.check(new AbortController().signal);
    expect(pool.state.backends[0]?.health).toBe("unknown");
  });

  test("a backend that does not know the path of its health check stays as its requests found it", async () => {
    const engine = createScriptedEngine();
    const missing = new EngineError("not-found", "no health check at /health (404)");
    const pool = poolOf([engine]);
    await complete(pool);
    engine.check = async () => Promise.reject(missing);
    const changes: string[] = [];
    const abort = new AbortController();
    const watching = pool.watch(5_000, abort.signal, (state, what) =>
      changes.push(`${what}: ${state.missingCheck}`),
    );
    for (let checks = 0; checks < 4; checks++) {
      await settle();
      pool.clock.advance(5_000);
    }
    expect(healthOf(pool)).toEqual(["up"]);
    expect(changes).toEqual(["missing-check: no health check at /health (404)"]);
    abort.abort();
    await watching;
  });

  test("monitoring checks at once and then every interval, until it is stopped", async () => {
    const engine = createScriptedEngine();
    const pool = poolOf([engine], { breaker });
    const abort = new AbortController();
    const watching = pool.watch(5_000, abort.signal);
    await settle();
    expect(pool.state.backends[0]?.health).toBe("up");
    engine.fallIll(errorOf("unreachable"));
    pool.clock.advance(4_999);
    await settle();
    expect(pool.state.backends[0]?.health).toBe("up");
    pool.clock.advance(1);
    await settle();
    expect(pool.state.backends[0]?.health).toBe("up");
    // After a failure it is checked again soon.
    pool.clock.advance(1_000);
    await settle();
    expect(pool.state.backends[0]?.health).toBe("down");
    abort.abort();
    await watching;
  });
});

describe("monitoring", () => {
  const watched = (engine: ReturnType<typeof createScriptedEngine>) => {
    const pool = poolOf([engine], {
      breaker: { failures: 2, pauseMs: 60_000, maxPauseMs: 60_000 },
    });
    const abort = new AbortController();
    const changes: string[] = [];
    const over = pool.watch(5_000, abort.signal, ({ id, health }) =>
      changes.push(`${id} ${health}`),
    );
    const wait = async () => {
      pool.clock.advance(5_000);
      await settle();
    };
    return {
      pool,
      changes,
      wait,
      stop: () => {
        abort.abort();
        return over;
      },
    };
  };

  test("reports every change once", async () => {
    const engine = createScriptedEngine();
    const { changes, wait, stop } = watched(engine);
    await settle();
    await wait();
    engine.fallIll(errorOf("unreachable"));
    await wait();
    await wait();
    await wait();
    engine.fallIll(undefined);
    await wait();
    await stop();
    expect(changes).toEqual(["b0 up", "b0 down", "b0 up"]);
  });

  test("probes a backend that has not answered yet, and so detects its kind", async () => {
    const engine = createScriptedEngine();
    engine.contextLength = 4_096;
    engine.fallIll(errorOf("overloaded"));
    const { pool, wait, stop } = watched(engine);
    await settle();
    expect(pool.state).toMatchObject({ ready: false, backends: [{ health: "down" }] });
    engine.fallIll(undefined);
    await wait();
    expect(pool.state).toMatchObject({ ready: true, contextLength: 4_096 });
    await stop();
  });

  test("brings back a backend whose requests failed, by its own probe", async () => {
    const engine = createScriptedEngine([errorOf("timeout")]);
    const { pool, changes, wait, stop } = watched(engine);
    await settle();
    await complete(pool);
    await complete(pool);
    expect(healthOf(pool)).toEqual(["degraded"]);
    await wait();
    expect(healthOf(pool)).toEqual(["up"]);
    expect(engine.requests).toHaveLength(2);
    await stop();
    expect(changes).toEqual(["b0 up"]);
  });

  test("goes on at its times under other settings, so that they add no votes", async () => {
    const engine = createScriptedEngine();
    const health = createHealth(createBackendCounts());
    const clock = createFakeClock();
    const monitorAgain = async () => {
      const pool = createPool([{ id: "b0", engine, health }], { clock });
      const abort = new AbortController();
      await pool.probe(abort.signal).catch(() => {});
      const watching = pool.watch(5_000, abort.signal);
      await settle();
      abort.abort();
      await watching;
      return pool.state.backends[0];
    };
    expect(await monitorAgain()).toMatchObject({ health: "up" });
    engine.fallIll(errorOf("unreachable"));
    clock.advance(4_999);
    for (let n = 0; n < 3; n++) expect((await monitorAgain())?.reason).toBeUndefined();
    clock.advance(1);
    for (let n = 0; n < 3; n++) {
      expect(await monitorAgain()).toMatchObject({ health: "up", reason: "unreachable" });
    }
    clock.advance(1_000);
    expect(await monitorAgain()).toMatchObject({ health: "down" });
    engine.fallIll(undefined);
    expect(await monitorAgain()).toMatchObject({ health: "up" });
  });

  test("does not wait for one that hangs before it checks the others", async () => {
    const engines = [createScriptedEngine(), createScriptedEngine()] as const;
    engines[0].probe = () => new Promise(() => {});
    const pool = poolOf(engines);
    const abort = new AbortController();
    void pool.watch(5_000, abort.signal);
    await settle();
    engines[1].fallIll(errorOf("unreachable"));
    for (const ms of [5_000, 1_000]) {
      pool.clock.advance(ms);
      await settle();
    }
    expect(pool.state.backends.map(({ health }) => health)).toEqual(["unknown", "down"]);
    abort.abort();
  });
});
