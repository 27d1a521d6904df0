/** Shorthand for turn events, and an application whose model's turns have these events. */
import { type AppDeps, createApp } from "../../../src/app.ts";
import { createGateway, EngineError, type Model, type Store } from "../../../src/index.ts";
import { fakeEngine } from "../../helpers/fake-engine.ts";
import { testLog, testSettings } from "../../helpers/gateway.ts";
import { MODEL, readEvents } from "./support.ts";

export type TurnEvent = ReturnType<Model["run"]> extends AsyncIterable<infer Event> ? Event : never;
export type Part = Extract<TurnEvent, { type: "part-start" }>["part"];
export type TurnEnd = Extract<TurnEvent, { type: "end" }>;

export function part(kind: Part, ...deltas: string[]): TurnEvent[] {
  return [
    { type: "part-start", part: kind },
    ...deltas.map((text): TurnEvent => ({ type: "part-delta", text })),
    { type: "part-end" },
  ];
}

export const reasoning: Part = { kind: "reasoning" };
export const preamble: Part = { kind: "preamble" };
export const content: Part = { kind: "content" };

export function call(name: string, id = "call_1"): Part {
  return { kind: "tool-call", id, name };
}

export function end(finish: TurnEnd["finish"], more: Partial<TurnEnd> = {}): TurnEvent {
  return {
    type: "end",
    finish,
    nativeReason: null,
    usage: {
      promptTokens: 10,
      cachedTokens: 4,
      completionTokens: 7,
      reasoningTokens: 3,
      engineCalls: 1,
    },
    recoveries: new Map(),
    ...more,
  };
}

/** The failure of a turn by its engine: `The engine failed.` */
export const FAILURE = new EngineError("server-error", "secret");

type Turn = Iterable<TurnEvent> | AsyncIterable<TurnEvent>;

export interface TurnAppOptions {
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly store?: Store;
  readonly toolbox?: NonNullable<AppDeps["toolbox"]>;
}

export interface TurnApp {
  /** Sends a request to the Responses API, whose turn has the events. */
  readonly post: (turn: Turn, body?: object) => Promise<Response>;
  /** The events of a response that is streamed. */
  readonly stream: (turn: Turn, body?: object) => Promise<{ type: string }[]>;
  /** The stored response. */
  readonly get: () => Promise<Response>;
}

/** Ids of responses are `resp_0`, ids of items `rs_0_0` and so on. The clock shows 1,700,000,001 seconds. */
export function createTurnApp({ settings = {}, ...deps }: TurnAppOptions = {}): TurnApp {
  let next: Turn = [];
  const { models } = createGateway({ engine: fakeEngine(), log: "silent" });
  const [original] = models.all;
  if (original === undefined) throw new Error("there is no model");
  const model: Model = {
    ...original,
    async *run() {
      yield* next;
    },
  };
  const app = createApp({
    settings: testSettings(settings),
    log: testLog(),
    models: {
      all: [model],
      presets: [],
      find(name) {
        const found = models.find(name);
        return found && { ...found, model };
      },
    },
    randomId: () => "0",
    now: () => 1_700_000_001_000,
    ...deps,
  });
  const post: TurnApp["post"] = async (turn, body = {}) => {
    next = turn;
    return app.request("/v1/responses", {
      method: "POST",
      body: JSON.stringify({ model: MODEL, input: "Hello!", store: false, ...body }),
    });
  };
  return {
    post,
    get: async () => app.request("/v1/responses/resp_0"),
    stream: async (turn, body) => readEvents(await post(turn, { ...body, stream: true })),
  };
}
