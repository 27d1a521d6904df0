import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type CompletionRequest,
  createEngine,
  type Engine,
  type EngineKind,
} from "../../src/index.ts";
import { type Message, parseJson, toCompactJson } from "../../src/harmony/index.ts";
import { startLlamaServer } from "../helpers/llama-server.ts";
import { SERVED_MODEL } from "../helpers/llama-wires.ts";
import { createTinyEngine, describeWithLlama } from "../helpers/tiny-llama.ts";
import { problemWith } from "../helpers/problem-with.ts";
import {
  finishTurn,
  formedAnswer,
  logprobsByKind,
  offeredTool,
  partsOf,
  type RunOptions,
  turnWith,
  type Turn,
} from "../helpers/turns.ts";

const LOCATION =
  '{"type":"object","properties":{"location":{"type":"string","enum":["Paris","Tokyo"]}},"required":["location"],"additionalProperties":false}';
const DAY =
  '{"type":"object","properties":{"day":{"type":"string","enum":["mon","tue"]}},"required":["day"],"additionalProperties":false}';
const ANSWER =
  '{"type":"object","properties":{"ok":{"type":"boolean"},"n":{"type":"integer"}},"required":["ok","n"],"additionalProperties":false}';

const TOOLS = [offeredTool("get_weather", LOCATION), offeredTool("get_day", DAY)];

/** An engine that records its requests. */
function watched(engine: Engine): Engine & { requests: CompletionRequest[] } {
  const requests: CompletionRequest[] = [];
  return {
    ...engine,
    requests,
    complete(request, signal) {
      requests.push(request);
      return engine.complete(request, signal);
    },
  };
}

const SYSTEM: Message = {
  role: "system",
  content: [
    {
      type: "system",
      identity: "You are a test.",
      effort: "low",
      channels: ["analysis", "commentary", "final"],
      channelsRequired: true,
    },
  ],
};

function demand(fields: Partial<Turn>): Turn {
  const { answer, tools = [] } = fields;
  const responseFormats =
    answer?.type === "json-schema" ? [{ name: answer.name, schema: answer.schema }] : [];
  const functions = tools.map((tool) => ({ ...tool, description: "" }));
  const developer: Message = {
    role: "developer",
    content: [
      {
        type: "developer",
        ...(functions.length > 0 && {
          namespaces: [{ key: "functions", name: "functions", functions }],
        }),
        ...(responseFormats.length > 0 && { responseFormats }),
      },
    ],
  };
  const isEmpty = functions.length === 0 && responseFormats.length === 0;
  return turnWith({
    maxOutputTokens: 100,
    sampling: { ...turnWith().sampling, temperature: 0 },
    ...fields,
    messages: [
      SYSTEM,
      ...(isEmpty ? [] : [developer]),
      { role: "user", content: "What is the weather in Paris, please?" },
    ],
  });
}

interface Subject {
  readonly engine: Engine & { readonly requests: CompletionRequest[] };
  dispose(): Promise<void>;
}

async function demo(): Promise<Subject> {
  return { engine: watched(createEngine("demo", { model: "demo" })), dispose: async () => {} };
}

/** Loaded once: loading takes longer than all tests. */
let loading: ReturnType<typeof createTinyEngine> | undefined;
afterAll(async () => (await loading)?.close());

function tinyEngine(): ReturnType<typeof createTinyEngine> {
  return (loading ??= createTinyEngine({ contextLength: 2048 }));
}

async function tinyLlama(): Promise<Subject> {
  return { engine: watched(await tinyEngine()), dispose: async () => {} };
}

/** The tiny model behind HTTP, reached as an operator's server is. */
function servedLlama(kind: EngineKind) {
  return async (): Promise<Subject> => {
    const server = await startLlamaServer(await tinyEngine());
    const engine = watched(createEngine(kind, { url: server.url, model: SERVED_MODEL }));
    return { engine, dispose: () => server.close() };
  };
}

interface Row {
  readonly create: () => Promise<Subject>;
  readonly logprobs: boolean;
}

const engines: Record<string, Row> = {
  "the demo engine": { create: demo, logprobs: true },
  "a real gpt-oss of two layers in llama.cpp": { create: tinyLlama, logprobs: true },
  "the same over vLLM's wire": { create: servedLlama("vllm"), logprobs: true },
  "the same over llama-server's wire": {
    create: servedLlama("llama-cpp"),
    logprobs: false,
  },
};

for (const [title, { create, logprobs }] of Object.entries(engines)) {
  const suite = title === "the demo engine" ? describe : describeWithLlama;
  suite(`on ${title}`, () => {
    let subject: Subject;
    let engine: Subject["engine"];
    beforeAll(async () => {
      subject = await create();
      ({ engine } = subject);
    });
    afterAll(() => subject.dispose());

    async function finish(turn: Turn, options: RunOptions = {}) {
      engine.requests.length = 0;
      const finished = await finishTurn(engine, turn, options);
      for (const [index, { prompt }] of engine.requests.entries()) {
        const before = engine.requests[index - 1]?.prompt.ids ?? [];
        // Appended only, so that the engine's prefix cache is hit.
        expect(prompt.ids.slice(0, before.length)).toEqual(before);
      }
      return finished;
    }

    test("a named tool is called, with arguments that satisfy its schema", async () => {
      const turn = await finish(
        demand({ tools: TOOLS, toolChoice: { type: "required", names: ["get_day"] } }),
      );
      expect(turn.end).toMatchObject({ finish: "tool-calls", usage: { engineCalls: 2 } });
      const [analysis, call] = turn.parts;
      expect([analysis?.kind, turn.parts.length]).toEqual(["reasoning", 2]);
      expect(call).toMatchObject({ kind: "tool-call", name: "get_day" });
      expect(problemWith(call?.text ?? "", parseJson(DAY))).toBeUndefined();
    });

    test("one of several tools is called when a call is required", async () => {
      const names = TOOLS.map((tool) => tool.name);
      const turn = await finish(demand({ tools: TOOLS, toolChoice: { type: "required", names } }));
      expect(turn.end).toMatchObject({ finish: "tool-calls", usage: { engineCalls: 3 } });
      const call = turn.parts.at(-1);
      const tool = TOOLS.find((each) => call?.kind === "tool-call" && each.name === call.name);
      expect(problemWith(call?.text ?? "", tool?.parameters)).toBeUndefined();
      expect(tool).toBeDefined();
    });

    test("an answer satisfies its schema, after free reasoning", async () => {
      const schema = parseJson(ANSWER);
      const turn = await finish(demand({ answer: formedAnswer("out", schema) }));
      expect(turn.end).toMatchObject({ finish: "stop", usage: { engineCalls: 2 } });
      expect(turn.parts.map((part) => part.kind)).toEqual(["reasoning", "content"]);
      expect(problemWith(turn.parts[1]?.text ?? "", schema)).toBeUndefined();
      expect(engine.requests.map((request) => request.constraint)).toEqual([
        undefined,
        { type: "json-schema", schema: toCompactJson(schema) },
      ]);
    });

    test("an answer is any JSON object", async () => {
      const turn = await finish(demand({ answer: { type: "json-object" } }));
      expect(["stop", "length"]).toContain(turn.end.finish);
      const problem = problemWith(turn.parts.at(-1)?.text ?? "", undefined);
      expect(turn.end.finish === "length" || problem === undefined).toBe(true);
    });

    test("a budget for reasoning is kept to the token", async () => {
      const turn = await finish(demand({ reasoning: { enabled: true, maxTokens: 3 } }));
      expect(turn.end.usage.reasoningTokens).toBe(3);
      expect(turn.parts.map((part) => part.kind)).toEqual(["reasoning", "content"]);
    });

    test("without reasoning there is none", async () => {
      const turn = await finish(demand({ reasoning: { enabled: false } }));
      expect(turn.end.usage.reasoningTokens).toBe(0);
      expect(turn.parts.map((part) => part.kind)).toEqual(["content"]);
    });

    test("a stop string ends the answer, not the reasoning", async () => {
      const whole = partsOf(await finish(demand({}))).at(-1)?.[1] ?? "";
      const stop = whole.slice(3, 6);
      const turn = await finish(demand({ stop: [stop] }));
      expect(partsOf(turn).at(-1)).toEqual(["content", whole.slice(0, whole.indexOf(stop))]);
      expect(turn.end).toMatchObject({ finish: "stop", stopSequence: stop });
    });

    test("the output limit is enforced", async () => {
      const turn = await finish(demand({ maxOutputTokens: 5 }));
      expect(turn.end).toMatchObject({ finish: "length", usage: { completionTokens: 5 } });
    });

    test("a prefill is continued", async () => {
      const turn = await finish(demand({ prefill: "Hello" }));
      expect(turn.parts.map((part) => part.kind)).toEqual(["content"]);
      expect(turn.end.usage.engineCalls).toBe(1);
    });

    test.runIf(!logprobs)(
      "log probabilities are refused (skipped where the engine has them)",
      async () => {
        await expect(finish(demand({ topLogprobs: 2 }))).rejects.toThrow(
          "logprobs: the engine of this model does not support log probabilities. Send the request without logprobs.",
        );
      },
    );

    test.runIf(logprobs)(
      "log probabilities are returned for the answer's tokens only (skipped where the engine has none)",
      async () => {
        // Few tokens: llama.cpp gives each of them the probabilities of the whole vocabulary.
        const demanded = demand({
          topLogprobs: 2,
          maxOutputTokens: 10,
          reasoning: { enabled: true, maxTokens: 3 },
        });
        const { content = [], ...others } = Object.fromEntries(
          await logprobsByKind(engine, demanded),
        );
        expect(content.length).toBeGreaterThan(0);
        expect(others).not.toEqual({});
        expect(Object.values(others).flat()).toEqual([]);
      },
    );
  });
}

describeWithLlama("in one call, on a real gpt-oss of two layers in llama.cpp", () => {
  let subject: Subject;
  let engine: Subject["engine"];
  beforeAll(async () => {
    subject = await tinyLlama();
    ({ engine } = subject);
  });
  afterAll(() => subject.dispose());
  const singleCall = { steering: { singleCallConstraint: true } };

  test("an answer satisfies its schema", async () => {
    const schema = parseJson(ANSWER);
    const turn = await finishTurn(
      engine,
      demand({ answer: formedAnswer("out", schema) }),
      singleCall,
    );
    expect(turn.end).toMatchObject({ finish: "stop", usage: { engineCalls: 1 } });
    expect(turn.parts.map((part) => part.kind)).toEqual(["reasoning", "content"]);
    expect(problemWith(turn.parts[1]?.text ?? "", schema)).toBeUndefined();
  });

  test("a required call is made, with arguments that satisfy its schema", async () => {
    const turn = await finishTurn(
      engine,
      demand({ tools: TOOLS, toolChoice: { type: "required", names: ["get_day"] } }),
      singleCall,
    );
    expect(turn.end).toMatchObject({ finish: "tool-calls", usage: { engineCalls: 1 } });
    expect(problemWith(turn.parts.at(-1)?.text ?? "", parseJson(DAY))).toBeUndefined();
  });
});
