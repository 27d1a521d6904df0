import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { untilAnyBegun, untilBegun } from "../../../src/api/reply/wait-for-first-event.ts";
import { createPushStream, type PushStream, consume } from "../../../src/streams/push-stream.ts";

const PATIENT = 1_000_000;

/** Produces `0, 1, 2 …` on demand, and records whether it was released. */
function createSource(signal: AbortSignal) {
  const failed = Promise.withResolvers<never>();
  failed.promise.catch(() => undefined);
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
  aborted.catch(() => undefined);
  let steps = Promise.withResolvers<"event" | "end">();
  const source = {
    isHeld: false,
    emit: () => steps.resolve("event"),
    end: () => steps.resolve("end"),
    fail: (error: Error) => failed.reject(error),
    flow: createPushStream<number>(async (take) => {
      source.isHeld = true;
      try {
        for (let n = 0; ; n += 1) {
          const step = await Promise.race([steps.promise, failed.promise, aborted]);
          steps = Promise.withResolvers();
          if (step === "end" || !(await take(n))) return;
        }
      } finally {
        source.isHeld = false;
      }
    }),
  };
  return source;
}

async function settle(): Promise<void> {
  for (let n = 0; n < 20; n += 1) await Promise.resolve();
}

function createSources(count: number) {
  const abort = new AbortController();
  const first = createSource(abort.signal);
  const others = Array.from({ length: count - 1 }, () => createSource(abort.signal));
  const sources = [first, ...others];
  const begin = () =>
    untilAnyBegun(
      sources.map(({ flow }) => flow),
      { patienceMs: PATIENT, signal: abort.signal },
    );
  return { abort, first, sources, begin, held: () => sources.map(({ isHeld }) => isHeld) };
}

describe("one choice", () => {
  test("is returned including its first event", async () => {
    const { abort, first: source } = createSources(1);
    const begun = untilBegun(source.flow, {
      patienceMs: PATIENT,
      signal: abort.signal,
    });
    source.emit();
    const taken: number[] = [];
    const reading = consume(await begun, (event) => taken.push(event) > 0);
    await settle();
    source.end();
    await reading;
    expect(taken).toEqual([0]);
  });

  test("throws a failure before its first event", async () => {
    const { first, begin } = createSources(1);
    const begun = begin();
    first.fail(new Error("refused"));
    await expect(begun).rejects.toThrow("refused");
  });

  test("is returned without an event after the wait", async () => {
    const { abort, first } = createSources(1);
    const flow = await untilBegun(first.flow, {
      patienceMs: 0,
      signal: abort.signal,
    });
    const step = flow[Symbol.asyncIterator]().next();
    first.emit();
    expect(await step).toEqual({ done: false, value: 0 });
  });

  test.each<[string, (flow: PushStream<number>, abort: AbortController) => unknown]>([
    ["its request is aborted", (_, abort) => abort.abort(new Error("left"))],
    ["its iterator is left before the first step", (flow) => flow[Symbol.asyncIterator]().return()],
  ])("lets go of an event nobody reads when %s", async (_, drop) => {
    const { abort, first, held } = createSources(1);
    const begun = untilBegun(first.flow, { patienceMs: PATIENT, signal: abort.signal });
    first.emit();
    const flow = await begun;
    expect(held()).toEqual([true]);
    await drop(flow, abort);
    await settle();
    expect(held()).toEqual([false]);
  });

  test("does not start for a request that was already aborted", async () => {
    // The source itself does not follow the request's signal.
    const source = createSource(new AbortController().signal);
    const signal = AbortSignal.abort(new Error("left"));
    void untilBegun(source.flow, { patienceMs: PATIENT, signal }).catch(() => undefined);
    source.emit();
    await settle();
    expect(source.isHeld).toBe(false);
  });
});

describe("several choices", () => {
  test("are returned as soon as one has begun: the others may wait for its slot", async () => {
    const { abort, sources, begin, held } = createSources(3);
    const begun = begin();
    sources[1]?.emit();
    expect(await begun).toHaveLength(3);
    abort.abort(new Error("left"));
    await settle();
    expect(held()).toEqual([false, false, false]);
  });

  test("a choice that has begun is stopped when another is refused", async () => {
    const { abort, first, sources, begin, held } = createSources(2);
    const begun = begin();
    sources[1]?.fail(new Error("refused"));
    await expect(begun).rejects.toThrow("refused");
    first.emit();
    await settle();
    // The route's handling of a failure.
    abort.abort(new Error("refused"));
    await settle();
    expect(held()).toEqual([false, false]);
  });

  test("all resources are released when the request ends, in any order of events", async () => {
    const action = fc.oneof(
      fc.record({
        do: fc.constantFrom("emit", "end", "fail", "read", "drop"),
        at: fc.nat({ max: 3 }),
      }),
      fc.record({ do: fc.constant("abort"), at: fc.constant(0) }),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 4 }),
        fc.array(action, { maxLength: 20 }),
        async (count, actions) => {
          const { abort, sources, begin, held } = createSources(count);
          let flows: PushStream<number>[] = [];
          const opened = new Set<number>();
          const begun = begin().then(
            (all) => (flows = all),
            (error: unknown) => abort.abort(error),
          );
          for (const { do: what, at } of actions) {
            const source = sources[at];
            const flow = flows[at];
            if (what === "emit") source?.emit();
            else if (what === "end") source?.end();
            else if (what === "fail") source?.fail(new Error("failed"));
            else if (what === "abort") abort.abort(new Error("left"));
            else if (flow !== undefined && !opened.has(at)) {
              opened.add(at);
              if (what === "drop") void flow[Symbol.asyncIterator]().return();
              else void flow.pushTo((event) => event < 2).catch(() => undefined);
            }
            await settle();
          }
          abort.abort(new Error("over"));
          await begun;
          await settle();
          expect(held()).toEqual(sources.map(() => false));
        },
      ),
      { numRuns: 500 },
    );
  });
});
