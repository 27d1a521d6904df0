import { describe, expect, test } from "vitest";

import type { Clock } from "../../src/engines/clock.ts";
import { EngineError, type EngineErrorKind } from "../../src/engines/engine-error.ts";
import type {
  Capabilities,
  CompletionRequest,
  Engine,
  EngineEvent,
} from "../../src/engines/engine.ts";
import { createPool, type Pool, type PoolOptions } from "../../src/engines/pool.ts";
import { VLLM_CAPABILITIES } from "../../src/engines/vllm.ts";
import { OLLAMA_CAPABILITIES } from "../../src/engines/ollama.ts";
import { complete, join, requestOf } from "./support.ts";

/** A clock that stands still until it is told to go. */
function createFakeClock(): Clock & { advance(ms: number): void } {
  let now = 0;
  let timers: { at: number; run: () => void }[] = [];
  return {
    now: () => now,
    after(ms, run) {
      const timer = { at: now + ms, run };
      timers.push(timer);
      return () => {
        timers = timers.filter((each) => each !== timer);
      };
    },
    advance(ms) {
      now += ms;
      const due = timers.filter(({ at }) => at <= now);
      timers = timers.filter(({ at }) => at > now);
      for (const { run } of due) run();
    },
  };
}

type Step = EngineEvent | Error | Promise<void>;

const OPEN: EngineEvent = { type: "open" };
const TOKEN: EngineEvent = { type: "ids", ids: [1] };
const FINISH: EngineEvent = { type: "finish", reason: "stop", nativeReason: "stop" };
const WHOLE = [OPEN, TOKEN, FINISH];

/** An engine that does what the test says, request by request; the last says what happens from then on. */
function createScriptedEngine(...scripts: readonly (readonly Step[])[]) {
  const requests: CompletionRequest[] = [];
  let isWell: EngineError | undefined;
  const engine: Engine & {
    requests: CompletionRequest[];
    capabilities: Capabilities;
    fallIll(error: EngineError | undefined): void;
    contextLength?: number;
  } = {
    name: "vllm",
    capabilities: VLLM_CAPABILITIES,
    requests,
    fallIll(error) {
      isWell = error;
    },
    async probe() {
      if (isWell) throw isWell;
      const { contextLength } = engine;
      return {
        description: "vllm 0.14",
        models: ["m"],
        ...(contextLength !== undefined && { contextLength }),
        capabilities: engine.capabilities,
      };
    },
    async check() {
      if (isWell) throw isWell;
    },
    async *complete(request, signal) {
      const script = scripts[Math.min(requests.length, scripts.length - 1)] ?? WHOLE;
      requests.push(request);
      for (const step of script) {
        signal.throwIfAborted();
        if (step instanceof Error) throw step;
        if (step instanceof Promise) await step;
        else yield step;
      }
    },
  };
  return engine;
}

function errorOf(kind: EngineErrorKind, retryAfter?: number): EngineError {
  return new EngineError(kind, `no: ${kind}.`, retryAfter === undefined ? {} : { retryAfter });
}

function poolOf(
  engines: readonly Engine[],
  options: PoolOptions & { maxConcurrent?: number } = {},
): Pool & { clock: ReturnType<typeof createFakeClock> } {
  const clock = createFakeClock();
  const { maxConcurrent, ...rest } = options;
  const pool = createPool(
    engines.map((engine, i) => ({
      id: `b${i}`,
      engine,
      ...(maxConcurrent !== undefined && { maxConcurrent }),
    })),
    { clock, ...rest },
  );
  return Object.assign(pool, { clock });
}

/** A completion held open after its first token. */
async function hold(pool: Pool, request: CompletionRequest = requestOf()) {
  const abort = new AbortController();
  const events = pool.complete(request, abort.signal)[Symbol.asyncIterator]();
  await events.next();
  await events.next();
  return { abort, events, end: () => events.return?.() };
}

const inOrder = (numbers: readonly number[]): number[] => numbers.toSorted((a, b) => a - b);

const counts = (pool: Pool): number[] => pool.state.backends.map(({ inFlight }) => inFlight);

describe("choosing", () => {
  test("gives a completion to the backend with the least to do", async () => {
    const engines = [createScriptedEngine(), createScriptedEngine(), createScriptedEngine()];
    const pool = poolOf(engines);
    for (let i = 0; i < 6; i += 1) await hold(pool);
    expect(counts(pool)).toEqual([2, 2, 2]);
  });

  test("idle backends take turns", async () => {
    const engines = [createScriptedEngine(), createScriptedEngine()];
    const pool = poolOf(engines);
    for (let i = 0; i < 4; i += 1) await complete(pool);
    expect(engines.map(({ requests }) => requests.length)).toEqual([2, 2]);
  });

  test("a conversation stays where it was", async () => {
    const engines = [createScriptedEngine(), createScriptedEngine(), createScriptedEngine()];
    const pool = poolOf(engines);
    for (let i = 0; i < 9; i += 1) await complete(pool, requestOf({ affinity: "c1" }));
    expect(inOrder(engines.map(({ requests }) => requests.length))).toEqual([0, 0, 9]);
  });

  test("unless its backend is much busier than another", async () => {
    const pool = poolOf([createScriptedEngine(), createScriptedEngine()], { affinitySlack: 3 });
    for (let i = 0; i < 4; i += 1) await hold(pool, requestOf({ affinity: "c1" }));
    expect(inOrder(counts(pool))).toEqual([0, 4]);
    await hold(pool, requestOf({ affinity: "c1" }));
    expect(inOrder(counts(pool))).toEqual([1, 4]);
  });

  test("counts a completion out however it ends", async () => {
    const engine = createScriptedEngine(WHOLE, [errorOf("bad-request")], [OPEN, TOKEN, FINISH]);
    const pool = poolOf([engine]);
    await complete(pool);
    await complete(pool);
    const held = await hold(pool);
    expect(counts(pool)).toEqual([1]);
    await held.end();
    expect(counts(pool)).toEqual([0]);
    expect(pool.state.backends[0]).toMatchObject({ succeeded: 2, failed: 1 });
  });

  test("lets a busy backend rest as long as it asks, while there are others", async () => {
    const busy = createScriptedEngine([errorOf("overloaded", 5)], WHOLE);
    const other = createScriptedEngine();
    const pool = poolOf([other, busy]);
    for (let i = 0; i < 5; i += 1) expect((await complete(pool)).finish).toBeDefined();
    expect(busy.requests).toHaveLength(1);
    pool.clock.advance(5_000);
    await complete(pool);
    await complete(pool);
    expect(busy.requests.length).toBeGreaterThan(1);
  });

  test("asks a resting backend all the same when it is the only one", async () => {
    const engine = createScriptedEngine([errorOf("rate-limit", 60)], WHOLE);
    const pool = poolOf([engine]);
    expect((await complete(pool)).error?.kind).toBe("rate-limit");
    expect((await complete(pool)).finish).toBeDefined();
  });
});

describe("trying again", () => {
  test.each<EngineErrorKind>([
    "unreachable",
    "timeout",
    "overloaded",
    "rate-limit",
    "auth",
    "not-found",
    "server-error",
    "closed",
  ])("what fails before its first token is tried elsewhere: %s", async (kind) => {
    const engines = [createScriptedEngine([errorOf(kind)]), createScriptedEngine([errorOf(kind)])];
    const last = createScriptedEngine();
    const pool = poolOf([...engines, last]);
    expect(await complete(pool)).toEqual(join(WHOLE));
    expect(last.requests).toHaveLength(1);
  });

  test("elsewhere, although the conversation belongs to the one that failed", async () => {
    let failed = false;
    const engines = [0, 1].map(() => {
      const engine = createScriptedEngine();
      const run = engine.complete.bind(engine);
      engine.complete = (request, signal) => {
        const whole = run(request, signal);
        if (failed) return whole;
        failed = true;
        return createScriptedEngine([errorOf("server-error")]).complete(request, signal);
      };
      return engine;
    });
    const pool = poolOf(engines);
    expect((await complete(pool, requestOf({ affinity: "c1" }))).finish).toBeDefined();
    expect(pool.state.backends.map(({ succeeded, failed: bad }) => succeeded + bad)).toEqual([
      1, 1,
    ]);
  });

  test("an open stream that fails before a token is opened only once", async () => {
    const failing = createScriptedEngine([OPEN, errorOf("server-error")]);
    const pool = poolOf([createScriptedEngine(), failing]);
    expect(await complete(pool)).toEqual(join(WHOLE));
    expect(failing.requests).toHaveLength(1);
  });

  test("never after a token", async () => {
    const failing = createScriptedEngine([OPEN, TOKEN, errorOf("closed")]);
    const other = createScriptedEngine();
    const pool = poolOf([other, failing]);
    expect(await complete(pool)).toEqual({
      opens: 1,
      ids: [1],
      error: { kind: "closed", message: "no: closed." },
    });
    expect(other.requests).toHaveLength(0);
  });

  test.each<EngineErrorKind>(["bad-request", "context-length"])(
    "never what would be refused anywhere: %s",
    async (kind) => {
      const engines = [0, 1].map(() => createScriptedEngine([errorOf(kind)]));
      const pool = poolOf(engines);
      expect((await complete(pool)).error?.kind).toBe(kind);
      expect(engines.flatMap(({ requests }) => requests)).toHaveLength(1);
      expect(pool.state.backends.filter(({ health }) => health === "down")).toEqual([]);
    },
  );

  test("as often as it is allowed to", async () => {
    const engines = [0, 1, 2, 3].map(() => createScriptedEngine([errorOf("server-error")]));
    const pool = poolOf(engines, { maxAttempts: 2 });
    expect((await complete(pool)).error?.kind).toBe("server-error");
    expect(engines.flatMap(({ requests }) => requests)).toHaveLength(2);
  });

  test("a lone backend gets a second chance after a broken connection", async () => {
    const engine = createScriptedEngine([errorOf("unreachable")], WHOLE);
    expect(await complete(poolOf([engine]))).toEqual(join(WHOLE));
  });

  test("but not a third one", async () => {
    const engine = createScriptedEngine([errorOf("unreachable")]);
    expect((await complete(poolOf([engine]))).error?.kind).toBe("unreachable");
    expect(engine.requests).toHaveLength(2);
  });

  test("and not after anything else", async () => {
    const engine = createScriptedEngine([errorOf("server-error")], WHOLE);
    expect((await complete(poolOf([engine]))).error?.kind).toBe("server-error");
  });

  test("not when the client has left", async () => {
    const abort = new AbortController();
    const leaving = createScriptedEngine([OPEN, Promise.resolve(), errorOf("server-error")]);
    const other = createScriptedEngine();
    const pool = poolOf([other, leaving]);
    const events = pool.complete(requestOf(), abort.signal)[Symbol.asyncIterator]();
    await events.next();
    abort.abort(new Error("left"));
    await expect(events.next()).rejects.toThrow("left");
    expect(other.requests).toHaveLength(0);
    expect(pool.state.backends.map(({ failed }) => failed)).toEqual([0, 0]);
  });
});

describe("health", () => {
  const circuit = { failures: 2, pauseMs: 1_000, maxPauseMs: 4_000 };

  test("is unknown, then up, then down after failures in a row, with the reason", async () => {
    const engine = createScriptedEngine(WHOLE, [errorOf("server-error")]);
    const pool = poolOf([engine], { circuit });
    const health = (): unknown => {
      const [state] = pool.state.backends;
      return [state?.health, state?.reason, pool.state.ready];
    };
    expect(health()).toEqual(["unknown", undefined, true]);
    await complete(pool);
    expect(health()).toEqual(["up", undefined, true]);
    await complete(pool);
    expect(health()).toEqual(["up", "no: server-error.", true]);
    await complete(pool);
    expect(health()).toEqual(["down", "no: server-error.", false]);
  });

  test("nobody is asked while all are down, and the error says why and for how long", async () => {
    const engine = createScriptedEngine([errorOf("server-error")]);
    const pool = poolOf([engine], { circuit });
    await complete(pool);
    await complete(pool);
    await expect(
      pool.complete(requestOf(), new AbortController().signal)[Symbol.asyncIterator]().next(),
    ).rejects.toMatchObject({
      kind: "unavailable",
      message: "No backend is available. no: server-error.",
      retryAfter: 1,
    });
    expect(engine.requests).toHaveLength(2);
  });

  test("after the pause one completion is the test, and its success brings the backend back", async () => {
    const held = Promise.withResolvers<void>();
    const engine = createScriptedEngine(
      [errorOf("server-error")],
      [errorOf("server-error")],
      [OPEN, held.promise, TOKEN, FINISH],
      WHOLE,
    );
    const pool = poolOf([engine], { circuit });
    await complete(pool);
    await complete(pool);
    pool.clock.advance(1_000);
    const trial = complete(pool);
    expect((await complete(pool)).error?.kind).toBe("unavailable");
    held.resolve();
    expect((await trial).finish).toBeDefined();
    expect(pool.state.backends[0]?.health).toBe("up");
    expect((await complete(pool)).finish).toBeDefined();
  });

  test("a backend that always dies after its first token goes down as well", async () => {
    const engine = createScriptedEngine([OPEN, TOKEN, errorOf("closed")]);
    const pool = poolOf([engine], { circuit });
    await complete(pool);
    await complete(pool);
    expect(pool.state.backends[0]).toMatchObject({ health: "down", failed: 2, succeeded: 0 });
  });

  test("a client that leaves says nothing against a backend, and nothing for one on trial", async () => {
    const engine = createScriptedEngine(
      [errorOf("server-error")],
      [errorOf("server-error")],
      [OPEN, TOKEN, FINISH],
    );
    const pool = poolOf([engine], { circuit });
    await complete(pool);
    await complete(pool);
    pool.clock.advance(1_000);
    const events = pool.complete(requestOf(), new AbortController().signal)[Symbol.asyncIterator]();
    await events.next();
    await events.return?.();
    expect(pool.state).toMatchObject({ ready: true, backends: [{ health: "down", inFlight: 0 }] });
  });

  test("a backend on trial that is busy stays on trial", async () => {
    const engine = createScriptedEngine(
      [errorOf("server-error")],
      [errorOf("server-error")],
      [errorOf("overloaded")],
      WHOLE,
    );
    const pool = poolOf([engine], { circuit });
    await complete(pool);
    await complete(pool);
    pool.clock.advance(1_000);
    expect((await complete(pool)).error?.kind).toBe("overloaded");
    expect((await complete(pool)).finish).toBeDefined();
  });

  test.each(["check", "probe"] as const)("a %s that is given up says nothing", async (question) => {
    const engine = createScriptedEngine();
    const pool = poolOf([engine], { circuit });
    const abort = new AbortController();
    engine.fallIll(errorOf("unreachable"));
    const asking = pool[question](abort.signal);
    abort.abort(new Error("stopping"));
    // An engine may know better than "aborted" why there is no answer: that its model is being downloaded.
    await expect(asking).rejects.toThrow(question === "check" ? "stopping" : "no: unreachable.");
    expect(pool.state.backends[0]?.health).toBe("unknown");
  });

  test("a check that fails takes a backend out, one that succeeds brings it back", async () => {
    const engine = createScriptedEngine();
    const pool = poolOf([engine], { circuit });
    engine.fallIll(errorOf("overloaded"));
    await expect(pool.check(new AbortController().signal)).rejects.toMatchObject({
      message: "No backend is available. no: overloaded.",
    });
    expect(pool.state).toMatchObject({ ready: false, backends: [{ health: "down" }] });
    engine.fallIll(undefined);
    await pool.check(new AbortController().signal);
    expect(pool.state).toMatchObject({ ready: true, backends: [{ health: "up" }] });
  });

  test("a check that succeeds lets a backend whose completions fail be tried early, no more", async () => {
    const engine = createScriptedEngine([errorOf("server-error")]);
    const pool = poolOf([engine], { circuit });
    await complete(pool);
    await complete(pool);
    await pool.check(new AbortController().signal);
    expect(pool.state).toMatchObject({ ready: true, backends: [{ health: "down" }] });
  });

  test("backends that cannot be checked are left as they are", async () => {
    const engine: Engine = createScriptedEngine();
    delete engine.check;
    const pool = poolOf([engine]);
    await pool.check(new AbortController().signal);
    expect(pool.state.backends[0]?.health).toBe("unknown");
  });

  test("watching checks at once and then every interval, until it is stopped", async () => {
    const engine = createScriptedEngine();
    const pool = poolOf([engine], { circuit });
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
    expect(pool.state.backends[0]?.health).toBe("down");
    abort.abort();
    await watching;
  });
});

describe("watching", () => {
  const watched = (engine: ReturnType<typeof createScriptedEngine>) => {
    const pool = poolOf([engine], {
      circuit: { failures: 2, pauseMs: 60_000, maxPauseMs: 60_000 },
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

  test("tells of every change, once", async () => {
    const engine = createScriptedEngine();
    const { changes, wait, stop } = watched(engine);
    await settle();
    await wait();
    engine.fallIll(errorOf("unreachable"));
    await wait();
    await wait();
    engine.fallIll(undefined);
    await wait();
    await stop();
    expect(changes).toEqual(["b0 up", "b0 down", "b0 up"]);
  });

  test("probes a backend that has not answered yet, and so learns what it is", async () => {
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

  test("brings a backend whose completions failed back by a probe of its own", async () => {
    const engine = createScriptedEngine([errorOf("server-error")]);
    const { pool, changes, wait, stop } = watched(engine);
    await settle();
    await complete(pool);
    await complete(pool);
    expect(pool.state.backends[0]?.health).toBe("down");
    await wait();
    expect(pool.state.backends[0]?.health).toBe("up");
    expect(engine.requests).toHaveLength(2);
    await stop();
    expect(changes).toEqual(["b0 up"]);
  });

  test("does not wait for one that hangs before it looks at the others", async () => {
    const engines = [createScriptedEngine(), createScriptedEngine()] as const;
    engines[0].probe = () => new Promise(() => {});
    const pool = poolOf(engines);
    const abort = new AbortController();
    void pool.watch(5_000, abort.signal);
    await settle();
    engines[1].fallIll(errorOf("unreachable"));
    pool.clock.advance(5_000);
    await settle();
    expect(pool.state.backends.map(({ health }) => health)).toEqual(["unknown", "down"]);
    abort.abort();
  });
});

describe("the queue", () => {
  test("holds what finds all backends full, and lets it in in order", async () => {
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

  test("has an end, and says so with a time to come back", async () => {
    const pool = poolOf([createScriptedEngine()], { maxConcurrent: 1, maxQueued: 1 });
    const held = await hold(pool);
    const waiting = complete(pool);
    await settle();
    await expect(
      pool.complete(requestOf(), new AbortController().signal)[Symbol.asyncIterator]().next(),
    ).rejects.toMatchObject({
      kind: "overloaded",
      message: "All backends are busy, and no more requests may wait than the 1 that do.",
      retryAfter: 1,
    });
    await held.end();
    expect((await waiting).finish).toBeDefined();
  });

  test("does not hold anybody for ever", async () => {
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

  test("lets go of a client that leaves", async () => {
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

  test("lets those who wait in first when the pause of a backend has ended", async () => {
    const failing = createScriptedEngine([errorOf("server-error")], WHOLE);
    const other = createScriptedEngine();
    const circuit = { failures: 1, pauseMs: 1_000, maxPauseMs: 1_000 };
    const pool = poolOf([other, failing], { maxConcurrent: 1, circuit });
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

  test("is told when nobody is left to wait for", async () => {
    const engine = createScriptedEngine([OPEN, TOKEN, errorOf("closed")]);
    const circuit = { failures: 1, pauseMs: 1_000, maxPauseMs: 1_000 };
    const pool = poolOf([engine], { maxConcurrent: 1, circuit });
    const held = await hold(pool);
    const waiting = complete(pool);
    await settle();
    await expect(held.events.next()).rejects.toThrow("no: closed.");
    expect((await waiting).error?.kind).toBe("unavailable");
    expect(pool.state.queued).toBe(0);
  });
});

describe("as one engine", () => {
  test("has the capabilities all backends have in common", () => {
    const text = createScriptedEngine();
    text.capabilities = OLLAMA_CAPABILITIES;
    const pool = poolOf([createScriptedEngine(), text]);
    expect(pool.capabilities).toEqual({
      ...OLLAMA_CAPABILITIES,
      constraints: ["json-schema", "json-object"],
      sampling: VLLM_CAPABILITIES.sampling.filter((each) =>
        OLLAMA_CAPABILITIES.sampling.includes(each),
      ),
    });
  });

  test("probes all, and says the shortest context and every model", async () => {
    const engines = [createScriptedEngine(), createScriptedEngine()] as const;
    engines[0].contextLength = 131_072;
    engines[1].contextLength = 32_768;
    const pool = poolOf(engines);
    expect(await pool.probe(new AbortController().signal)).toEqual({
      description: "vllm 0.14",
      models: ["m"],
      contextLength: 32_768,
      capabilities: VLLM_CAPABILITIES,
    });
    expect(pool.state.backends).toMatchObject([
      { health: "up", contextLength: 131_072 },
      { health: "up", contextLength: 32_768 },
    ]);
  });

  test("is well when one backend is, and knows which is not", async () => {
    const engines = [createScriptedEngine(), createScriptedEngine()] as const;
    engines[1].fallIll(errorOf("unreachable"));
    const pool = poolOf(engines);
    expect((await pool.probe(new AbortController().signal)).description).toBe("vllm 0.14");
    expect(pool.state.backends.map(({ health }) => health)).toEqual(["up", "down"]);
  });

  test("fails its probe when every backend does", async () => {
    const engine = createScriptedEngine();
    engine.fallIll(errorOf("unreachable"));
    await expect(poolOf([engine]).probe(new AbortController().signal)).rejects.toMatchObject({
      kind: "unreachable",
    });
  });

  test("is called after its engines", () => {
    const other: Engine = { ...createScriptedEngine(), name: "sglang" };
    expect(poolOf([createScriptedEngine(), createScriptedEngine()]).name).toBe("vllm");
    expect(poolOf([createScriptedEngine(), other]).name).toBe("vllm+sglang");
  });
});

/** Lets everything that is ready run. */
function settle(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
