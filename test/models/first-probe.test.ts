/** Requests that arrive while the engine is probed for the first time. */
import { expect, test, vi } from "vitest";
import * as z from "zod";
import { assemble } from "../../src/gateway.ts";
import type { Engine, Model, Transport } from "../../src/index.ts";
import { bodyOf, jsonAnswer, scriptTransport, streamOf } from "../engines/support.ts";
import { testLog, testSettings } from "../helpers/gateway.ts";
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
  const choice = { index: 0, text: "", token_ids: [200002], finish_reason: "stop" };
  const completion = streamOf(`data: ${JSON.stringify({ choices: [choice] })}\n\ndata: [DONE]\n\n`);
  const list = { data: [{ id: "openai/gpt-oss-20b", max_model_len: CONTEXT_LENGTH }] };
  const probed = Promise.withResolvers<void>();
  const quick = scriptTransport(({ method }) => (method === "GET" ? jsonAnswer(list) : completion));
  const transport: Transport = async (request) => {
    const isProbe = request.method === "GET";
    if (isProbe && request.url.startsWith("http://hanging")) return new Promise(() => {});
    if (isProbe) await probed.promise;
    return quick(request);
  };
  const urls = ["http://quick", "http://hanging"];
  const backends = urls.map((url) => ({ engine: "vllm", url }));
  const { models } = assemble(testSettings({ backends }), { transport, log: testLog() });
  const [model] = models.all;
  void model!.probe(never);
  const answering = answer(model!);
  probed.resolve();
  await answering;
  const body = z.object({ prompt: z.array(z.number()), max_tokens: z.number() });
  const sent = body.parse(bodyOf(quick.requests.findLast(({ method }) => method === "POST")));
  expect(sent.prompt.length + sent.max_tokens).toBe(CONTEXT_LENGTH);
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
