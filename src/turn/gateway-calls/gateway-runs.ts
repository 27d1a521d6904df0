/**
 * Manages the runs of a turn's tools: opened at the first call, limited in number and time, closed however the turn
 * ends.
 */
import type {
  GatewayCall,
  GatewayToolResult,
  GatewayToolRun,
  GatewayTool,
  CitedLines,
  CitedSource,
} from "../../tools/gateway-tool.ts";
import type { Message } from "../../harmony/conversation.ts";
import type { Turn, TurnGatewayTools } from "../turn.ts";
import { unlessAborted } from "../../streams/unless-aborted.ts";

export type RunOutcome =
  | { readonly type: "result"; readonly result: GatewayToolResult }
  /** The limit of calls or of time is reached. */
  | { readonly type: "exhausted" };

export class GatewayToolRuns {
  /** Number of calls. */
  executed = 0;
  /** Number of searches. */
  searches = 0;
  /** Number of opened pages. */
  opens = 0;
  readonly #turn: Turn;
  readonly #gatewayTools: TurnGatewayTools;
  readonly #signal: AbortSignal;
  readonly #runs = new Map<GatewayTool, GatewayToolRun>();
  /** The recipients of deferred functions that the transcript defines. */
  readonly #defined: Set<string>;
  /** Aborted with the turn, and when the time limit for tools is reached. */
  readonly #limit = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(turn: Turn, gatewayTools: TurnGatewayTools, signal: AbortSignal) {
    this.#turn = turn;
    this.#gatewayTools = gatewayTools;
    this.#signal = signal;
    this.#defined = new Set(gatewayTools.deferred?.defined);
  }

  /** The tool of a call. Undefined: none accepts it. */
  find(recipient: string): GatewayTool | undefined {
    return this.#gatewayTools.tools.find((tool) => tool.accepts(recipient));
  }

  /** Rejects only when the signal is aborted. */
  async run(tool: GatewayTool, call: GatewayCall): Promise<RunOutcome> {
    const { maxCalls } = this.#gatewayTools;
    if (this.executed >= maxCalls || this.#limit.signal.aborted) return { type: "exhausted" };
    this.executed++;
    const counted = tool.countsAs?.(call.recipient);
    if (counted === "search") this.searches++;
    if (counted === "open") this.opens++;
    this.#startClock();
    try {
      // A tool may be slow to react to the signal: the turn does not wait for it.
      const result = await unlessAborted(this.#call(tool, call), this.#limit.signal);
      return { type: "result", result };
    } catch {
      this.#signal.throwIfAborted();
      const isOver = this.#limit.signal.aborted;
      const text = isOver ? OUT_OF_TIME : FAILED;
      const shown = tool.describe(call, text);
      const reason = isOver ? ({ reason: "timeout" } as const) : {};
      return { type: "result", result: { text, failed: true, shown, ...reason } };
    }
  }

  /**
   * The developer message after the result of a call: it defines the functions that the call makes known. Undefined:
   * there are none.
   */
  define(recipient: string, result: string): Message | undefined {
    const { functions } = this.#gatewayTools.deferred ?? {};
    return functions?.define(functions.recipientsOf(recipient, result), this.#defined);
  }

  cite(cursor: number, lines?: CitedLines): CitedSource | undefined {
    for (const run of this.#runs.values()) {
      const source = run.cite?.(cursor, lines);
      if (source !== undefined) return source;
    }
    return undefined;
  }

  /** The tool's state that the next turn of the conversation needs. */
  saveOne(tool: GatewayTool): string | undefined {
    const state = this.#runs.get(tool)?.save();
    return state !== undefined && state.length <= MAX_STATE_LENGTH ? state : undefined;
  }

  /** The saved states by tool name. Empty: no calls were made and no state was saved. */
  save(): ReadonlyMap<string, string> {
    const states = new Map(this.#gatewayTools.saved);
    for (const tool of this.#runs.keys()) {
      const state = this.saveOne(tool);
      if (state === undefined) states.delete(tool.name);
      else states.set(tool.name, state);
    }
    return states;
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    this.#signal.removeEventListener("abort", this.#abort);
    this.#limit.abort();
    const runs = [...this.#runs.values()];
    this.#runs.clear();
    // A failure to close a tool must not fail a turn that has succeeded.
    await Promise.allSettled(runs.map((run) => run.close()));
  }

  async #call(tool: GatewayTool, call: GatewayCall): Promise<GatewayToolResult> {
    const run = this.#runs.get(tool) ?? (await this.#open(tool));
    return run.run(call, this.#limit.signal);
  }

  async #open(tool: GatewayTool): Promise<GatewayToolRun> {
    const { tenant, id } = this.#turn;
    const run = await tool.open({
      tenant,
      turnId: id,
      saved: this.#gatewayTools.saved?.get(tool.name),
      signal: this.#limit.signal,
    });
    if (this.#limit.signal.aborted) await run.close();
    else this.#runs.set(tool, run);
    return run;
  }

  #startClock(): void {
    if (this.executed > 1) return;
    if (this.#signal.aborted) this.#abort();
    this.#signal.addEventListener("abort", this.#abort, { once: true });
    const { timeoutMs } = this.#gatewayTools;
    if (timeoutMs !== undefined) {
      this.#timer = setTimeout(() => this.#limit.abort(new Error("out of time")), timeoutMs);
    }
  }

  readonly #abort = (): void => this.#limit.abort(this.#signal.reason);
}

/** The limit documented at `GatewayToolRun.save`. */
const MAX_STATE_LENGTH = 1_048_576;

const OUT_OF_TIME = "Error: the time for tool calls is over. Answer now.";
/** The result for the model. The reason may contain addresses or keys, so only the operator sees it. */
const FAILED = "Error: the tool failed.";
