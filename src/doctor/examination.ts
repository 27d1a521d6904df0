/** The engine under examination: its known properties, and the functions by which checks send requests. */
import { GREEDY_SAMPLING } from "../engines/sampling.ts";
import { type Clock, systemClock, withTimeout } from "../engines/clock.ts";
import { ENGINE_KINDS, type EngineKind } from "../engines/create-engine.ts";
import type { CompletionRequest, Constraint, Engine, EngineProbe } from "../engines/engine.ts";
import type { Sampling } from "../engines/sampling.ts";
import type { EngineError } from "../engines/engine-error.ts";
import type { FoundServer } from "../engines/find-kind.ts";
import type { TokenId } from "../tokenizer/index.ts";
import { type Completion, complete } from "./completion.ts";
import { conversation, FINAL, toIds, toPrompt } from "./prompts.ts";
import type { ServerQuery } from "./server-query.ts";

export interface ExaminationOptions {
  readonly engine: Engine;
  /** The model's name at the server. */
  readonly model: string;
  /** Configured context length, in tokens. */
  readonly contextLength?: number;
  /** Requests other paths of the server. Absent for engines without a server. */
  readonly query?: ServerQuery;
  /** Detects the kind of the server. Absent for engines without a server. */
  readonly findKind?: (signal: AbortSignal) => Promise<FoundServer>;
  /** Number of corpus turns to run. */
  readonly turns: number;
  /** Numbers of concurrent streams in the speed check. */
  readonly streams: readonly number[];
  /** Maximum time in which an abandoned completion may keep its slot. Default: {@link PATIENCE_MS}. */
  readonly patienceMs?: number;
  readonly clock?: Clock;
}

export interface CallOptions {
  readonly maxTokens: number;
  /** Sampling parameters. Default: greedy. */
  readonly sampling?: Partial<Sampling>;
  readonly stopIds?: readonly TokenId[];
  readonly constraint?: Constraint;
  readonly topLogprobs?: number;
  readonly cacheSalt?: string;
  /** Number of tokens after which reading stops. */
  readonly leaveAfter?: number;
  /** Timeout in milliseconds. Default: {@link CALL_MS}. */
  readonly timeoutMs?: number;
}

/** Timeout of a call: a model on a CPU writes a token or two a second under a grammar. */
const CALL_MS = 60_000;
const PATIENCE_MS = 10_000;

export class Examination {
  readonly engine: Engine;
  readonly model: string;
  readonly configuredContext: number | undefined;
  readonly query: ServerQuery | undefined;
  readonly findKind: ExaminationOptions["findKind"];
  readonly turns: number;
  readonly streams: readonly number[];
  readonly patienceMs: number;
  readonly clock: Clock;
  /** The result of the probe. */
  probe: EngineProbe | undefined;
  /** The error of a failed probe. */
  probeError: EngineError | undefined;
  /** The largest number of concurrent streams that the server did not queue, if known. */
  comfortableStreams: number | undefined;
  #bias: Promise<boolean> | undefined;
  #calls = 0;

  constructor(options: ExaminationOptions) {
    this.engine = options.engine;
    this.model = options.model;
    this.configuredContext = options.contextLength;
    this.query = options.query;
    this.findKind = options.findKind;
    this.turns = options.turns;
    this.streams = options.streams;
    this.patienceMs = options.patienceMs ?? PATIENCE_MS;
    this.clock = options.clock ?? systemClock;
  }

  /** Undefined: the kind of the server is unknown. */
  get kind(): EngineKind | undefined {
    return ENGINE_KINDS.find((kind) => kind === this.engine.name);
  }

  /** Context length in tokens. Undefined: neither the settings nor the server define it. */
  get contextLength(): number | undefined {
    const probed = this.probe?.contextLength;
    const configured = this.configuredContext;
    if (probed === undefined || configured === undefined) return configured ?? probed;
    return Math.min(probed, configured);
  }

  /** Runs a completion. Throws an `EngineError`, for instance `timeout`. */
  call(ids: readonly TokenId[], options: CallOptions, signal: AbortSignal): Promise<Completion> {
    const { timeoutMs = CALL_MS, leaveAfter, sampling, stopIds = [], ...rest } = options;
    this.#calls += 1;
    const request: CompletionRequest = {
      ...rest,
      prompt: toPrompt(ids),
      sampling: { ...GREEDY_SAMPLING, ...sampling },
      stopIds,
      requestId: `doctor-${this.#calls}`,
      tenant: "",
    };
    return withTimeout(
      (inner) => complete(this.engine, request, inner, this.clock, leaveAfter),
      { ms: timeoutMs, clock: this.clock },
      signal,
    );
  }

  /** Whether a bias of 100 forces a token. Many checks force a certain token with it. */
  obeysBias(signal: AbortSignal): Promise<boolean> {
    return (this.#bias ??= this.#tryBias(signal));
  }

  async #tryBias(signal: AbortSignal): Promise<boolean> {
    if (!this.engine.capabilities.sampling.includes("logitBias")) return false;
    const [id = 0] = toIds([FORCED]);
    const completion = await this.call(
      conversation("Say hello.", FINAL),
      { maxTokens: 1, sampling: { logitBias: new Map([[id, 100]]) } },
      signal,
    );
    return completion.text.trim() === FORCED.trim();
  }
}

/** A token that no model would choose as an answer. */
const FORCED = " banana";
