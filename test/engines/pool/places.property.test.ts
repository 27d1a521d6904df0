/** Slots are released in any order of events: nothing is counted once every request is over. */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { untilAnyBegun } from "../../../src/api/reply/wait-for-first-event.ts";
import {
  type Engine,
  EngineError,
  type EngineErrorKind,
  type EngineEvent,
} from "../../../src/index.ts";
import { requestOf } from "../support.ts";
import { FINISH, OPEN, poolOf, settle, TOKEN, VLLM } from "./support.ts";

type Step = EngineEvent | EngineError;

/** An engine whose calls advance on demand. */
function createDrivenEngine() {
  const calls: { step: (next: Step) => void }[] = [];
  let isWell = true;
  const engine: Engine = {
    name: "driven",
    capabilities: VLLM.capabilities,
    probe: async () => {
      if (!isWell) throw new EngineError("unreachable", "gone");
      return { description: "driven", capabilities: VLLM.capabilities };
    },
    check: async () => {
      if (!isWell) throw new EngineError("unreachable", "gone");
    },
    async *complete(_, signal) {
      let next = Promise.withResolvers<Step>();
      const aborted = Promise.withResolvers<never>();
      aborted.promise.catch(() => undefined);
      signal.addEventListener("abort", () => aborted.reject(signal.reason), { once: true });
      calls.push({ step: (step) => next.resolve(step) });
      for (;;) {
        const step = await Promise.race([next.promise, aborted.promise]);
        next = Promise.withResolvers();
        if (step instanceof Error) throw step;
        yield step;
        if (step.type === "finish") return;
      }
    },
  };
  return {
    engine,
    calls,
    setWell: (well: boolean) => {
      isWell = well;
    },
  };
}

const KINDS: EngineErrorKind[] = [
  "unreachable",
  "timeout",
  "overloaded",
  "auth",
  "bad-request",
  "server-error",
  "closed",
];

const action = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("open" as const),
      choices: fc.integer({ min: 1, max: 4 }),
      tenant: fc.constantFrom("a", "b"),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constantFrom("accept" as const, "token" as const, "finish" as const),
      backend: fc.nat(2),
      call: fc.nat(9),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("fail" as const),
      backend: fc.nat(2),
      call: fc.nat(9),
      kind: fc.constantFrom(...KINDS),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom("leave" as const, "stop reading" as const, "drop" as const),
      request: fc.nat(9),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constantFrom("go down" as const, "come back" as const),
      backend: fc.nat(2),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("wait" as const),
      ms: fc.constantFrom(100, 1_000, 30_000),
    }),
  },
);

type Action = typeof action extends fc.Arbitrary<infer T> ? T : never;

/** A request for several choices, as the API runs it: begun, read and aborted together. */
function openRequest(pool: ReturnType<typeof poolOf>, choices: number, tenant: string) {
  const abort = new AbortController();
  let wanted = true;
  const completions = Array.from({ length: choices }, () =>
    pool.complete(requestOf({ tenant }), abort.signal),
  );
  let flows: Awaited<ReturnType<typeof untilAnyBegun<EngineEvent>>> = [];
  let isDropped = false;
  const over = (async () => {
    try {
      flows = await untilAnyBegun(completions, { patienceMs: 1_000_000, signal: abort.signal });
      if (isDropped) return;
      const reading = flows.map((each) =>
        (async () => {
          for await (const _ of each) if (!wanted) return;
        })(),
      );
      await Promise.all(reading);
    } catch (error) {
      abort.abort(error);
    }
  })();
  return {
    over,
    leave: () => abort.abort(new Error("left")),
    stopReading: () => {
      wanted = false;
    },
    /** The answer is not read; only the signal aborts it. */
    drop: () => {
      isDropped = true;
    },
  };
}

async function run(actions: readonly Action[]): Promise<void> {
  const engines = [createDrivenEngine(), createDrivenEngine(), createDrivenEngine()];
  const pool = poolOf(
    engines.map(({ engine }) => engine),
    {
      maxConcurrent: 2,
      maxQueued: 6,
      queueTimeoutMs: 20_000,
      tenants: [{ name: "a", maxQueued: 4, maxConcurrent: 5 }],
    },
  );
  const requests: ReturnType<typeof openRequest>[] = [];
  const { signal } = new AbortController();
  for (const each of actions) {
    switch (each.do) {
      case "open":
        requests.push(openRequest(pool, each.choices, each.tenant));
        break;
      case "accept":
      case "token":
      case "finish": {
        const event = { accept: OPEN, token: TOKEN, finish: FINISH }[each.do];
        engines[each.backend]?.calls[each.call]?.step(event);
        break;
      }
      case "fail":
        engines[each.backend]?.calls[each.call]?.step(new EngineError(each.kind, "failed"));
        break;
      case "leave":
        requests[each.request]?.leave();
        break;
      case "stop reading":
        requests[each.request]?.stopReading();
        break;
      case "drop":
        requests[each.request]?.drop();
        break;
      case "go down":
      case "come back":
        engines[each.backend]?.setWell(each.do === "come back");
        for (let n = 0; n < 2; n += 1) await pool.check(signal).catch(() => undefined);
        break;
      case "wait":
        pool.clock.advance(each.ms);
        break;
      default:
        each satisfies never;
    }
    await settle();
    const { backends, tenants, queued } = pool.state;
    // The slots of tenants equal those of backends, and never exceed them.
    const held = tenants.reduce((sum, { inFlight }) => sum + inFlight, 0);
    expect(backends.reduce((sum, { inFlight }) => sum + inFlight, 0)).toBe(held);
    for (const { inFlight } of backends) expect(inFlight).toBeLessThanOrEqual(2);
    expect(tenants.reduce((sum, each_) => sum + each_.queued, 0)).toBe(queued);
  }
  // Aborts the remaining requests.
  for (const request of requests) request.leave();
  await settle();
  expect(pool.state.queued).toBe(0);
  expect(pool.state.backends.map(({ inFlight }) => inFlight)).toEqual([0, 0, 0]);
  expect(pool.state.tenants.every(({ inFlight, queued }) => inFlight + queued === 0)).toBe(true);
  await Promise.all(requests.map(({ over }) => over));
  // The slots can be used again.
  for (const { setWell } of engines) setWell(true);
  await pool.probe(signal);
  const again = openRequest(pool, 4, "b");
  await settle();
  expect(pool.state.backends.reduce((sum, { inFlight }) => sum + inFlight, 0)).toBe(4);
  again.leave();
}

test("any interleaving of open, accept, fail, finish, leave, drop and going down ends with nothing counted", async () => {
  await fc.assert(fc.asyncProperty(fc.array(action, { maxLength: 60, size: "max" }), run), {
    numRuns: 100,
  });
}, 60_000);
