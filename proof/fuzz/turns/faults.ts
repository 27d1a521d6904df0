/**
 * Planted defects at the seams of the core: the turn's options, the engine's requests, the events. Each is one that a
 * change could introduce unnoticed, and each must be found by the search.
 */
import type { CompletionRequest, Engine, Models } from "../../../src/index.ts";
import { createPushStream, consume } from "../../../src/streams/push-stream.ts";
import { o200kHarmony, SPECIAL_TOKENS } from "../../../src/tokenizer/index.ts";
import type { Turn, TurnEvent } from "../../../src/turn/turn.ts";
import { promptOf, spelledIds } from "../../../test/helpers/spelled.ts";

export interface Fault {
  /** The defect, as a sentence for the table. */
  readonly name: string;
  /** The rules, one of which must find it. */
  readonly rules: readonly string[];
  /** Changes the turn. */
  readonly turn?: (turn: Turn) => Turn;
  /** Changes the events of a turn. Created anew for each. */
  readonly events?: () => (event: TurnEvent) => readonly TurnEvent[];
  /** Changes the engine's requests. Created anew for each turn. */
  readonly request?: (request: CompletionRequest, call: number) => CompletionRequest;
}

export const FAULTS: readonly Fault[] = [
  {
    name: "the second delta of an answer is lost",
    rules: ["whole-content", "stream-equals-plain"],
    events: () => {
      let deltas = 0;
      return withKind("content", (event) =>
        event.type === "part-delta" && ++deltas === 2 ? [] : [event],
      );
    },
  },
  {
    name: "the first delta of an answer comes twice",
    rules: ["whole-content", "order"],
    events: () => {
      let deltas = 0;
      return withKind("content", (event) =>
        event.type === "part-delta" && ++deltas === 1 ? [event, event] : [event],
      );
    },
  },
  {
    name: "a second analysis message is shown as content",
    rules: ["reasoning-not-in-content"],
    events: () => {
      let starts = 0;
      return withKind("reasoning", (event) =>
        event.type === "part-start" && ++starts === 2
          ? [{ type: "part-start", part: { kind: "content" } }]
          : [event],
      );
    },
  },
  {
    name: "an answer after a preamble is shown as reasoning",
    rules: ["content-not-in-reasoning"],
    events: () => {
      let hasPreamble = false;
      return (event) => {
        if (event.type !== "part-start") return [event];
        if (event.part.kind === "preamble") hasPreamble = true;
        const isHidden = hasPreamble && event.part.kind === "content";
        return [isHidden ? { type: "part-start", part: { kind: "reasoning" } } : event];
      };
    },
  },
  {
    name: "a call is given out twice",
    rules: ["whole-calls", "call-ids-differ"],
    events: () => {
      let call: TurnEvent[] = [];
      return withKind("tool-call", (event) => {
        call.push(event);
        if (event.type !== "part-end") return [event];
        const again = call;
        call = [];
        return [event, ...again];
      });
    },
  },
  {
    name: "a call goes to the function whose name begins alike",
    rules: ["no-invented-call", "whole-calls"],
    events: () => (event) => {
      if (event.type !== "part-start" || event.part.kind !== "tool-call") return [event];
      const { part } = event;
      return part.name === "get_weather_map"
        ? [{ ...event, part: { ...part, name: "get_weather" } }]
        : [event];
    },
  },
  {
    name: "a cut answer is reported as complete",
    rules: ["length-said"],
    events: () => (event) =>
      event.type === "end" && event.finish === "length" ? [{ ...event, finish: "stop" }] : [event],
  },
  {
    name: "reasoning tokens are left out of the count",
    rules: ["usage-of-reasoning", "usage-of-completion"],
    events: () => (event) => {
      if (event.type !== "end") return [event];
      const { usage } = event;
      const completionTokens = usage.completionTokens - usage.reasoningTokens;
      return [{ ...event, usage: { ...usage, completionTokens } }];
    },
  },
  {
    name: "each engine call's prompt is counted",
    rules: ["usage-of-prompt"],
    events: () => (event) => {
      if (event.type !== "end") return [event];
      const { usage } = event;
      const promptTokens = usage.promptTokens * usage.engineCalls;
      return [{ ...event, usage: { ...usage, promptTokens } }];
    },
  },
  {
    name: "the start of a turn is not told",
    rules: ["readable-answer"],
    events: () => (event) => (event.type === "start" ? [] : [event]),
  },
  {
    name: "stop strings are ignored",
    rules: ["stop-not-shown"],
    turn: (turn) => ({ ...turn, stop: [] }),
  },
  {
    name: "a required call is only suggested",
    rules: ["required-call-made"],
    turn: (turn) =>
      turn.toolChoice.type === "required" ? { ...turn, toolChoice: { type: "auto" } } : turn,
  },
  {
    name: "calls to functions that are not allowed pass",
    rules: ["only-allowed-calls"],
    turn: (turn) =>
      turn.toolChoice.type === "allowed" ? { ...turn, toolChoice: { type: "auto" } } : turn,
  },
  {
    name: "the answer is not held to its format",
    rules: ["answer-satisfies-format"],
    turn: (turn) => ({ ...turn, answer: { type: "text" } }),
  },
  {
    name: "strict functions are treated like others",
    rules: ["call-satisfies-schema"],
    turn: (turn) => ({ ...turn, tools: turn.tools.map((tool) => ({ ...tool, strict: false })) }),
  },
  {
    name: "the reasoning budget is ignored",
    rules: ["reasoning-budget"],
    turn: ({ reasoning: { enabled }, ...turn }) => ({ ...turn, reasoning: { enabled } }),
  },
  {
    name: "the second of two calls that must not be is let through",
    rules: ["one-call-only"],
    turn: (turn) => ({ ...turn, parallelToolCalls: true }),
  },
  {
    name: "each engine call may use the whole limit",
    rules: ["within-limits", "usage-within-limit"],
    request: (request, call) =>
      call === 0 ? request : { ...request, maxTokens: request.maxTokens + 20 },
  },
  {
    name: "a later prompt leaves out a token of the former",
    rules: ["prompt-grows"],
    request: (request, call) => {
      const ids = request.prompt.ids.toSpliced(4, 1);
      return call === 0 ? request : { ...request, prompt: promptOf(ids) };
    },
  },
  {
    name: "control tokens that a client has spelled become real",
    rules: ["client-text-is-text"],
    request: (request) => {
      const spelled = o200kHarmony().decode(request.prompt.ids);
      return { ...request, prompt: promptOf(spelledIds(spelled)) };
    },
  },
  {
    name: "a call that is put back loses its last token",
    rules: ["prompt-extends"],
    request: (request, call) => {
      const end = request.prompt.ids.lastIndexOf(SPECIAL_TOKENS["<|call|>"]);
      if (call > 0 || end === -1) return request;
      return { ...request, prompt: promptOf(request.prompt.ids.toSpliced(end - 1, 1)) };
    },
  },
];

type MapEvent = (event: TurnEvent) => readonly TurnEvent[];

/** Changes the events of parts of one kind; all others are unchanged. */
function withKind(kind: string, map: MapEvent): MapEvent {
  let isOpen = false;
  return (event) => {
    if (event.type === "part-start") isOpen = event.part.kind === kind;
    return isOpen && event.type !== "end" ? map(event) : [event];
  };
}

export function withFault(models: Models, { turn: change, events: changeEvents }: Fault): Models {
  const wrap = (model: Models["all"][number]): Models["all"][number] => ({
    ...model,
    contextLength: model.contextLength,
    capabilities: model.capabilities,
    status: model.status,
    pool: model.pool,
    run(turn, signal) {
      const events = model.run(change?.(turn) ?? turn, signal);
      const map = changeEvents?.();
      if (map === undefined) return events;
      return createPushStream(async (take) => {
        await consume(events, async (event) => {
          for (const each of map(event)) if (!(await take(each))) return false;
          return true;
        });
      });
    },
  });
  const all = models.all.map((model) => wrap(model));
  return {
    all,
    presets: [],
    find(name) {
      const found = models.find(name);
      const model = all.find(({ id }) => id === found?.model.id);
      return found && model && { ...found, model };
    },
  };
}

export function withFaultyRequests(engine: Engine, { request: change }: Fault): Engine {
  if (change === undefined) return engine;
  const calls = new Map<string, number>();
  return {
    ...engine,
    complete(request, signal) {
      const call = calls.get(request.requestId) ?? 0;
      calls.set(request.requestId, call + 1);
      return engine.complete(change(request, call), signal);
    },
  };
}
