/** Engines with unusual failures, and the limits of the doctor itself. */
import { expect, test } from "vitest";
import { CHECKS, type DoctorOptions, examine } from "../../src/doctor/doctor.ts";
import { toLines, toMarkdown } from "../../src/doctor/report.ts";
import {
  createEngine,
  createFetchTransport,
  type Engine,
  EngineError,
  type EngineEvent,
} from "../../src/index.ts";
import { systemClock } from "../../src/engines/clock.ts";
import { findServer } from "../../src/engines/find-kind.ts";
import { startFakeUpstream } from "../helpers/fake-upstream.ts";
import { STOPPED } from "../helpers/stopped-clock.ts";
import { createToyEngine } from "../helpers/toy-engine.ts";
import { startToyServer, TOY_MODEL } from "../helpers/toy-servers.ts";

const never = new AbortController().signal;

function examineEngine(engine: Engine, options: Partial<DoctorOptions> = {}) {
  return examine(
    {
      engine,
      model: TOY_MODEL,
      turns: 1,
      streams: [1],
      budgetMs: 600_000,
      patienceMs: 60_000,
      clock: { ...STOPPED, now: () => 1000 },
      ...options,
    },
    never,
  );
}

/** The test engine with another stream. */
function withStream(stream: (signal: AbortSignal) => AsyncIterable<EngineEvent>): Engine {
  return { ...createToyEngine(), complete: (_, signal) => stream(signal) };
}

test("the names of checks are all different", () => {
  const ids = CHECKS.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
});

test("an engine that passes every check is ok", async () => {
  const report = await examineEngine(createToyEngine());
  expect(report.checks.filter(({ verdict, ms }) => verdict === "broken" || ms > 0)).toEqual([]);
  expect(report).toMatchObject({
    verdict: "ok",
    seconds: 0,
    summary: expect.stringMatching(/^This engine serves gpt-oss as it should: all \d+ checks/),
    settings: { engine: "vllm", model: TOY_MODEL, singleCallConstraint: true },
  });
});

test("the demo engine passes all checks that apply to it", async () => {
  const report = await examineEngine(createEngine("demo", { model: "demo" }));
  expect(report.verdict).toBe("ok");
});

test("an unreachable server is the only finding", async () => {
  const engine = createEngine("vllm", { url: "http://127.0.0.1:9", model: TOY_MODEL });
  const report = await examineEngine(engine);
  expect(report.checks.map(({ id, verdict }) => [id, verdict])).toEqual([["reachable", "broken"]]);
  expect(report.checks[0]?.change).toBe("Start the server, or correct --url.");
});

test("a server that requires a key is distinguished from an unreachable one", async () => {
  const upstream = await startFakeUpstream((exchange) =>
    exchange.reply(401, '{"error":"Unauthorized"}'),
  );
  const report = await examineEngine(createEngine("vllm", { url: upstream.url, model: TOY_MODEL }));
  expect(report.checks[0]).toMatchObject({
    verdict: "broken",
    change: "Give its key as HARMONY_GATEWAY_ENGINE_KEY, or engineKey in the config file.",
  });
  await upstream.close();
});

test("a model that the server does not have is reported by name", async () => {
  const server = await startToyServer({ kind: "vllm" });
  const report = await examineEngine(createEngine("vllm", { url: server.url, model: "llama-3" }));
  expect(report.checks.map(({ id, verdict }) => [id, verdict])).toEqual([
    ["reachable", "ok"],
    ["identity", "broken"],
    ["model", "broken"],
  ]);
  expect(report.checks[2]?.came).toContain('not "llama-3"');
  await server.close();
});

test("a server of another kind than configured is reported", async () => {
  const server = await startToyServer({ kind: "llama-cpp" });
  const { url } = server;
  const report = await examineEngine(createEngine("completions", { url, model: TOY_MODEL }), {
    findKind: (signal) =>
      findServer({ url, model: TOY_MODEL, transport: createFetchTransport() }, signal),
    only: ["identity"],
  });
  expect(report.checks[1]).toMatchObject({
    came: "It answers like llama-cpp, and is configured as completions.",
    change: "--engine llama-cpp",
  });
  await server.close();
});

test("a configured context longer than the server's is reported as broken", async () => {
  const report = await examineEngine(createToyEngine(), {
    contextLength: 200_000,
    only: ["context"],
  });
  expect(report.checks[1]).toMatchObject({
    verdict: "broken",
    came: "200000 tokens are configured, and it has 131072.",
  });
});

test("an endless stream is aborted, and reported by the check of the limit", async () => {
  let open = 0;
  const report = await examineEngine(
    withStream(async function* endless() {
      open += 1;
      try {
        yield { type: "open" };
        for (;;) yield { type: "ids", ids: [1, 2, 3, 4] };
      } finally {
        open -= 1;
      }
    }),
    { only: ["max-tokens", "streaming", "speed", "stop-return"] },
  );
  expect(report.checks.find(({ id }) => id === "max-tokens")).toMatchObject({
    verdict: "broken",
    came: "68 for 1, 72 for 7.",
  });
  expect(open).toBe(0);
});

test("an engine that does not answer uses no more than its time, even if it ignores the abort", async () => {
  const report = await examineEngine(
    withStream(() => ({
      [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }),
    })),
    { budgetMs: 300, clock: systemClock },
  );
  expect(report.verdict).toBe("broken");
  expect(report.checks.at(-1)).toMatchObject({
    verdict: "not-applicable",
    came: "No time was left (--budget).",
  });
});

test("garbage fails the check that received it, and nothing else", async () => {
  const report = await examineEngine(
    withStream(async function* garbage() {
      yield { type: "open" };
      yield { type: "ids", ids: [-5, 1e9, 0.5] };
      throw new EngineError("server-error", "boom \u001b[31m".repeat(100));
    }),
  );
  expect(report.verdict).toBe("broken");
  const text = report.checks.map((check) => toLines(check, (_, words) => words)).join("\n");
  expect(text).not.toContain("\u001b");
  expect(Math.max(...text.split("\n").map((line) => line.length))).toBeLessThan(400);
});

test("a check that throws an unexpected error is broken, and the next one runs", async () => {
  const report = await examineEngine(
    withStream(() => {
      throw new TypeError("undefined is not a function");
    }),
    { only: ["ids-in", "health"] },
  );
  expect(report.checks.map(({ id, verdict }) => [id, verdict])).toEqual([
    ["reachable", "ok"],
    ["health", "not-applicable"],
    ["ids-in", "broken"],
  ]);
});

test("--quick skips slow checks, unless they are requested by name", async () => {
  const quick = await examineEngine(createEngine("demo", { model: "demo" }), { isQuick: true });
  const left = quick.checks.filter(({ came }) => came === "Left out by --quick.");
  expect(left.map(({ id }) => id)).toEqual(["speed", "turns"]);
  const named = await examineEngine(createEngine("demo", { model: "demo" }), {
    isQuick: true,
    only: ["turns"],
  });
  expect(named.checks.map(({ id, verdict }) => [id, verdict])).toEqual([
    ["reachable", "ok"],
    ["turns", "ok"],
  ]);
});

test("aborting ends the examination", async () => {
  const reason = new Error("stopped");
  const signal = AbortSignal.abort(reason);
  const options = {
    engine: createEngine("demo", { model: "demo" }),
    model: "m",
    turns: 0,
    streams: [1],
    budgetMs: 1,
  };
  await expect(examine(options, signal)).rejects.toBe(reason);
});

test("a repaired turn is counted, with the repair's name", async () => {
  const toy = createToyEngine();
  const engine: Engine = {
    ...toy,
    async *complete() {
      yield { type: "open" };
      // `<|channel|>` twice: a mistake that the parser repairs.
      yield { type: "ids", ids: [200005, 200005, 17196, 200008, 13225, 200002] };
      yield { type: "finish", reason: "stop", nativeReason: "stop" };
    },
  };
  const report = await examineEngine(engine, { only: ["turns"], turns: 1 });
  expect(report.checks[1]).toMatchObject({
    verdict: "degraded",
    came: expect.stringMatching(/^1 of 1 turn malformed \(.+ 1×\), 0 failed\.$/),
    measured: { turns: 1, malformed: 1, failed: 0 },
  });
});

test("a turn that fails is counted, with the engine's reason", async () => {
  const engine = withStream(() => {
    throw new EngineError("server-error", "The server is out of memory.");
  });
  const report = await examineEngine(engine, { only: ["turns"], turns: 1 });
  expect(report.checks[1]).toMatchObject({
    verdict: "broken",
    came: "0 of 1 turn malformed, 1 failed (The server is out of memory.).",
    measured: { turns: 1, malformed: 0, failed: 1 },
  });
});

test("an engine that fails a single stream is broken, not only slow", async () => {
  const engine = withStream(() => {
    throw new EngineError("server-error", "The server is out of memory.");
  });
  const report = await examineEngine(engine, { only: ["speed"] });
  expect(report.checks[1]).toMatchObject({
    id: "speed",
    verdict: "broken",
    change: "See the server's own log.",
  });
});

test("a page's section escapes bars and brackets in its table", async () => {
  const report = await examineEngine(createToyEngine(), {
    only: ["stop-return", "special-tokens"],
  });
  const rows = toMarkdown(report)
    .split("\n")
    .filter((line) => line.startsWith("| It stops") || line.startsWith("| Special"));
  expect(rows).toEqual([
    "| Special tokens have their ids | ok | It has no tokenizer to ask; after a header it wrote `<\\|channel\\|>analysis<\\|message\\|>`. |",
    "| It stops at \\<\\|return\\|>, and shows it | ok | It stopped, and \\<\\|return\\|> came. |",
  ]);
});
