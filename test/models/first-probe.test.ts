/** Requests that arrive while the engine is probed for the first time. */
import { expect, test, vi } from "vitest";
import type { BackendOptions } from "../../src/engines/pool/backend.ts";
import { createPool } from "../../src/engines/pool.ts";
import type { Engine, Model } from "../../src/index.ts";
import { scriptedEngine, type ScriptedEngine } from "../helpers/scripted-engine.ts";
import { collect, modelOf, turnWith } from "../helpers/turns.ts";

const CONTEXT_LENGTH = 8_192;
const ANSWER = "<|channel|>final<|message|>Hi<|return|>";

/** An engine whose probe ends when the test says so. */
function slowToProbe(contextLength = CONTEXT_LENGTH) {
  const engine = scriptedEngine(() => ANSWER);
  const probed = Promise.withResolvers<void>();
  const slow: Engine = {
    ...engine,
    complete: (request, signal) => engine.complete(request, signal),
    probe: async (signal) => {
      await probed.promise;
      return { ...(await engine.probe(signal)), contextLength };
    },
  };
  return { engine, slow, probed };
}

const answer = async (model: Model, signal = new AbortController().signal) =>
  collect(model.run(turnWith(), signal));

const limits = ({ requests }: ScriptedEngine) =>
  requests.map(({ prompt, maxTokens }) => prompt.ids.length + maxTokens);

const never = new AbortController().signal;

test("the first request does not exceed a context that is not known yet", async () => {
  const { engine, slow, probed } = slowToProbe();
  const model = modelOf(slow);
  const probing = model.probe(never);
  const answering = answer(model);
  probed.resolve();
  await Promise.all([probing, answering]);
  expect(limits(engine)).toEqual([CONTEXT_LENGTH]);
});

test("a request waits for the first of several backends that answers its probe", async () => {
  const quick = slowToProbe();
  const hanging = slowToProbe();
  const backends: BackendOptions[] = [
    { id: "quick", engine: quick.slow },
    { id: "hanging", engine: hanging.slow },
  ];
  const model = modelOf(createPool(backends));
  void model.probe(never);
  const answering = answer(model);
  quick.probed.resolve();
  await answering;
  expect([...limits(quick.engine), ...limits(hanging.engine)]).toEqual([CONTEXT_LENGTH]);
});

test("a request does not wait longer than a few seconds, or than its client", async () => {
  vi.useFakeTimers();
  try {
    const { engine, slow } = slowToProbe();
    const model = modelOf(slow);
    void model.probe(never);
    const answering = answer(model);
    const left = new AbortController();
    const leaving = answer(model, left.signal);
    left.abort(new Error("left"));
    await expect(leaving).rejects.toThrow("left");
    expect(vi.getTimerCount()).toBe(1);
    await vi.advanceTimersByTimeAsync(10_000);
    await answering;
    expect(engine.requests).toHaveLength(1);
  } finally {
    vi.useRealTimers();
  }
});

test("a request does not wait if the settings give the context length", async () => {
  const { engine, slow } = slowToProbe();
  const model = modelOf(slow, { contextLength: 4_096 });
  void model.probe(never);
  await answer(model);
  expect(limits(engine)).toEqual([4_096]);
});

test("a request does not wait for a probe that is repeated", async () => {
  const { engine, slow, probed } = slowToProbe();
  let failed = false;
  const model = modelOf({
    ...slow,
    probe: async (signal: AbortSignal) => {
      if (failed) return slow.probe(signal);
      failed = true;
      throw new Error("not yet");
    },
  });
  await model.probe(never);
  const second = model.probe(never);
  await answer(model);
  expect(engine.requests).toHaveLength(1);
  probed.resolve();
  await second;
});
