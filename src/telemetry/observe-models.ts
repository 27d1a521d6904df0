/** Metrics and log entries of requests and turns. The module only observes: no behaviour depends on it. */
import type { Model } from "../models/models.ts";
import type { ShownCall } from "../tools/gateway-tool.ts";
import type { Part, Turn, TurnEnd, TurnEvent, TurnUsage } from "../turn/turn.ts";
import { describeForLog } from "./describe-for-log.ts";
import { observeGenAi, observeTool } from "./gen-ai-metrics.ts";
import type { Log, LogFields } from "./log.ts";
import type { Meters } from "./meters.ts";
import { currentTraceId } from "./tracing/tracer.ts";
import type { BeginWatch, TurnOutcome, TurnWatch } from "./watch-turns.ts";

export interface ObserveDeps {
  readonly meters: Meters;
  readonly log: Log;
  /** Monotonic time in milliseconds; only differences are used. */
  readonly now: () => number;
  /** Whether prompts and answers are logged too. */
  readonly logContent: boolean;
  /** The names of keys with token counts of their own. */
  readonly keys: ReadonlySet<string>;
}

/** Counts and logs turns. */
export function observeTurns(deps: ObserveDeps): BeginWatch {
  return (model, turn) => new TurnObserver(model, turn, deps);
}

class TurnObserver implements TurnWatch {
  readonly #model: Model;
  readonly #turn: Turn;
  readonly #deps: ObserveDeps;
  readonly #startedAt: number;
  readonly #traceId = currentTraceId();
  #firstTokenSeconds: number | undefined;
  /** The output by parts, kept only if content is logged. */
  readonly #written: { kind: string; text: string }[] = [];
  readonly #logsContent: boolean;
  /** Names of the tools that were called. */
  readonly #calls = new Set<string>();
  #isOver = false;
  /** Time at which the last part ended. If the part calls a tool of the gateway, the tool has been running since then. */
  #partEndedAt = 0;

  constructor(model: Model, turn: Turn, deps: ObserveDeps) {
    this.#model = model;
    this.#turn = turn;
    this.#deps = deps;
    this.#startedAt = deps.now();
    this.#logsContent = deps.logContent && !turn.isPrivate;
    deps.meters.turnsInFlight.add(1);
  }

  over(outcome: TurnOutcome, error?: unknown): void {
    if (outcome === "cancelled") this.#end(outcome, {});
    else {
      const level = outcome === "failed" ? "warn" : "info";
      this.#end(outcome, describeForLog(error, { logContent: this.#logsContent }), {
        level,
        error,
      });
    }
  }

  see(event: TurnEvent): void {
    this.#note(event);
    if (this.#logsContent) this.#keep(event);
  }

  #note(event: TurnEvent): void {
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
      this.#countTrained(event);
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

  /** Notes the name of a call. Names that were not offered are text of the model. */
  #noteCall(name: string): void {
    if (this.#calls.size >= MAX_CALL_NAMES || name.length > MAX_CALL_NAME_CHARS) return;
    const isOffered = this.#turn.tools.some((tool) => (tool.mapped ?? tool).name === name);
    if (isOffered) this.#calls.add(name);
  }

  /**
   * Counts calls that were explained to the model, and earlier ones without a trained form. Other calls are counted when they
   * begin.
   */
  #countTrained({ invalidCalls = [] }: TurnEnd): void {
    const { trainedCalls } = this.#deps.meters;
    for (const tool of invalidCalls) trainedCalls.add({ tool, outcome: "invalid" });
    for (const tool of this.#turn.unwrittenCalls ?? []) {
      trainedCalls.add({ tool, outcome: "inverse-missing" });
    }
  }

  #seeStart(part: Part): void {
    const { meters } = this.#deps;
    if (part.kind === "tool-call") this.#noteCall(part.name);
    if (part.kind === "tool-call" && part.trained !== undefined) {
      const { tool, outcome } = part.trained;
      meters.trainedCalls.add({ tool, outcome });
    }
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
    const { log, meters } = this.#deps;
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
      ...(this.#logsContent && { messages: this.#turn.prompt.messages, written: this.#written }),
    });
  }

  #seconds(): number {
    return (this.#deps.now() - this.#startedAt) / 1000;
  }

  #labels(): { model: string } {
    return { model: this.#model.id };
  }
}

/** The end of a turn. */
interface Ended {
  readonly level?: "info" | "warn";
  readonly usage?: TurnUsage;
  readonly error?: unknown;
}

/** Maximum call names of one turn in the log. */
const MAX_CALL_NAMES = 8;
const MAX_CALL_NAME_CHARS = 64;

/** A fixed set of labels, instead of tool names from MCP servers. */
const TOOL_LABELS: Record<ShownCall["type"], string> = {
  search: "browser.search",
  open: "browser.open",
  find: "browser.find",
  code: "python",
  mcp: "mcp",
  tools: "tool_search",
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

function toEndFields({ failure, nativeReason, usage, recoveries }: TurnEnd): LogFields {
  return {
    ...(failure && { error: failure.kind }),
    nativeReason,
    ...usage,
    ...(recoveries.size > 0 && { recoveries: Object.fromEntries(recoveries) }),
  };
}
