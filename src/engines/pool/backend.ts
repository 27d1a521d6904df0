/** A backend: one configured engine and its health. */
import type { BreakerOptions, Evidence } from "./breaker.ts";
import { type Clock, type Timeout, withTimeout } from "../clock.ts";
import { EngineError } from "../engine-error.ts";
import type { Engine, EngineProbe } from "../engine.ts";
import { classifyError, describeKind, type FailureKind } from "./error-class.ts";
import {
  type BackendCounts,
  type BackendHealth,
  type BackendLoad,
  createBackendCounts,
  createHealth,
  type Slots,
} from "./backend-load.ts";
import type { Source } from "./outcomes.ts";

export interface BackendOptions {
  /** Distinguishes the backend from others of its pool, in logs and metrics. */
  readonly id: string;
  readonly engine: Engine;
  /** Tokens of prompt and completion together. Absent: as found by the probe. */
  readonly contextLength?: number;
  /** The server with the slots. Default: a separate one, by the id. */
  readonly server?: string;
  /** Maximum in-flight completions; further ones are queued in the gateway. Absent: unlimited, the server queues. */
  readonly maxConcurrent?: number;
  /** Health of the same backend under other settings, which this one continues. Absent: unknown. */
  readonly health?: BackendHealth;
}

/** A snapshot for `/ready`, logs and metrics. */
export interface BackendState {
  readonly id: string;
  /** The kind of server: `vllm`. */
  readonly engine: string;
  /**
   * `unknown`: no request or check so far. `degraded`: the backend fails but still gets requests, because it is the last one, is
   * recovering, or refuses the key or the model. `down`: it gets no requests.
   */
  readonly health: "unknown" | "up" | "degraded" | "down";
  /** The kind of the last failure, unless the backend is up. The server's message is left out, as it may quote a prompt. */
  readonly reason?: FailureKind;
  /** The last failure, kept after recovery, and the time since. */
  readonly lastFailure?: { readonly kind: FailureKind; readonly msAgo: number };
  /** In-flight completions. */
  readonly inFlight: number;
  /** Completions so far, by result. */
  readonly succeeded: number;
  readonly failed: number;
  /** Number of times the circuit breaker has opened. */
  readonly ejections: number;
  readonly contextLength?: number;
  /** Set if the server does not know the path of its health check: a sentence for the operator that names it. */
  readonly missingCheck?: string;
}

/** One completion at a backend. It is in flight until `fail` or `end`; later calls do nothing. */
export interface Attempt {
  /** Aborts when `abort` is called, or when the backend goes down before its first token. */
  readonly signal: AbortSignal;
  abort(reason: unknown): void;
  /** The first token has arrived. */
  begin(): void;
  /** @param counts whether the failure counts against the backend: a request that fails everywhere counts against one backend only. */
  fail(error: unknown, counts: boolean): void;
  /** The completion ended without a failure: it is complete, or the client disconnected. */
  end(): void;
}

/** A healthy server answers a health check at once. */
const CHECK_TIMEOUT_MS = 3_000;
/** Timeout of a probe, which samples a token and may have to queue at the server. */
const PROBE_TIMEOUT_MS = 30_000;
/** Failed health checks in a row after which a backend is down. */
const CHECKS_TO_DOWN = 2;

export class Backend {
  readonly id: string;
  readonly engine: Engine;
  readonly #options: BackendOptions;
  readonly #clock: Clock;
  readonly #isLast: () => boolean;
  readonly #health: BackendHealth;
  readonly #counts: BackendCounts;
  readonly #slots: Slots;

  /**
   * @param isLast whether no other backend is available.
   * @param load load that this backend continues.
   */
  constructor(
    options: BackendOptions,
    clock: Clock,
    breaker?: BreakerOptions,
    isLast: () => boolean = () => false,
    { counts, slots }: BackendLoad = { counts: createBackendCounts(), slots: { inFlight: 0 } },
  ) {
    this.id = options.id;
    this.engine = options.engine;
    this.#options = options;
    this.#clock = clock;
    this.#isLast = isLast;
    this.#counts = counts;
    this.#slots = slots;
    slots.max ??= options.maxConcurrent ?? Infinity;
    this.#health = options.health ?? createHealth(counts, breaker);
    this.#health.isLast ??= isLast;
  }

  get contextLength(): number | undefined {
    return this.#options.contextLength ?? this.#health.probed?.contextLength;
  }

  /** Applies the backend's limit, and the number of backends in its own pool. */
  enforce(): void {
    this.#health.isLast = this.#isLast;
    this.#slots.max = this.#options.maxConcurrent ?? Infinity;
  }

  /** The health checks have failed: the backend gets no requests. */
  get isDown(): boolean {
    return this.#health.failedChecks >= CHECKS_TO_DOWN;
  }

  /** The last health check has failed. */
  get hasFailedCheck(): boolean {
    return this.#health.failedChecks > 0;
  }

  /** The error of the last check or probe, for the operator. Undefined after a success. */
  get checkFailure(): string | undefined {
    return this.hasFailedCheck ? this.#health.checkFailure : undefined;
  }

  /** The result of the last probe. Undefined: no probe was answered, or the backend is down. */
  get found(): EngineProbe | undefined {
    return this.isDown ? undefined : this.#health.probed;
  }

  /** The backend is neither down nor ejected. */
  get isStanding(): boolean {
    return !this.isDown && this.#health.breaker.state(this.#clock.now()) === "closed";
  }

  /** The backend accepts requests, if it has a free slot. */
  get isAdmitting(): boolean {
    return !this.isDown && this.#health.breaker.admits(this.#clock.now());
  }

  /** A health check is not enough: the backend must sample a token to prove that it works. */
  get needsProbe(): boolean {
    return (
      this.#health.probed === undefined ||
      this.#health.isMisconfigured ||
      this.#health.breaker.isDoubtful ||
      !this.isStanding
    );
  }

  get inFlight(): number {
    return this.#slots.inFlight;
  }

  /** All slots are in use. */
  get isFull(): boolean {
    return this.#slots.inFlight >= (this.#slots.max ?? Infinity);
  }

  /** Other backends are preferred. */
  get isResting(): boolean {
    return (
      this.#clock.now() < this.#health.restsUntil ||
      this.#health.failedChecks > 0 ||
      this.#health.isMisconfigured
    );
  }

  /** Milliseconds until `isAdmitting` may become true. */
  get waitMs(): number {
    return this.#health.breaker.waitMs(this.#clock.now());
  }

  get state(): BackendState {
    const { contextLength } = this;
    const failure = this.#health.lastFailure;
    return {
      id: this.id,
      engine: this.engine.name,
      health: this.#describeHealth(),
      ...(this.#health.reason !== undefined && { reason: this.#health.reason }),
      ...(failure && {
        lastFailure: { kind: failure.kind, msAgo: this.#clock.now() - failure.at },
      }),
      inFlight: this.inFlight,
      succeeded: this.#counts.succeeded,
      failed: this.#counts.failed,
      ejections: this.#health.breaker.ejections,
      ...(contextLength !== undefined && { contextLength }),
      ...(this.#health.missingCheck !== undefined && { missingCheck: this.#health.missingCheck }),
    };
  }

  #describeHealth(): BackendState["health"] {
    if (this.isDown) return "down";
    const isOut = this.#health.breaker.state(this.#clock.now()) !== "closed";
    const isDoubtful = this.#health.breaker.isDoubtful || this.#health.isMisconfigured;
    if (isOut && !isDoubtful && !this.#isLast()) return "down";
    if (isOut || isDoubtful) return "degraded";
    return this.#health.heard ? "up" : "unknown";
  }

  /** Registers an in-flight completion. The caller must call `fail` or `end`. */
  begin(source: Source): Attempt {
    const passage = this.#health.breaker.enter(this.#clock.now());
    const controller = new AbortController();
    this.#slots.inFlight += 1;
    this.#health.unbegun.add(controller);
    let ended = false;
    const end = (evidence: Evidence): void => {
      ended = true;
      this.#slots.inFlight -= 1;
      this.#health.unbegun.delete(controller);
      this.#health.breaker.end(this.#clock.now(), passage, evidence, source);
    };
    return {
      signal: controller.signal,
      abort: (reason) => controller.abort(reason),
      begin: () => {
        if (ended) return;
        this.#health.unbegun.delete(controller);
        this.#health.isMisconfigured = false;
        this.#health.breaker.begin(passage);
        this.#hear();
      },
      fail: (error, counts) => {
        if (ended) return;
        // A key's own limit is not a failure of the backend.
        if (!(error instanceof EngineError && error.kind === "tenant-limit")) {
          this.#counts.failed += 1;
        }
        const evidence = this.#toEvidence(error, !this.#health.unbegun.has(controller));
        end(counts ? evidence : "unclear");
      },
      end: () => {
        if (ended) return;
        // A token proves that the backend works.
        if (this.#health.unbegun.has(controller)) return end("unclear");
        this.#counts.succeeded += 1;
        end("served");
        this.#hear();
      },
    };
  }

  /** Probes the engine and keeps the result. Rethrows its error. */
  async probe(signal: AbortSignal): Promise<EngineProbe> {
    const ask = (limited: AbortSignal) => this.engine.probe(limited);
    try {
      this.#health.probed = await withTimeout(ask, this.#within(PROBE_TIMEOUT_MS), signal);
    } catch (error) {
      if (!signal.aborted) this.#failCheck(error);
      throw error;
    }
    this.#health.failedChecks = 0;
    this.#health.isMisconfigured = false;
    this.#health.breaker.close();
    this.#hear();
    return this.#health.probed;
  }

  /** Milliseconds until the monitor's next check at this interval, which a reload does not advance. */
  msUntilAsked(everyMs: number): number {
    const { askedAt } = this.#health;
    return askedAt === undefined ? 0 : askedAt + everyMs - this.#clock.now();
  }

  /** Notes a check of the monitor. */
  noteAsked(): void {
    this.#health.askedAt = this.#clock.now();
  }

  /** Runs a health check, if the engine has one. Never throws: the result is in `state`. */
  async check(signal: AbortSignal): Promise<void> {
    const { engine } = this;
    if (engine.check === undefined) return;
    const askedAt = this.#clock.now();
    try {
      const ask = async (limited: AbortSignal) => engine.check?.(limited);
      await withTimeout(ask, this.#within(CHECK_TIMEOUT_MS), signal);
    } catch (error) {
      // A proxy may forward other paths only. The health is then unknown: requests decide.
      if (isMissing(error)) {
        this.#health.missingCheck = error.message;
        return;
      }
      // A loaded server may be slow to answer the check. Requests answered meanwhile are better evidence.
      const isOnlySlow = toFailureKind(error) === "timeout" && this.#health.heardAt > askedAt;
      if (!signal.aborted && !isOnlySlow) this.#failCheck(error);
      return;
    }
    this.#health.missingCheck = undefined;
    // The server is reachable again, so it is no longer down. A trial must prove that it completes requests.
    if (this.isDown) this.#health.breaker.close();
    this.#health.failedChecks = 0;
    if (this.isStanding) this.#hear();
    else this.#health.breaker.allowTrial(this.#clock.now());
  }

  #within(ms: number): Timeout {
    return { ms, clock: this.#clock };
  }

  #failCheck(error: unknown): void {
    const reason = this.#noteFailure(error);
    this.#health.checkFailure = error instanceof EngineError ? error.operatorMessage : undefined;
    // A single failed check is tolerated, except for a backend that has never answered.
    this.#health.failedChecks = this.#health.heard ? this.#health.failedChecks + 1 : CHECKS_TO_DOWN;
    if (!this.isDown) return;
    const down = new EngineError(
      "unavailable",
      `The backend ${this.id} went down (${describeKind(reason)}) before it began to answer.`,
      { retryAfter: 1 },
    );
    for (const controller of this.#health.unbegun) controller.abort(down);
  }

  #noteFailure(error: unknown): FailureKind {
    const kind = toFailureKind(error);
    this.#health.reason = kind;
    this.#health.lastFailure = { kind, at: this.#clock.now() };
    return kind;
  }

  #hear(): void {
    this.#health.heard = true;
    this.#health.heardAt = this.#clock.now();
    if (this.isStanding && this.#health.failedChecks === 0 && !this.#health.isMisconfigured) {
      this.#health.reason = undefined;
    }
  }

  #toEvidence(error: unknown, began: boolean): Evidence {
    const errorClass = classifyError(error, began);
    switch (errorClass) {
      case "refusal":
        // The request was at fault; the backend answered.
        this.#hear();
        return "unclear";
      case "busy":
        this.#health.restsUntil = this.#clock.now() + Math.min(toRestMs(error), MAX_REST_MS);
        return "unclear";
      case "misconfigured":
        this.#noteFailure(error);
        this.#health.isMisconfigured = true;
        return "unclear";
      case "unreached":
      case "failed":
        this.#noteFailure(error);
        return errorClass;
      default:
        return errorClass satisfies never;
    }
  }
}

const DEFAULT_REST_MS = 1_000;
const MAX_REST_MS = 30_000;

function toRestMs(error: unknown): number {
  const seconds = error instanceof EngineError ? error.retryAfter : undefined;
  return seconds === undefined ? DEFAULT_REST_MS : seconds * 1_000;
}

function toFailureKind(error: unknown): FailureKind {
  return error instanceof EngineError ? error.kind : "internal";
}

function isMissing(error: unknown): error is EngineError {
  return error instanceof EngineError && error.kind === "not-found";
}
