/** What is counted and logged of requests and turns. It looks on: nothing depends on it. */
import { EngineError } from "./engines/engine-error.ts";
import type { Log, LogFields } from "./log.ts";
import type { Counter, Gauge, Histogram, Registry } from "./metrics.ts";
import type { Model, Models } from "./turn/models.ts";
import type { Turn, TurnEnd, TurnEvent } from "./turn/turn.ts";

/** The gateway's meters. All names begin with `harmony_gateway_`. */
export interface Meters {
  /** By route and status. */
  readonly requests: Counter;
  /** By model and finish reason. */
  readonly turns: Counter;
  readonly turnsUnderWay: Gauge;
  /** By model and kind: `prompt`, `cached`, `completion`, `reasoning`. */
  readonly tokens: Counter;
  /** Repairs the parser made, by kind. */
  readonly recoveries: Counter;
  /** Where the reasoning of a tool loop came from, by outcome: `sent`, `sealed`, `stored`, `lost`. */
  readonly reasoningReturned: Counter;
  readonly firstTokenSeconds: Histogram;
  readonly turnSeconds: Histogram;
}

const SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250];

export function createMeters(registry: Registry): Meters {
  return {
    requests: registry.counter("harmony_gateway_requests_total", "HTTP requests answered."),
    turns: registry.counter("harmony_gateway_turns_total", "Turns ended, by finish reason."),
    turnsUnderWay: registry.gauge("harmony_gateway_turns_under_way", "Turns under way."),
    tokens: registry.counter("harmony_gateway_tokens_total", "Tokens, as reported to clients."),
    recoveries: registry.counter(
      "harmony_gateway_recoveries_total",
      "Repairs of what the model wrote, by kind.",
    ),
    reasoningReturned: registry.counter(
      "harmony_gateway_reasoning_returned_total",
      "Tool calls in histories, by where their reasoning was found.",
    ),
    firstTokenSeconds: registry.histogram(
      "harmony_gateway_first_token_seconds",
      "From a turn's start to its first piece of output.",
      SECONDS,
    ),
    turnSeconds: registry.histogram(
      "harmony_gateway_turn_seconds",
      "From a turn's start to its end.",
      SECONDS,
    ),
  };
}

export interface ObserveDeps {
  readonly meters: Meters;
  readonly log: Log;
  /** Milliseconds; only differences are used. */
  readonly now: () => number;
}

/** The same models, their turns counted and logged. */
export function observeModels(models: Models, deps: ObserveDeps): Models {
  const observed = new Map(models.all.map((model) => [model, observeModel(model, deps)]));
  return {
    all: [...observed.values()],
    find: (name) => {
      const model = models.find(name);
      return model && observed.get(model);
    },
  };
}

function observeModel(model: Model, deps: ObserveDeps): Model {
  // A model's status changes: everything else is read through to the model itself.
  return Object.create(model, {
    run: { value: (turn: Turn, signal: AbortSignal) => observeTurn(model, turn, signal, deps) },
  });
}

/**
 * Hands the iterator's own promises on and looks at them from the side: an async generator here would
 * put one more await on the way of every token.
 */
function observeTurn(
  model: Model,
  turn: Turn,
  signal: AbortSignal,
  deps: ObserveDeps,
): AsyncIterable<TurnEvent> {
  const { meters, now } = deps;
  const started = now();
  let firstAfter: number | undefined;
  let under = true;
  const iterator = model.run(turn, signal)[Symbol.asyncIterator]();
  meters.turnsUnderWay.add(1);

  const over = (finish: string, fields: LogFields, level: "info" | "warn") => {
    if (!under) return;
    under = false;
    const seconds = (now() - started) / 1000;
    meters.turnsUnderWay.add(-1);
    meters.turns.add({ model: model.id, finish });
    meters.turnSeconds.observe({ model: model.id }, seconds);
    deps.log[level]("turn", {
      id: turn.id,
      tenant: turn.tenant,
      model: model.id,
      finish,
      seconds,
      ...(firstAfter !== undefined && { firstTokenSeconds: firstAfter }),
      ...fields,
    });
  };
  const look = (result: IteratorResult<TurnEvent>) => {
    if (result.done) return over("cancelled", {}, "info");
    const event = result.value;
    if (event.type === "end") {
      countEnd(model, event, meters);
      over(event.finish, toEndFields(event), "info");
    } else if (event.type === "part-start" && firstAfter === undefined) {
      firstAfter = (now() - started) / 1000;
      meters.firstTokenSeconds.observe({ model: model.id }, firstAfter);
    }
  };
  const fail = (error: unknown) => {
    if (signal.aborted) over("cancelled", {}, "info");
    else over("failed", describeFailure(error), "warn");
  };

  return {
    [Symbol.asyncIterator]: () => ({
      next() {
        const result = iterator.next();
        result.then(look, fail);
        return result;
      },
      async return() {
        over("cancelled", {}, "info");
        return (await iterator.return?.()) ?? { done: true, value: undefined };
      },
    }),
  };
}

function countEnd(model: Model, { usage, recoveries }: TurnEnd, meters: Meters): void {
  const tokens = {
    prompt: usage.promptTokens,
    cached: usage.cachedTokens,
    completion: usage.completionTokens,
    reasoning: usage.reasoningTokens,
  };
  for (const [kind, amount] of Object.entries(tokens)) {
    meters.tokens.add({ model: model.id, kind }, amount);
  }
  for (const [kind, amount] of recoveries) meters.recoveries.add({ kind }, amount);
}

function toEndFields({ nativeReason, usage, recoveries }: TurnEnd): LogFields {
  return {
    nativeReason,
    ...usage,
    ...(recoveries.size > 0 && { recoveries: Object.fromEntries(recoveries) }),
  };
}

/**
 * An error for the log. Messages may quote what a user wrote (`JSON.parse` does, engines do when they
 * refuse a prompt), so only those that cannot are kept; of our own mistakes, the stack.
 */
export function describeFailure(error: unknown): LogFields {
  if (error instanceof EngineError) {
    const quotes = error.kind === "bad-request" || error.kind === "context-length";
    return {
      error: error.kind,
      ...(error.status !== undefined && { status: error.status }),
      ...(!quotes && { message: error.message }),
    };
  }
  if (!(error instanceof Error)) return { error: typeof error };
  const frames = error.stack?.split("\n").filter((line) => line.startsWith("    at ")) ?? [];
  return { error: error.name, stack: frames.map((line) => line.trim()) };
}
