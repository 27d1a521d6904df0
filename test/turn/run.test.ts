import { describe, expect, test } from "vitest";
import { EngineError } from "../../src/index.ts";
import { scriptedEngine } from "../helpers/scripted-engine.ts";
import { spelledIds } from "../helpers/spelled.ts";
import {
  finishTurn,
  logprobsByKind,
  offeredTool,
  partsOf,
  startTurn,
  turnWith,
} from "../helpers/turns.ts";

const THINK = "<|channel|>analysis<|message|>Let me think.<|end|><|start|>assistant";
const FINAL = "<|channel|>final<|message|>Hello 👩‍🚀!<|return|>";
const WEATHER = offeredTool(
  "get_weather",
  '{"type":"object","properties":{"city":{"type":"string"}}}',
);
const CALL =
  '<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city":"Oslo"}<|call|>';

test("reasoning and an answer are emitted as parts, in one engine call", async () => {
  const engine = scriptedEngine([THINK + FINAL]);
  const events = await Array.fromAsync(startTurn(engine, turnWith()));
  expect(events[0]).toEqual({ type: "start", promptTokens: engine.requests[0]?.prompt.ids.length });
  expect(events.at(-1)).toEqual({
    type: "end",
    finish: "stop",
    nativeReason: "stop",
    usage: {
      promptTokens: engine.requests[0]?.prompt.ids.length,
      cachedTokens: 0,
      completionTokens: spelledIds(THINK + FINAL).length,
      reasoningTokens: 4,
      engineCalls: 1,
    },
    recoveries: new Map(),
  });
  const texts = events.flatMap((event) => (event.type === "part-delta" ? [event.text] : []));
  expect(texts.join("")).toBe("Let me think.Hello 👩‍🚀!");
});

test("the prompt ends where the model continues, without the analysis of finished turns", async () => {
  const engine = scriptedEngine([FINAL]);
  const old = { role: "assistant" as const, channel: "analysis", content: "old reasoning" };
  const done = { role: "assistant" as const, channel: "final", content: "old answer" };
  const { messages } = turnWith().prompt;
  await finishTurn(
    engine,
    turnWith({ messages: [...messages, old, done, { role: "user", content: "again" }] }),
  );
  expect(engine.prompts[0]).toMatch(
    /old answer<\|end\|><\|start\|>user<\|message\|>again<\|end\|><\|start\|>assistant$/,
  );
  expect(engine.prompts[0]).not.toContain("old reasoning");
});

describe("the same turn on every wire form and in every size of read", () => {
  test.each([
    ["ids", 1],
    ["ids", 3],
    ["ids", 100],
    ["pieces", 1],
    ["pieces", 7],
    ["text", 1],
    ["text", 5],
    ["text", 100],
  ] as const)("%s, %i tokens at once", async (form, batch) => {
    const engine = scriptedEngine([THINK + CALL], { form, batch });
    const turn = await finishTurn(engine, turnWith({ tools: [WEATHER] }));
    expect(partsOf(turn)).toEqual([
      ["reasoning", "Let me think."],
      ["tool-call", '{"city":"Oslo"}', "get_weather"],
    ]);
    expect(turn.end).toMatchObject({ finish: "tool-calls", usage: { reasoningTokens: 4 } });
  });
});

test("calls get ids, and tool calls are the reason to finish", async () => {
  const turn = await finishTurn(scriptedEngine([THINK + CALL]), turnWith({ tools: [WEATHER] }));
  expect(turn.parts[1]).toMatchObject({ kind: "tool-call", id: "call_1", name: "get_weather" });
  expect(turn.end.finish).toBe("tool-calls");
});

test("the engine's own counts and reason are read after the call that ends the turn", async () => {
  const usage = { promptTokens: 9, cachedTokens: 7, completionTokens: 55 };
  const engine = scriptedEngine([{ write: THINK + CALL, usage }]);
  const turn = turnWith({ tools: [WEATHER], parallelToolCalls: false });
  expect((await finishTurn(engine, turn)).end).toMatchObject({ nativeReason: "stop", usage });
});

describe("stop strings", () => {
  test.each([
    ["in one token", "<|channel|>final<|message|>one STOP two<|return|>", ["STOP"], "one "],
    ["over several tokens", "<|channel|>final<|message|>a###END###b<|return|>", ["###END###"], "a"],
    ["the earliest of several", "<|channel|>final<|message|>x y z<|return|>", ["z", "y"], "x "],
    [
      "not in the analysis",
      "<|channel|>analysis<|message|>STOP<|end|><|start|>assistant<|channel|>final<|message|>ok<|return|>",
      ["STOP"],
      "ok",
    ],
    ["a beginning that is no match", "<|channel|>final<|message|>STO<|return|>", ["STOP"], "STO"],
  ])("%s", async (_, write, stop, expected) => {
    for (const batch of [1, 2, 50]) {
      const engine = scriptedEngine([write], { batch });
      const turn = await finishTurn(engine, turnWith({ stop }));
      expect(turn.parts.findLast((part) => part.kind === "content")?.text).toBe(expected);
      expect(turn.end.finish).toBe("stop");
      expect(engine.open).toBe(0);
      expect(engine.requests[0]).not.toHaveProperty("stop");
    }
  });

  test("the engine's native reason is not reported, however its tokens are grouped", async () => {
    for (const batch of [1, 2, 50]) {
      const engine = scriptedEngine(["<|channel|>final<|message|>6 END<|return|>"], { batch });
      const turn = await finishTurn(engine, turnWith({ stop: ["END"] }));
      expect(turn.end.nativeReason).toBeNull();
    }
  });

  test("the engine's request is aborted as soon as one is found", async () => {
    const engine = scriptedEngine([{ write: "<|channel|>final<|message|>a END b", hang: true }]);
    const turn = await finishTurn(engine, turnWith({ stop: ["END"] }));
    expect(turn.end).toMatchObject({ finish: "stop", stopSequence: "END" });
    expect(engine.open).toBe(0);
  });
});

describe("the limit on tokens", () => {
  test("is the request's, less what was sampled", async () => {
    const engine = scriptedEngine([
      { write: `${THINK}<|channel|>final<|message|>cut`, finish: "length" },
    ]);
    const turn = await finishTurn(engine, turnWith({ maxOutputTokens: 100 }));
    expect(engine.requests[0]?.maxTokens).toBe(100);
    expect(turn.end.finish).toBe("length");
    expect(partsOf(turn)).toEqual([
      ["reasoning", "Let me think."],
      ["content", "cut"],
    ]);
  });

  test("never exceeds what the context leaves", async () => {
    const engine = scriptedEngine([FINAL]);
    await finishTurn(engine, turnWith({ maxOutputTokens: 1e6 }), { contextLength: 1000 });
    const { prompt, maxTokens } = engine.requests[0] ?? { prompt: { ids: [] } };
    expect(maxTokens).toBe(1000 - prompt.ids.length);
  });

  test("a prompt that leaves no tokens is refused before the engine is called", async () => {
    const engine = scriptedEngine([FINAL]);
    await expect(finishTurn(engine, turnWith(), { contextLength: 20 })).rejects.toThrow(
      /maximum context length is 20 tokens/,
    );
    expect(engine.requests).toEqual([]);
  });
});

describe("a client that disconnects", () => {
  test("aborting the signal aborts the engine's request", async () => {
    const abort = new AbortController();
    const engine = scriptedEngine([{ write: "<|channel|>analysis<|message|>hm", hang: true }]);
    const events = startTurn(engine, turnWith(), { signal: abort.signal });
    for await (const event of events) {
      if (event.type === "part-delta") break;
    }
    abort.abort();
    expect(engine.open).toBe(0);
  });

  test("an early return aborts the engine's request", async () => {
    const engine = scriptedEngine([{ write: "<|channel|>analysis<|message|>hm", hang: true }]);
    for await (const event of startTurn(engine, turnWith())) {
      if (event.type === "part-delta") break;
    }
    expect(engine.open).toBe(0);
  });
});

test("a failing engine fails the turn with the engine's error", async () => {
  const fail = new EngineError("closed", "gone");
  const engine = scriptedEngine([{ write: THINK, fail }]);
  await expect(finishTurn(engine, turnWith())).rejects.toBe(fail);
});

test("an engine that ends without a finish is an error, not a short answer", async () => {
  const engine = scriptedEngine([]);
  engine.complete = async function* () {
    await Promise.resolve();
    yield { type: "open" };
  };
  await expect(finishTurn(engine, turnWith())).rejects.toMatchObject({ kind: "closed" });
});

test("log probabilities are those of the visible answer", async () => {
  const engine = scriptedEngine([`${THINK}<|channel|>final<|message|>Hello there<|return|>`], {
    batch: 100,
  });
  const values = await logprobsByKind(engine, turnWith({ topLogprobs: 1 }));
  expect(values.get("reasoning")).toEqual([]);
  expect(values.get("content")?.map((each) => each.id)).toEqual([13225, 1354]);
  const [request] = engine.requests;
  expect(request?.topLogprobs).toBe(1);
});

test.each(["ids", "pieces", "text"] as const)(
  "an engine that returns no log probabilities although requested is an error, on %s",
  async (form) => {
    const engine = scriptedEngine([FINAL], { form, capabilities: { logprobs: true } });
    const given = engine.complete.bind(engine);
    engine.complete = (request, signal) => {
      const { topLogprobs: _, ...without } = request;
      return given(without, signal);
    };
    await expect(finishTurn(engine, turnWith({ topLogprobs: 0 }))).rejects.toMatchObject({
      kind: "unsupported",
      message:
        "logprobs: the engine of this model was asked for log probabilities but returned none. Send the request without logprobs.",
    });
  },
);

test("an engine whose stream ends without a finish is an error", async () => {
  const engine = scriptedEngine([]);
  engine.complete = async function* () {
    yield* [];
  };
  await expect(finishTurn(engine, turnWith())).rejects.toMatchObject({
    kind: "closed",
    message: "scripted ended its stream without a finish",
  });
});

test("a long prompt is sent in its own iteration of the event loop, a short one at once", async () => {
  const pauses = async (words: number) => {
    let count = 0;
    const pause = async () => {
      count++;
    };
    const content = "many words ".repeat(words);
    const turn = turnWith({ messages: [{ role: "user", content }] });
    // Encoded already, so that only sending the request can pause.
    await finishTurn(scriptedEngine([FINAL]), turn);
    await finishTurn(scriptedEngine([FINAL]), turn, { pause });
    return count;
  };
  expect(await pauses(100)).toBe(0);
  expect(await pauses(10_000)).toBe(1);
});
