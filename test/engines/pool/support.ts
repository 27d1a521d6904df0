/** Shared by the tests of the pool: a manual clock, scripted engines, completions held open. */
import type { Clock } from "../../../src/engines/clock.ts";
import {
  type Capabilities,
  type CompletionRequest,
  createEngine,
  type Engine,
  EngineError,
  type EngineErrorKind,
  type EngineEvent,
} from "../../../src/index.ts";
import { createPool, type Pool, type PoolOptions } from "../../../src/engines/pool.ts";
import { requestOf } from "../support.ts";

/** For its capabilities. */
export const VLLM = createEngine("vllm", { url: "http://a", model: "m" });

/** A clock that advances on demand. */
export function createFakeClock(): Clock & {
  readonly timers: number;
  advance(ms: number): void;
} {
  let now = 0;
  let timers: { at: number; run: () => void }[] = [];
  return {
    get timers() {
      return timers.length;
    },
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

export type Step = EngineEvent | Error | Promise<void>;

export const OPEN: EngineEvent = { type: "open" };
export const TOKEN: EngineEvent = { type: "ids", ids: [1] };
export const FINISH: EngineEvent = { type: "finish", reason: "stop", nativeReason: "stop" };
export const WHOLE = [OPEN, TOKEN, FINISH];

/** An engine that follows a script, request by request; the last step repeats. */
export function createScriptedEngine(...scripts: readonly (readonly Step[])[]) {
  const requests: CompletionRequest[] = [];
  let isWell: EngineError | undefined;
  const engine: Engine & {
    requests: CompletionRequest[];
    capabilities: Capabilities;
    fallIll(error: EngineError | undefined): void;
    contextLength?: number;
  } = {
    name: "vllm",
    capabilities: VLLM.capabilities,
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
        if (step instanceof Promise) await Promise.race([step, aborted(signal)]);
        else yield step;
      }
    },
  };
  return engine;
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}

export function errorOf(kind: EngineErrorKind, retryAfter?: number): EngineError {
  return new EngineError(kind, `no: ${kind}.`, retryAfter === undefined ? {} : { retryAfter });
}

export function poolOf(
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
export async function hold(pool: Pool, request: CompletionRequest = requestOf()) {
  const abort = new AbortController();
  const events = pool.complete(request, abort.signal)[Symbol.asyncIterator]();
  await events.next();
  await events.next();
  return { abort, events, end: () => events.return?.() };
}

export const inOrder = (numbers: readonly number[]): number[] => numbers.toSorted((a, b) => a - b);

export const counts = (pool: Pool): number[] => pool.state.backends.map(({ inFlight }) => inFlight);

/** Runs everything that is ready. */
export function settle(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
