import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createEngine, type Engine } from "../../src/index.ts";
import { parseJson } from "../../src/harmony/index.ts";
import { startTestGateway } from "../helpers/gateway.ts";
import { startLlamaServer, type LlamaServer } from "../helpers/llama-server.ts";
import { SERVED_MODEL } from "../helpers/llama-wires.ts";
import { describeWithLlama } from "../helpers/tiny-llama.ts";
import {
  finishTurn,
  formedAnswer,
  offeredTool,
  partsOf,
  startTurn,
  turnWith,
} from "../helpers/turns.ts";

const GREEDY = { ...turnWith().sampling, temperature: 0 };
const ANALYSIS = "The user sent a message; I should reply. ✓";
const ANSWER = "Hello!👩‍🚀 This is toy text bye";
const WEATHER = offeredTool(
  "get_weather",
  '{"type":"object","properties":{"location":{"enum":["Paris","Oslo"]}},"required":["location"],"additionalProperties":false}',
  true,
);
const CITY =
  '{"type":"object","properties":{"city":{"enum":["Turin","Oslo"]},"warm":{"type":"boolean"}},"required":["city","warm"],"additionalProperties":false}';

const never = new AbortController().signal;

describeWithLlama("tokens of llama.cpp", () => {
  let server: LlamaServer;

  beforeAll(async () => {
    server = await startLlamaServer();
  });

  afterAll(() => server.close());

  describe.each([
    ["as vLLM sends them", "vllm", "exact"],
    ["as llama-server sends them", "llama-cpp", "lossy"],
  ] as const)("%s", (_, kind, idsOut) => {
    let engine: Engine;

    beforeAll(async () => {
      engine = createEngine(kind, { url: server.url, model: SERVED_MODEL });
      await engine.probe(never);
    });

    it("are what the probe says they are", async () => {
      const { capabilities, contextLength } = await engine.probe(never);
      expect(contextLength).toBe(1024);
      expect(capabilities).toMatchObject({ idsIn: true, idsOut, stopIdVisible: true });
    });

    it("become reasoning and an answer, split characters intact", async () => {
      const turn = await finishTurn(engine, turnWith({ sampling: GREEDY }));
      expect(partsOf(turn)).toEqual([
        ["reasoning", ANALYSIS],
        ["content", ANSWER],
      ]);
      expect(turn.end).toMatchObject({ finish: "stop", recoveries: new Map() });
      expect(turn.end.usage.completionTokens).toBe(33);
    });

    it("become a tool call, and an answer once the tool has answered", async () => {
      const first = turnWith({ sampling: GREEDY, tools: [WEATHER] });
      const called = await finishTurn(engine, first);
      expect(partsOf(called)).toEqual([
        ["reasoning", ANALYSIS],
        ["tool-call", '{"location":"Paris"}', "get_weather"],
      ]);
      expect(called.end.finish).toBe("tool-calls");

      const then = turnWith({
        sampling: GREEDY,
        tools: [WEATHER],
        messages: [
          ...first.prompt.messages,
          { role: "assistant", channel: "analysis", content: ANALYSIS },
          {
            role: "assistant",
            recipient: "functions.get_weather",
            channel: "commentary",
            contentType: "<|constrain|>json",
            content: '{"location":"Paris"}',
          },
          {
            role: "tool",
            name: "functions.get_weather",
            recipient: "assistant",
            channel: "commentary",
            content: "sunny",
          },
        ],
      });
      expect(partsOf(await finishTurn(engine, then))).toEqual([
        ["reasoning", ANALYSIS],
        ["content", ANSWER],
      ]);
    });

    it("become the required call, under the tool's schema", async () => {
      const turn = await finishTurn(
        engine,
        turnWith({
          sampling: GREEDY,
          tools: [WEATHER],
          toolChoice: { type: "required", names: ["get_weather"] },
        }),
      );
      const call = turn.parts.find((part) => part.kind === "tool-call");
      expect(call).toMatchObject({ name: "get_weather" });
      expect(JSON.parse(call?.text ?? "")).toEqual({
        location: expect.stringMatching(/Paris|Oslo/),
      });
      expect(turn.end.finish).toBe("tool-calls");
    });

    it("become JSON that satisfies the schema, after unconstrained reasoning", async () => {
      const schema = parseJson(CITY);
      const turn = await finishTurn(
        engine,
        turnWith({ sampling: GREEDY, answer: formedAnswer("city", schema) }),
      );
      expect(turn.parts.map((part) => part.kind)).toEqual(["reasoning", "content"]);
      expect(JSON.parse(turn.parts[1]?.text ?? "")).toEqual({
        city: expect.stringMatching(/Turin|Oslo/),
        warm: expect.any(Boolean),
      });
    });

    it("are cut at the limit without half a character", async () => {
      // The last of these tokens is the first of the emoji's five.
      const turn = await finishTurn(engine, turnWith({ sampling: GREEDY, maxOutputTokens: 23 }));
      expect(turn.end.finish).toBe("length");
      expect(partsOf(turn)).toEqual([
        ["reasoning", ANALYSIS],
        ["content", expect.stringMatching(/^Hello!\uFFFD?$/u)],
      ]);
    });

    it("are valid Harmony at any temperature", async () => {
      const turns = Array.from({ length: 4 }, (__, seed) =>
        finishTurn(engine, turnWith({ sampling: { ...GREEDY, temperature: 1, topK: 40, seed } })),
      );
      for (const turn of await Promise.all(turns)) {
        expect(turn.parts.map((part) => part.kind)).toEqual(["reasoning", "content"]);
        expect(turn.end).toMatchObject({ finish: "stop", recoveries: new Map() });
        expect(turn.parts[1]?.text).toMatch(/^Hello!(👩‍🚀)? This is toy .* bye$/u);
      }
    });

    it("stop when the reader disconnects, and the sequence is released", async () => {
      const abort = new AbortController();
      const reason = new Error("The client left.");
      const turn = startTurn(engine, turnWith({ sampling: GREEDY }), {
        signal: abort.signal,
      });
      await expect(async () => {
        for await (const event of turn) if (event.type === "part-delta") abort.abort(reason);
      }).rejects.toBe(reason);
      await expect.poll(() => server.running).toBe(0);
      const { parts } = await finishTurn(engine, turnWith({ sampling: GREEDY }));
      expect(parts).toHaveLength(2);
    });

    it("are refused for a prompt that does not fit", async () => {
      const messages = [{ role: "user", content: "a ".repeat(2000) } as const];
      await expect(
        finishTurn(engine, turnWith({ sampling: GREEDY, messages })),
      ).rejects.toMatchObject({ kind: "context-length" });
    });
  });

  it("reach a client of the gateway as reasoning and content", async () => {
    const engine = createEngine("vllm", { url: server.url, model: SERVED_MODEL });
    const gateway = await startTestGateway({ engine });
    const response = await fetch(`${gateway.baseURL}/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        model: SERVED_MODEL,
        messages: [{ role: "user", content: "Hi" }],
        temperature: 0,
      }),
    });
    expect(await response.json()).toMatchObject({
      choices: [{ message: { reasoning: ANALYSIS, content: ANSWER } }],
    });
    await gateway.close();
  });
});
