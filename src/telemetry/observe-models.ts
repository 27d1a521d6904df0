/** Metrics and log lines of requests and turns. Observes only: nothing else depends on it. */
import { EngineError } from "../engines/engine-error.ts";
import { createPushStream, consume, type Consumer, type Demand } from "../streams/push-stream.ts";
import {
  createGenAiMeters,
  type GenAiMeters,
  observeGenAi,
  observeTool,
} from "./gen-ai-metrics.ts";
import { hashWords } from "./hash-words.ts";
import type { Log, LogFields } from "./log.ts";
import type { Counter, Gauge, Histogram, Registry } from "./metrics.ts";
import { currentTraceId } from "./tracing/tracer.ts";
import { type Model, type Models, withTurnHook } from "../models/models.ts";
import type { ShownCall } from "../tools/builtin-tool.ts";
import type { Part, Turn, TurnEnd, TurnEvent, TurnUsage } from "../turn/turn.ts";

/** The gateway's meters. Names begin with `harmony_gateway_`, except those of the conventions. */
export interface Meters {
  /** By route and status. */
  readonly requests: Counter;
  /** By model and finish reason. */
  readonly turns: Counter;
  readonly turnsInFlight: Gauge;
  /** By model and kind: `prompt`, `cached`, `completion`, `reasoning`. */
  readonly tokens: Counter;
  readonly keyTokens: Counter;
  /** Repairs the parser made, by kind. */
  readonly recoveries: Counter;
  /** Calls by the form in which the model wrote their headers. */
  readonly callHeaders: Counter;
  /** Steps of running tool loops in prompts, by how they were written: `ids`, `text`, `form`, `layout`; and why not by ids. */
  readonly stepsRendered: Counter;
  /** Calls the gateway ran for the model, by tool and outcome: `completed`, `failed`. */
  readonly builtinCalls: Counter;
  /** Where the reasoning of a tool loop came from, by outcome: `sent`, `sealed`, `stored`, `lost`. */
  readonly reasoningReturned: Counter;
  /** Tools left out of a request's prompt, by kind. */
  readonly toolsSkipped: Counter;
  /** Encrypted reasoning that could not be decrypted, by reason. */
  readonly sealsRefused: Counter;
  /** By operation and failure. */
  readonly storeFailures: Counter;
  /** Stored entries that could not be read, by kind. */
  readonly corruptEntries: Counter;
  readonly firstTokenSeconds: Histogram;
  readonly turnSeconds: Histogram;
  /** The same under the names of OpenTelemetry's conventions. */
  readonly genAi: GenAiMeters;
}

const SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250];

export function createMeters(registry: Registry): Meters {
  return {
    requests: registry.counter("harmony_gateway_requests_total", "HTTP requests answered."),
    turns: registry.counter("harmony_gateway_turns_total", "Turns ended, by finish reason."),
    turnsInFlight: registry.gauge("harmony_gateway_turns_in_flight", "Turns in flight."),
    tokens: registry.counter("harmony_gateway_tokens_total", "Tokens, as reported to clients."),
    keyTokens: registry.counter(KEY_TOKENS, "The same by key, where there are keys."),
    recoveries: registry.counter(
      "harmony_gateway_recoveries_total",
      "Repairs of what the model wrote, by kind.",
    ),
    callHeaders: registry.counter(
      "harmony_gateway_call_headers_total",
      "Calls by the form in which the model wrote their headers. Headers that the gateway or a constraint wrote are not counted.",
    ),
    stepsRendered: registry.counter(
      "harmony_gateway_steps_rendered_total",
      "Steps of running tool loops in prompts, by how they were written, and why not as they were sampled.",
    ),
    builtinCalls: registry.counter(
      "harmony_gateway_builtin_calls_total",
      "Calls the gateway ran for the model, by tool and outcome.",
    ),
    reasoningReturned: registry.counter(
      "harmony_gateway_reasoning_returned_total",
      "Steps of running tool loops in requests, by where their reasoning was found.",
    ),
    toolsSkipped: registry.counter(
      "harmony_gateway_tools_skipped_total",
      "Tools of requests that were left out because they cannot be served, by kind.",
    ),
    sealsRefused: registry.counter(
      "harmony_gateway_seals_refused_total",
      "Encrypted reasoning that could not be decrypted, by reason.",
    ),
    storeFailures: registry.counter(
      "harmony_gateway_store_failures_total",
      "Failed operations of the store, by operation and failure.",
    ),
    corruptEntries: registry.counter(
      "harmony_gateway_store_corrupt_entries_total",
      "Stored entries that could not be read and were treated as missing, by kind.",
    ),
    firstTokenSeconds: registry.histogram(
      "harmony_gateway_first_token_seconds",
      "From a turn's start to its first output.",
      SECONDS,
    ),
    turnSeconds: registry.histogram(
      "harmony_gateway_turn_seconds",
      "From a turn's start to its end.",
      SECONDS,
    ),
    genAi: createGenAiMeters(registry),
  };
}

const KEY_TOKENS = "harmony_gateway_key_tokens_total";

/** The text of metrics for one key: without the counts of others. */
export function withoutOtherKeys(metrics: string, name: string): string {
  const lines = metrics.split("\n");
  const own = `${KEY_TOKENS}{key="${name}",`;
  return lines
    .filter((line) => !line.startsWith(`${KEY_TOKENS}{`) || line.startsWith(own))
    .join("\n");
}

export interface ObserveDeps {
  readonly meters: Meters;
  readonly log: Log;
  /** Milliseconds; only differences are used. */
  readonly now: () => number;
  /** Log prompts and answers too. */
  readonly logContent: boolean;
  /** The names of keys, whose tokens are counted by key. */
  readonly keys: ReadonlySet<string>;
}

/** Wraps models so that their turns are counted and logged. */
export function observeModels(models: Models, deps: ObserveDeps): Models {
  return withTurnHook(models, (model, turn, signal, run) =>
    createPushStream<TurnEvent>((consumer) =>
      new TurnObserver(model, turn, deps).watch(run(turn, signal), signal, consumer),
    ),
  );
}

/** Counts and logs one turn. Its events are passed on unchanged. */
class TurnObserver {
  readonly #model: Model;
  readonly #turn: Turn;
  readonly #deps: ObserveDeps;
  readonly #startedAt: number;
  readonly #traceId = currentTraceId();
  #firstTokenSeconds: number | undefined;
  /** The output by parts; only kept if content is logged. */
  readonly #written: { kind: string; text: string }[] = [];
  /** Names of the tools that were called. */
  readonly #calls = new Set<string>();
  #isOver = false;
  /** When the last part ended. If it calls a tool of the gateway, the tool has been running since then. */
  #partEndedAt = 0;

  constructor(model: Model, turn: Turn, deps: ObserveDeps) {
    this.#model = model;
    this.#turn = turn;
    this.#deps = deps;
    this.#startedAt = deps.now();
  }

  watch(
    events: AsyncIterable<TurnEvent>,
    signal: AbortSignal,
    consumer: Consumer<TurnEvent>,
  ): Promise<void> {
    this.#deps.meters.turnsInFlight.add(1);
    const take = (event: TurnEvent): Demand => {
      const demand = consumer(event);
      // Counted and logged once it has been passed on: the client does not wait for that.
      this.#see(event);
      if (this.#deps.logContent) this.#keep(event);
      return demand;
    };
    const ended = consume(events, take);
    // Not `await`, whose frame would be held as long as the turn runs.
    return ended.then(
      () => this.#end("cancelled", {}),
      (error) => {
        if (signal.aborted) this.#end("cancelled", {});
        else this.#end("failed", describeForLog(error, this.#deps), { level: "warn", error });
        throw error;
      },
    );
  }

  #see(event: TurnEvent): void {
    if (event.type === "builtin-result") {
      const outcome = event.failed ? "failed" : "completed";
      const { meters, now } = this.#deps;
      const tool = TOOL_LABELS[event.shown.type];
      this.#calls.add(tool);
      meters.builtinCalls.add({ tool, outcome });
      observeTool(meters.genAi, tool, (now() - this.#partEndedAt) / 1000, event.failed);
    } else if (event.type === "part-end") {
      this.#partEndedAt = this.#deps.now();
    } else if (event.type === "end") {
      countEnd(this.#model, this.#turn, event, this.#deps);
      this.#end(event.finish, toEndFields(event), { usage: event.usage });
    } else if (event.type === "part-start") {
      this.#seeStart(event.part);
    } else if (event.type === "start") {
      for (const { how, because = "" } of event.exactness?.steps ?? []) {
        this.#deps.meters.stepsRendered.add({ how, because });
      }
    }
  }

  /** Names that were not offered are words of the model. */
  #noteCall(name: string): void {
    if (this.#calls.size >= MAX_CALL_NAMES || name.length > MAX_CALL_NAME_CHARS) return;
    if (this.#turn.tools.some((tool) => tool.name === name)) this.#calls.add(name);
  }

  #seeStart(part: Part): void {
    const { meters } = this.#deps;
    if (part.kind === "tool-call") this.#noteCall(part.name);
    if ("form" in part && part.form !== undefined) meters.callHeaders.add({ form: part.form });
    if (this.#firstTokenSeconds !== undefined) return;
    this.#firstTokenSeconds = this.#seconds();
    meters.firstTokenSeconds.observe(this.#labels(), this.#firstTokenSeconds);
  }

  #keep(event: TurnEvent): void {
    if (event.type === "part-start") this.#written.push({ ...event.part, text: "" });
    const last = this.#written.at(-1);
    if (event.type === "part-delta" && last !== undefined) last.text += event.text;
  }

  #end(finish: string, fields: LogFields, ended: Ended = {}): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const { level = "info", usage, error } = ended;
    const { log, logContent, meters } = this.#deps;
    const seconds = this.#seconds();
    meters.turnsInFlight.add(-1);
    const { preset } = this.#turn;
    meters.turns.add({ ...this.#labels(), finish, ...(preset && { preset: preset.name }) });
    meters.turnSeconds.observe(this.#labels(), seconds);
    observeGenAi(meters.genAi, this.#model, {
      seconds,
      firstTokenSeconds: this.#firstTokenSeconds,
      usage,
      error,
    });
    log[level]("turn", {
      id: this.#turn.id,
      tenant: this.#turn.tenant,
      model: this.#model.id,
      preset: preset?.name,
      traceId: this.#traceId,
      finish,
      seconds,
      firstTokenSeconds: this.#firstTokenSeconds,
      ...(this.#calls.size > 0 && { calls: [...this.#calls] }),
      ...fields,
      ...(logContent && { messages: this.#turn.messages, written: this.#written }),
    });
  }

  #seconds(): number {
    return (this.#deps.now() - this.#startedAt) / 1000;
  }

  #labels(): { model: string } {
    return { model: this.#model.id };
  }
}

/** How a turn ended. */
interface Ended {
  readonly level?: "info" | "warn";
  readonly usage?: TurnUsage;
  readonly error?: unknown;
}

/** Of one turn, in the log. */
const MAX_CALL_NAMES = 8;
const MAX_CALL_NAME_CHARS = 64;

/** A few, whatever MCP servers call their tools. */
const TOOL_LABELS: Record<ShownCall["type"], string> = {
  search: "browser.search",
  open: "browser.open",
  find: "browser.find",
  code: "python",
  mcp: "mcp",
};

function countEnd(
  model: Model,
  { tenant }: Turn,
  { usage, recoveries }: TurnEnd,
  { meters, keys }: ObserveDeps,
): void {
  const tokens = {
    prompt: usage.promptTokens,
    cached: usage.cachedTokens,
    completion: usage.completionTokens,
    reasoning: usage.reasoningTokens,
  };
  for (const [kind, amount] of Object.entries(tokens)) {
    meters.tokens.add({ model: model.id, kind }, amount);
    if (keys.has(tenant)) meters.keyTokens.add({ key: tenant, kind }, amount);
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
 * An error as log fields. An engine's message can quote a prompt, so it is included only where content is logged; otherwise
 * its length and a hash show whether it is always the same. An unexpected error is logged as its stack without its message.
 */
export function describeForLog(error: unknown, { logContent = false } = {}): LogFields {
  if (error instanceof EngineError) {
    const { kind, backend, status, message, serverMessage } = error;
    const mayQuote = kind === "bad-request" || kind === "context-length";
    return {
      error: kind,
      ...(backend !== undefined && { backend }),
      ...(status !== undefined && { status }),
      ...((logContent || !mayQuote) && { message }),
      ...(serverMessage !== undefined && describeWords(serverMessage, logContent)),
    };
  }
  if (!(error instanceof Error)) return { error: typeof error };
  const frames = error.stack?.split("\n").filter((line) => line.startsWith("    at ")) ?? [];
  return { error: error.name, stack: frames.map((line) => line.trim()) };
}

function describeWords(serverMessage: string, logContent: boolean): LogFields {
  if (logContent) return { serverMessage };
  return { serverMessageLength: serverMessage.length, serverMessageHash: hashWords(serverMessage) };
}
