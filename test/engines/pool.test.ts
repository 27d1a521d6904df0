import { describe, expect, test } from "vitest";

import {
  createEngine,
  type Engine,
  type EngineErrorKind,
  type EngineEvent,
} from "../../src/index.ts";
import {
  counts,
  createScriptedEngine,
  errorOf,
  FINISH,
  hold,
  inOrder,
  OPEN,
  poolOf,
  TOKEN,
  VLLM,
  WHOLE,
} from "./pool/support.ts";
import { complete, join, requestOf } from "./support.ts";

const OLLAMA = createEngine("ollama", { model: "m" });

describe("choice", () => {
  test("sends a completion to the least busy backend", async () => {
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

  test("a conversation stays on its backend", async () => {
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

  test("stops counting a completion however it ends", async () => {
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

  test("does not use a busy backend for as long as it asks, while there are others", async () => {
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

  test("uses a resting backend if it is the only one", async () => {
    const engine = createScriptedEngine([errorOf("rate-limit", 60)], WHOLE);
    const pool = poolOf([engine]);
    expect((await complete(pool)).error?.kind).toBe("rate-limit");
    expect((await complete(pool)).finish).toBeDefined();
  });
});

describe("retries", () => {
  test.each<EngineErrorKind>(["unreachable", "timeout", "overloaded", "rate-limit", "closed"])(
    "what was not answered is tried elsewhere, and elsewhere again: %s",
    async (kind) => {
      const engines = [
        createScriptedEngine([errorOf(kind)]),
        createScriptedEngine([errorOf(kind)]),
      ];
      const last = createScriptedEngine();
      const pool = poolOf([...engines, last]);
      expect(await complete(pool)).toEqual(join(WHOLE));
      expect(last.requests).toHaveLength(1);
    },
  );

  test.each<EngineErrorKind>(["auth", "not-found", "server-error"])(
    "what was answered with an error is tried at one other backend: %s",
    async (kind) => {
      const engines = Array.from({ length: 3 }, () => createScriptedEngine([errorOf(kind)]));
      const pool = poolOf(engines);
      expect((await complete(pool)).error?.kind).toBe(kind);
      expect(engines.flatMap(({ requests }) => requests)).toHaveLength(2);
      expect(
        await complete(poolOf([createScriptedEngine([errorOf(kind)]), createScriptedEngine()])),
      ).toEqual(join(WHOLE));
    },
  );

  test("go to another backend, although the conversation's own is the one that failed", async () => {
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

  test("an open stream that fails before a token is opened again by the engine that takes over", async () => {
    const failing = createScriptedEngine([OPEN, errorOf("server-error")]);
    const good = createScriptedEngine();
    const pool = poolOf([good, failing]);
    const events = await Array.fromAsync(pool.complete(requestOf(), new AbortController().signal));
    expect(events).toEqual([
      { type: "open", engine: failing },
      { type: "open", engine: good },
      TOKEN,
      FINISH,
    ]);
    expect(failing.requests).toHaveLength(1);
  });

  test("happen after progress with the prompt, which is none with the answer", async () => {
    const PROGRESS: EngineEvent = {
      type: "progress",
      total: 48,
      cached: 0,
      processed: 12,
      elapsedMs: 1,
    };
    const failing = createScriptedEngine([OPEN, PROGRESS, errorOf("closed")]);
    const good = createScriptedEngine();
    expect(await complete(poolOf([good, failing]))).toMatchObject({ opens: 2, ids: [1] });
    expect([good, failing].map(({ requests }) => requests.length)).toEqual([1, 1]);
  });

  test("never happen after a token", async () => {
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

  test("happen as often as allowed", async () => {
    const engines = [0, 1, 2, 3].map(() => createScriptedEngine([errorOf("timeout")]));
    const pool = poolOf(engines, { maxAttempts: 3 });
    expect((await complete(pool)).error?.kind).toBe("timeout");
    expect(engines.flatMap(({ requests }) => requests)).toHaveLength(3);
  });

  test("are sent to a single backend once after a broken connection", async () => {
    const engine = createScriptedEngine([errorOf("unreachable")], WHOLE);
    expect(await complete(poolOf([engine]))).toEqual(join(WHOLE));
  });

  test("but not twice", async () => {
    const engine = createScriptedEngine([errorOf("unreachable")]);
    expect((await complete(poolOf([engine]))).error?.kind).toBe("unreachable");
    expect(engine.requests).toHaveLength(2);
  });

  test("and not after anything else", async () => {
    const engine = createScriptedEngine([errorOf("server-error")], WHOLE);
    expect((await complete(poolOf([engine]))).error?.kind).toBe("server-error");
  });

  test("do not happen after a disconnect", async () => {
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

describe("as one engine", () => {
  test("uses a backend that hides control tokens only if there is no other", async () => {
    const hiding = createScriptedEngine();
    hiding.capabilities = { ...VLLM.capabilities, idsOut: "unmarked" };
    const good = createScriptedEngine();
    const pool = poolOf([hiding, good]);
    expect(pool.capabilities.idsOut).toBe("exact");
    for (let i = 0; i < 4; i += 1) await complete(pool);
    expect([hiding.requests.length, good.requests.length]).toEqual([0, 4]);
    const alone = poolOf([hiding, hiding]);
    expect(alone.capabilities.idsOut).toBe("unmarked");
    await complete(alone);
    expect(hiding.requests.length).toBe(1);
  });

  test("has the capabilities all backends have in common", () => {
    const text = createScriptedEngine();
    text.capabilities = OLLAMA.capabilities;
    const pool = poolOf([createScriptedEngine(), text]);
    expect(pool.capabilities).toEqual({
      ...OLLAMA.capabilities,
      constraints: ["json-schema", "json-object"],
      sampling: VLLM.capabilities.sampling.filter((each) =>
        OLLAMA.capabilities.sampling.includes(each),
      ),
    });
  });

  test("probes all backends, and reports the shortest context and every model", async () => {
    const engines = [createScriptedEngine(), createScriptedEngine()] as const;
    engines[0].contextLength = 131_072;
    engines[1].contextLength = 32_768;
    const pool = poolOf(engines);
    expect(await pool.probe(new AbortController().signal)).toEqual({
      description: "vllm 0.14",
      models: ["m"],
      contextLength: 32_768,
      capabilities: VLLM.capabilities,
    });
    expect(pool.state.backends).toMatchObject([
      { health: "up", contextLength: 131_072 },
      { health: "up", contextLength: 32_768 },
    ]);
  });

  test("is healthy when one backend is, and reports which is not", async () => {
    const engines = [createScriptedEngine(), createScriptedEngine()] as const;
    engines[1].fallIll(errorOf("unreachable"));
    const pool = poolOf(engines);
    expect((await pool.probe(new AbortController().signal)).description).toBe("vllm 0.14");
    expect(pool.state.backends.map(({ health }) => health)).toEqual(["up", "down"]);
  });

  test("passes on what a backend warns of", async () => {
    const engine = createScriptedEngine();
    const warnings = ["max_model_len is 0, which is no context length: it is ignored."];
    const probe = async (signal: AbortSignal) => ({ ...(await engine.probe(signal)), warnings });
    const pool = poolOf([{ ...engine, probe }]);
    expect(await pool.probe(new AbortController().signal)).toMatchObject({ warnings });
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
