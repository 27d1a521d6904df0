/** Many streams over three backends, one of which is killed repeatedly: by script, without clock or randomness. */
import { expect, test } from "vitest";
import { type Engine, EngineError } from "../../../src/index.ts";
import { requestOf } from "../support.ts";
import { FINISH, OPEN, poolOf, settle, TOKEN, VLLM } from "./support.ts";

/** A server that sends each of its streams a token per tick. When killed, it breaks them all. */
function createMortalEngine(tokens: number) {
  const streams = new Set<{ tick(): void; kill(): void }>();
  let isAlive = true;
  const refuse = () => new EngineError("unreachable", "connection refused");
  const engine: Engine = {
    name: "mortal",
    capabilities: VLLM.capabilities,
    probe: async () => {
      if (!isAlive) throw refuse();
      return { description: "mortal", capabilities: VLLM.capabilities };
    },
    check: async () => {
      if (!isAlive) throw refuse();
    },
    async *complete(_, signal) {
      if (!isAlive) throw refuse();
      let next = Promise.withResolvers<void>();
      const stream = {
        tick: () => next.resolve(),
        kill: () => next.reject(new EngineError("closed", "connection reset")),
      };
      streams.add(stream);
      signal.addEventListener("abort", () => next.reject(signal.reason), { once: true });
      try {
        yield OPEN;
        for (let n = 0; n <= tokens; n += 1) {
          await next.promise;
          next = Promise.withResolvers();
          yield n === tokens ? FINISH : TOKEN;
        }
      } finally {
        streams.delete(stream);
      }
    },
  };
  return {
    engine,
    tick: () => {
      for (const each of streams) each.tick();
    },
    kill: () => {
      isAlive = false;
      for (const each of streams) each.kill();
    },
    restart: () => {
      isAlive = true;
    },
  };
}

test("of 200 streams none without a token is lost, and every other one ends or reports an error", async () => {
  const engines = [createMortalEngine(5), createMortalEngine(5), createMortalEngine(5)];
  const pool = poolOf(
    engines.map(({ engine }) => engine),
    { maxConcurrent: 12, maxQueued: 200 },
  );
  const stop = new AbortController();
  const monitoring = pool.watch(1_000, stop.signal);
  const ends: string[] = [];
  const read = async (n: number): Promise<void> => {
    let started = false;
    let finished = false;
    try {
      const request = requestOf({ affinity: `c${n}`, tenant: n % 2 === 0 ? "a" : "b" });
      for await (const event of pool.complete(request, new AbortController().signal)) {
        started ||= event.type === "ids";
        finished ||= event.type === "finish";
      }
      ends.push(finished ? "finished" : "cut without a word");
    } catch (error) {
      const kind = error instanceof EngineError ? error.kind : "not typed";
      ends.push(started ? kind : `unstarted: ${kind}`);
    }
  };
  const streams = Array.from({ length: 200 }, (_, n) => read(n));
  for (let second = 0; ends.length < 200 && second < 200; second += 1) {
    const killed = engines[Math.floor(second / 5) % 3];
    if (second % 5 === 1) killed?.kill();
    if (second % 5 === 4) killed?.restart();
    await settle();
    for (const { tick } of engines) tick();
    pool.clock.advance(1_000);
    await settle();
  }
  await Promise.all(streams);
  expect(new Set(ends)).toEqual(new Set(["finished", "closed"]));
  expect(ends.filter((end) => end === "finished").length).toBeGreaterThan(90);
  expect(pool.state).toMatchObject({ queued: 0, backends: engines.map(() => ({ inFlight: 0 })) });
  stop.abort();
  await monitoring;
});
