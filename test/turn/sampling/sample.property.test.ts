/**
 * However many tokens arrive together, the results are those of the reading loop before: events, usage, repairs, prompts and records.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { array, assert, asyncProperty, constantFrom, record } from "fast-check";
import { describe, expect, test, vi } from "vitest";
import type { Capabilities, Engine, EngineTokens } from "../../../src/engines/engine.ts";
import { parseJson } from "../../../src/harmony/json.ts";
import { createVllmEngine } from "../../../src/engines/vllm.ts";
import { RecordBudget, RecordMemory } from "../../../src/telemetry/record/limits.ts";
import { TurnRecording } from "../../../src/telemetry/record/recording.ts";
import type { OnFact } from "../../../src/turn/facts.ts";
import type { Turn, TurnEvent } from "../../../src/turn/turn.ts";
import { scriptTransport } from "../../engines/support.ts";
import { completion } from "../../helpers/completions.ts";
import { fakeBrowser, fakeTool } from "../../helpers/fake-tool.ts";
import { scriptedEngine } from "../../helpers/scripted-engine.ts";
import { spelledIds } from "../../helpers/spelled.ts";
import type { RunOptions } from "../../helpers/turns.ts";

// The same modules twice, once with the loop before.
const LOOP = "../../../src/turn/sampling/sample.ts";
vi.resetModules();
vi.doMock(LOOP, () => import("../../helpers/frozen-sample.ts"));
const before = await import("../../helpers/turns.ts");
vi.doUnmock(LOOP);
vi.resetModules();
const now = await import("../../helpers/turns.ts");
const { formedAnswer, offeredTool, turnWith, turnWithTools } = now;

/** `estimatesReasoning`: tokens of reasoning depend on how text without spaces arrives, and are left out. */
interface Observed extends RunOptions {
  readonly estimatesReasoning?: boolean;
}

/** All observable results of a turn. */
async function observe(
  startTurn: typeof now.startTurn,
  engine: Engine,
  turn: Turn,
  { estimatesReasoning = false, ...options }: Observed,
) {
  const events: TurnEvent[] = [];
  const facts: unknown[] = [];
  const parsed: EngineTokens[] = [];
  let error: unknown;
  const budget = new RecordBudget(Infinity, new RecordMemory(Infinity, () => false));
  const recording = new TurnRecording(budget, () => 0);
  const onFact: OnFact = (fact) => {
    recording.onFact(fact);
    if (fact.type === "parsed") parsed.push(fact.tokens);
    else if (fact.type === "called") facts.push([fact.stage, fact.request.prompt.ids]);
    else if (fact.type !== "rendered") facts.push(fact);
  };
  try {
    const running = startTurn(engine, turn, { ...options, onFact });
    for await (const event of running) {
      if (estimatesReasoning && event.type === "end")
        Object.assign(event.usage, { reasoningTokens: 0 });
      events.push(event);
    }
  } catch (thrown) {
    error = thrown;
  }
  const ids = parsed.flatMap((tokens) => (tokens.type === "ids" ? tokens.ids : []));
  const calls = recording.calls.map(({ reads, used }) => ({ reads: reads.reads, used }));
  return { events, facts, ids, calls, parser: recording.parser, error };
}

async function bothWays(createEngine: () => Engine, turn: Turn, options: Observed = {}) {
  const own = await observe(now.startTurn, createEngine(), turn, options);
  const expected = await observe(before.startTurn, createEngine(), turn, options);
  return { own, expected };
}

/** Text that is held until a part is decided comes in the deltas that it was read in: the loop before read it one id at a time. */
function withJoinedDeltas<T extends { readonly events: readonly TurnEvent[] }>(observed: T): T {
  const events: TurnEvent[] = [];
  for (const event of observed.events) {
    const last = events.at(-1);
    if (event.type !== "part-delta" || last?.type !== "part-delta") events.push(event);
    else {
      const logprobs = [...(last.logprobs ?? []), ...(event.logprobs ?? [])];
      const citations = [...(last.citations ?? []), ...(event.citations ?? [])];
      events[events.length - 1] = {
        type: "part-delta",
        text: last.text + event.text,
        ...(logprobs.length > 0 && { logprobs }),
        ...(citations.length > 0 && { citations }),
      };
    }
  }
  return { ...observed, events };
}

const SCHEMA = '{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}';
const TOOLS = [offeredTool("get_weather", SCHEMA), offeredTool("get_time")];

const FIXTURES = join(import.meta.dirname, "../../fixtures");
const recorded = ["engines/vllm", "recorded/vllm"].flatMap((folder) =>
  readdirSync(join(FIXTURES, folder))
    .filter((name) => name.endsWith(".sse"))
    .map((name) => `${folder}/${name}`),
);

/** Every way to cut a stream in two between its events, and each event alone. Within events: `completion-cuts.test.ts`. */
function cutsBetween(stream: string): Uint8Array[][] {
  const events = stream.split(/(?<=\n\n)/).map((event) => new TextEncoder().encode(event));
  const joined = (pieces: readonly Uint8Array[]) => new Uint8Array(Buffer.concat(pieces));
  const inTwo = events.map((_, at) => [joined(events.slice(0, at)), joined(events.slice(at))]);
  return [...inTwo, events];
}

describe("recorded streams, cut between any events", () => {
  test.each(recorded)("%s", async (name) => {
    for (const pieces of cutsBetween(readFileSync(join(FIXTURES, name), "utf8"))) {
      const createEngine = () =>
        createVllmEngine({
          url: "http://engine:8000",
          model: "m",
          transport: scriptTransport(() => ({ pieces })),
        });
      const { own, expected } = await bothWays(createEngine, turnWith({ tools: TOOLS }));
      expect(own).toEqual(expected);
    }
  });
});

const shape = constantFrom<Partial<Turn>>(
  {},
  { tools: TOOLS },
  { tools: TOOLS, stop: ["a", "Oslo"] },
  { tools: TOOLS, parallelToolCalls: false },
  { tools: TOOLS, toolChoice: { type: "none" } },
  { tools: TOOLS, toolChoice: { type: "required", names: ["get_weather"] } },
  { tools: [offeredTool("get_weather", SCHEMA, true)] },
  { maxOutputTokens: 300 },
  { topLogprobs: 1 },
  { reasoning: { enabled: false } },
  { reasoning: { enabled: true, maxTokens: 5 } },
  { reasoning: { enabled: true, maxTokens: 90 }, tools: TOOLS },
  { reasoning: { enabled: true, maxTokens: 90 }, maxOutputTokens: 150 },
  { tools: TOOLS, toolChoice: { type: "allowed", names: ["get_time"] } },
  turnWithTools([fakeTool({ answer: () => "1\n" })]),
  turnWithTools([fakeBrowser()], {}, { reasoning: { enabled: true, maxTokens: 60 } }),
  { answer: formedAnswer("city", parseJson(SCHEMA)) },
  { textSeparator: "\n\n" },
);

test("any completion, in reads of any size", async () => {
  const first = spelledIds("<|channel|>analysis<|message|>");
  const options = record({
    repetitionGuard: constantFrom(true, false),
    answerReserve: constantFrom(0, 40),
    refuseUnofferedTools: constantFrom(true, false),
    singleCallConstraint: constantFrom(true, false),
  });
  await assert(
    asyncProperty(
      array(completion, { minLength: 1, maxLength: 3 }),
      shape,
      constantFrom(1, 2, 7, 40, 1000),
      options,
      constantFrom<Capabilities["constraints"]>([], ["json-schema"], ["structural-tag"]),
      constantFrom<EngineTokens["type"]>("ids", "ids", "pieces", "text"),
      async (completions, fields, batch, steering, constraints, form) => {
        const createEngine = () =>
          scriptedEngine(
            (_, call) => [...first, ...(completions[call % completions.length] ?? [])],
            { batch, form, capabilities: { constraints } },
          );
        const both = await bothWays(createEngine, turnWith(fields), {
          steering,
          contextLength: 2_000,
          estimatesReasoning: form !== "ids",
        });
        expect(both.own.events.length).toBeLessThanOrEqual(both.expected.events.length);
        const own = withJoinedDeltas(both.own);
        const expected = withJoinedDeltas(both.expected);
        // Prompts have many ids: Vitest compares them a hundred times slower, and then explains.
        expect(isDeepStrictEqual(own, expected) ? expected : own).toEqual(expected);
      },
    ),
    { numRuns: Number(process.env["RUNS"] ?? 600) },
  );
});

test("reads without ids change nothing", async () => {
  const written =
    '<|channel|>analysis<|message|>So<|end|><|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city":"Oslo"}}<|call|>';
  const createEngine = (): Engine => {
    const scripted = scriptedEngine([written]);
    return {
      ...scripted,
      complete: async function* complete(request, signal) {
        for await (const event of scripted.complete(request, signal)) {
          yield event;
          if (event.type === "ids") yield { type: "ids", ids: [] };
        }
      },
    };
  };
  const { own, expected } = await bothWays(createEngine, turnWith({ tools: TOOLS }));
  expect(own).toEqual(expected);
  expect(own.events.at(-1)).toMatchObject({ finish: "tool-calls" });
});

test("log probabilities that nobody asked for are passed on as well", async () => {
  const createEngine = (): Engine => {
    const scripted = scriptedEngine(["<|channel|>final<|message|>Hello there, you<|return|>"]);
    return {
      ...scripted,
      complete: async function* complete(request, signal) {
        for await (const event of scripted.complete(request, signal)) {
          yield event.type === "ids"
            ? { ...event, logprobs: event.ids.map((id) => ({ id, logprob: -1, top: [] })) }
            : event;
        }
      },
    };
  };
  const { own, expected } = await bothWays(createEngine, turnWith());
  expect(own).toEqual(expected);
  expect(own.events.some((event) => event.type === "part-delta" && event.logprobs)).toBe(true);
});
