/** A backend: one configured engine, and what is known of how it is doing. */
import { Circuit, type CircuitOptions } from "./circuit.ts";
import type { Clock } from "./clock.ts";
import { EngineError } from "./engine-error.ts";
import type { Engine, EngineProbe } from "./engine.ts";

export interface BackendOptions {
  /** Distinguishes it from the others of its pool, in logs and metrics. */
  readonly id: string;
  readonly engine: Engine;
  /** Tokens of prompt and completion together. Absent: what the probe says. */
  readonly contextLength?: number;
  /** Completions it gets at a time; more wait in the gateway. Absent: the server queues by itself. */
  readonly maxConcurrent?: number;
}

/** A snapshot for `/ready`, logs and metrics. */
export interface BackendState {
  readonly id: string;
  /** The kind of server: `vllm`. */
  readonly engine: string;
  /** `unknown`: nobody has asked it anything yet. `down`: it gets a request now and then, to see. */
  readonly health: "unknown" | "up" | "down";
  /** The last failure, while it is not up. */
  readonly reason?: string;
  /** Completions under way. */
  readonly inFlight: number;
  /** Completions so far, by how they ended. */
  readonly succeeded: number;
  readonly failed: number;
  readonly contextLength?: number;
}

export class Backend {
  readonly id: string;
  readonly engine: Engine;
  readonly #options: BackendOptions;
  readonly #clock: Clock;
  readonly #circuit: Circuit;
  #probed: EngineProbe | undefined;
  #heard = false;
  /** The last question was not answered; completions have not failed. */
  #isMissing = false;
  #reason: string | undefined;
  #inFlight = 0;
  #succeeded = 0;
  #failed = 0;
  /** It said that it is busy: others are asked first until then. */
  #restsUntil = 0;

  constructor(options: BackendOptions, clock: Clock, circuit?: CircuitOptions) {
    this.id = options.id;
    this.engine = options.engine;
    this.#options = options;
    this.#clock = clock;
    this.#circuit = new Circuit(circuit);
  }

  get contextLength(): number | undefined {
    return this.#options.contextLength ?? this.#probed?.contextLength;
  }

  /** It has said what it is. */
  get isProbed(): boolean {
    return this.#probed !== undefined;
  }

  /** It has failed too often, or was not there when it was last asked. */
  get isDown(): boolean {
    return this.#circuit.state(this.#clock.now()) !== "closed";
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** It has no more room of its own; somebody has to leave first. */
  get isFull(): boolean {
    return this.#inFlight >= (this.#options.maxConcurrent ?? Infinity);
  }

  /** Its failures are long enough ago to try again, or there were none. */
  get isAdmitting(): boolean {
    return this.#circuit.admits(this.#clock.now());
  }

  get isResting(): boolean {
    return this.#clock.now() < this.#restsUntil;
  }

  /** Milliseconds until `isAdmitting` may turn. */
  get waitMs(): number {
    return this.#circuit.waitMs(this.#clock.now());
  }

  get reason(): string | undefined {
    return this.#reason;
  }

  get state(): BackendState {
    const up = this.#heard ? "up" : "unknown";
    const { contextLength, isDown } = this;
    return {
      id: this.id,
      engine: this.engine.name,
      health: isDown ? "down" : up,
      ...(this.#reason !== undefined && { reason: this.#reason }),
      inFlight: this.#inFlight,
      succeeded: this.#succeeded,
      failed: this.#failed,
      ...(contextLength !== undefined && { contextLength }),
    };
  }

  /** Counts a completion in. To be ended exactly once. */
  begin(): Attempt {
    this.#circuit.enter(this.#clock.now());
    this.#inFlight += 1;
    let ended = false;
    const end = (settle: () => void): void => {
      if (ended) return;
      ended = true;
      this.#inFlight -= 1;
      settle();
    };
    return {
      succeed: () =>
        end(() => {
          this.#succeeded += 1;
          this.#hearGood();
        }),
      fail: (error) =>
        end(() => {
          this.#failed += 1;
          this.#hearBad(error);
        }),
      leave: () => end(() => this.#circuit.leave()),
    };
  }

  /** Asks the engine what it is, and remembers the answer. Throws what the engine throws. */
  async probe(signal: AbortSignal): Promise<EngineProbe> {
    try {
      this.#probed = await this.engine.probe(signal);
    } catch (error) {
      if (!signal.aborted) this.#findMissing(error);
      throw error;
    }
    this.#hearGood();
    return this.#probed;
  }

  /** Asks the server whether it is well, where there is such a question. Never throws. */
  async check(signal: AbortSignal): Promise<void> {
    if (this.engine.check === undefined) return;
    try {
      await this.engine.check(signal);
    } catch (error) {
      if (!signal.aborted) this.#findMissing(error);
      return;
    }
    const now = this.#clock.now();
    // Being there again ends having been missing. That completions go well again, one has to show.
    if (this.#isMissing || this.#circuit.state(now) === "closed") this.#hearGood();
    else this.#circuit.allowTry(now);
  }

  #findMissing(error: unknown): void {
    this.#isMissing = true;
    this.#reason = toReason(error);
    this.#circuit.open(this.#clock.now());
  }

  #hearGood(): void {
    this.#heard = true;
    this.#isMissing = false;
    this.#reason = undefined;
    this.#circuit.succeed();
  }

  #hearBad(error: unknown): void {
    const now = this.#clock.now();
    switch (judge(error)) {
      case "refusal":
        // The request was at fault, the backend is well.
        this.#hearGood();
        break;
      case "busy":
        this.#circuit.leave();
        this.#restsUntil = now + Math.min(toRestMs(error), MAX_REST_MS);
        break;
      case "failure":
        this.#reason = toReason(error);
        this.#circuit.fail(now);
        break;
    }
  }
}

/** One completion at a backend. The first call ends it, further ones do nothing. */
export interface Attempt {
  succeed(): void;
  fail(error: unknown): void;
  /** The client left before it could be seen how the backend is doing. */
  leave(): void;
}

/**
 * Whose fault an error is. A `refusal` would be refused anywhere; `busy` and `failure` may go better
 * elsewhere, and a `failure` speaks against the backend.
 */
export function judge(error: unknown): "refusal" | "busy" | "failure" {
  if (!(error instanceof EngineError)) return "failure";
  switch (error.kind) {
    case "bad-request":
    case "context-length":
      return "refusal";
    case "overloaded":
    case "rate-limit":
      return "busy";
    case "unreachable":
    case "unavailable":
    case "timeout":
    case "auth":
    case "not-found":
    case "server-error":
    case "closed":
      return "failure";
    default:
      return error.kind satisfies never;
  }
}

const DEFAULT_REST_MS = 1_000;
const MAX_REST_MS = 30_000;

function toRestMs(error: unknown): number {
  const seconds = error instanceof EngineError ? error.retryAfter : undefined;
  return seconds === undefined ? DEFAULT_REST_MS : seconds * 1_000;
}

function toReason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
