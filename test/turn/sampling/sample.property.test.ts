/** The result of a turn does not depend on how many tokens arrive together: events, usage, repairs and prompts. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { array, assert, asyncProperty, constantFrom, record } from "fast-check";
import { describe, expect, test } from "vitest";
import { parseJson } from "../../../src/harmony/index.ts";
import { type Capabilities, createEngine, type Engine } from "../../../src/index.ts";
import { scriptTransport } from "../../engines/support.ts";
import { completion } from "../../helpers/completions.ts";
import { fakeBrowser, fakeTool } from "../../helpers/fake-tool.ts";
import { scriptedEngine } from "../../helpers/scripted-engine.ts";
import { spelledIds } from "../../helpers/spelled.ts";
import {
  formedAnswer,
  offeredTool,
  type OnFact,
  type RunOptions,
  startTurn,
  type Turn,
  type TurnEvent,
  turnWith,
  turnWithTools,
} from "../../helpers/turns.ts";

/**
 * The engine with each id in a read of its own. The empty read after an id ends the unit in which the gateway collects ids, so
 * that each id is read alone.
 */
function idById(engine: Engine): Engine {
  return {
    ...engine,
    async *complete(request, signal) {
      for await (const event of engine.complete(request, signal)) {
        if (event.type !== "ids") yield event;
        else {
          for (const [at, id] of event.ids.entries()) {
            const logprobs = event.logprobs?.slice(at, at + 1);
            yield { type: "ids", ids: [id], ...(logprobs && { logprobs }) };
            yield { type: "ids", ids: [] };
          }
        }
      }
    },
  };
}

interface Observed extends RunOptions {
  /** Tokens of reasoning are estimated. The estimate depends on the reads, and is left out. */
  readonly estimatesReasoning?: boolean;
}

/** All observable results of a turn. */
async function observe(
  engine: Engine,
  turn: Turn,
  { estimatesReasoning = false, ...options }: Observed,
) {
  const events: TurnEvent[] = [];
  const facts: unknown[] = [];
  const ids: number[] = [];
  let error: unknown;
  const onFact: OnFact = (fact) => {
    switch (fact.type) {
      case "parsed":
        if (fact.tokens.type === "ids") ids.push(...fact.tokens.ids);
        break;
      case "called":
        facts.push([fact.stage, fact.request.prompt.ids]);
        break;
      case "rendered":
      case "ids":
      case "pieces":
      case "text":
        break;
      default:
        facts.push(fact);
    }
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
  return { events, facts, ids, error };
}

/** @param single creates the engine with single tokens. Default: the ids of `open` one by one. */
async function bothWays(
  open: () => Engine,
  turn: () => Turn,
  options: Observed = {},
  single = () => idById(open()),
) {
  const own = withJoinedDeltas(await observe(open(), turn(), options));
  const expected = withJoinedDeltas(await observe(single(), turn(), options));
  return { own, expected };
}

/** Text comes in a delta for each read. */
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
      const open = () =>
        createEngine("vllm", {
          url: "http://engine:8000",
          model: "m",
          transport: scriptTransport(() => ({ pieces })),
        });
      const { own, expected } = await bothWays(open, () => turnWith({ tools: TOOLS }));
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
      constantFrom("ids", "ids", "pieces"),
      async (completions, fields, batch, steering, constraints, form) => {
        const open = (size: number) =>
          scriptedEngine(
            (_, call) => [...first, ...(completions[call % completions.length] ?? [])],
            { batch: size, form, capabilities: { constraints } },
          );
        const { own, expected } = await bothWays(
          () => open(batch),
          () => turnWith(fields),
          { steering, contextLength: 2_000, estimatesReasoning: form !== "ids" },
          () => idById(open(1)),
        );
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
  const open = (): Engine => {
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
  const { own, expected } = await bothWays(open, () => turnWith({ tools: TOOLS }));
  expect(own).toEqual(expected);
  expect(own.events.at(-1)).toMatchObject({ finish: "tool-calls" });
});

test("log probabilities without a request for them are passed on as well", async () => {
  const open = (): Engine => {
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
  const { own, expected } = await bothWays(open, () => turnWith());
  expect(own).toEqual(expected);
  expect(own.events.some((event) => event.type === "part-delta" && event.logprobs)).toBe(true);
});
