/**
 * Ends each completion of an engine at its limits: the wait for the first token and for each further one, and the
 * number of tokens. Limits are judged only here and only by tokens, so that pings, the transport and the kind of engine
 * make no difference. They wrap each backend of a pool, so that another backend can replace one that only pings.
 */
import { type Clock, systemClock } from "../../engines/clock.ts";
import { EngineError } from "../../engines/engine-error.ts";
import type { Engine, EngineEvent, EngineFinish, EngineTokens } from "../../engines/engine.ts";
import {
  andThen,
  consume,
  type Consumer,
  createPushStream,
  type Demand,
} from "../../streams/push-stream.ts";
import { TokenAllowance } from "./token-allowance.ts";

export interface TokenLimits {
  /**
   * The longest wait for the first token, including the server's queue and, unless it reports progress, its work on the
   * prompt.
   */
  readonly firstTokenMs: number;
  /** The longest wait for each further token, while the consumer has room. */
  readonly idleMs: number;
}

export const DEFAULT_TOKEN_LIMITS: TokenLimits = { firstTokenMs: 600_000, idleMs: 300_000 };

/** Wraps an engine and ends its completions at these limits and at the `maxTokens` of their requests. */
export function limitTokens(
  engine: Engine,
  limits: TokenLimits = DEFAULT_TOKEN_LIMITS,
  clock: Clock = systemClock,
): Engine {
  return {
    get name() {
      return engine.name;
    },
    get capabilities() {
      return engine.capabilities;
    },
    probe: (signal) => engine.probe(signal),
    ...(engine.check !== undefined && {
      check: async (signal: AbortSignal) => engine.check?.(signal),
    }),
    complete: (request, signal) =>
      createPushStream((consumer) => {
        const completion = new Completion({ limits, clock, engine }, request.maxTokens, consumer);
        return completion.run((until) => engine.complete(request, until), signal);
      }),
  };
}

interface CompletionDeps {
  readonly limits: TokenLimits;
  readonly clock: Clock;
  readonly engine: Pick<Engine, "name">;
}

/** Number of looks per limit. A completion is ended at most one look later than its limit. */
const LOOKS = 10;
const MAX_STEP_MS = 1000;

class Completion {
  // The fields needed for each token come first, on neighbouring cache lines.
  readonly #consumer: Consumer<EngineEvent>;
  readonly #allowance: TokenAllowance;
  /** Number of reads with tokens so far. */
  #reads = 0;
  /** Prompt tokens that the engine has reported as processed, before its first token. */
  #processed = 0;
  #isOver = false;
  /** Whether the consumer has no room, so that silence is not the engine's fault. */
  #isFull = false;
  /** The sum of reads and progress at the last look. */
  #seen = 0;
  #silentMs = 0;
  readonly #deps: CompletionDeps;
  readonly #maxTokens: number;
  readonly #abort = new AbortController();
  readonly #ended = Promise.withResolvers<void>();
  #stopClock: () => void = () => undefined;

  constructor(deps: CompletionDeps, maxTokens: number, consumer: Consumer<EngineEvent>) {
    this.#deps = deps;
    this.#maxTokens = maxTokens;
    this.#allowance = new TokenAllowance(maxTokens);
    this.#consumer = consumer;
  }

  /**
   * Settles with the engine's stream, or at once when the completion is ended or aborted, because an engine may ignore
   * its signal.
   *
   * @param start calls the engine. It is not stored, because its request would be retained as long as the model
   * samples.
   */
  async run(
    start: (signal: AbortSignal) => AsyncIterable<EngineEvent>,
    signal: AbortSignal,
  ): Promise<void> {
    signal.throwIfAborted();
    const leave = (): void => this.#giveUp(signal.reason);
    signal.addEventListener("abort", leave, { once: true });
    this.#scheduleLook();
    try {
      consume(start(this.#abort.signal), this.#take).then(this.#ended.resolve, this.#ended.reject);
      await this.#ended.promise;
    } finally {
      this.#isOver = true;
      this.#stopClock();
      signal.removeEventListener("abort", leave);
    }
  }

  readonly #take = (event: EngineEvent): Demand => {
    if (this.#isOver) return false;
    switch (event.type) {
      case "open":
        return this.#deliver(event);
      case "progress":
        // While the server reports progress with the prompt, the wait is not limited.
        if (this.#reads === 0) this.#processed = Math.max(this.#processed, event.processed);
        return this.#deliver(event);
      case "finish":
        return this.#deliver(withoutExcess(event, this.#maxTokens));
      case "ids":
      case "pieces":
      case "text":
        return this.#takeTokens(event);
      default:
        return event satisfies never;
    }
  };

  #takeTokens(tokens: EngineTokens): Demand {
    if (!isEmpty(tokens)) this.#reads += 1;
    const allowed = this.#allowance.take(tokens);
    if (allowed === tokens) return this.#deliver(tokens);
    // The engine has sent more than the request or the context allows.
    const delivered = allowed === undefined || this.#deliver(allowed);
    return andThen(
      andThen(delivered, () => this.#deliver(CUT)),
      no,
    );
  }

  #deliver(event: EngineEvent): Demand {
    const demand = this.#consumer(event);
    return typeof demand === "boolean" ? demand : this.#waitForRoom(demand);
  }

  async #waitForRoom(demand: Promise<boolean>): Promise<boolean> {
    this.#isFull = true;
    try {
      return await demand;
    } finally {
      this.#isFull = false;
      this.#silentMs = 0;
    }
  }

  /**
   * Checks at intervals whether tokens have arrived: restarting a timer with each token took a 30th of its
   * instructions. A look delayed by a blocked event loop counts once.
   */
  #scheduleLook(): void {
    const { clock, limits } = this.#deps;
    const limitMs = this.#reads === 0 ? limits.firstTokenMs : limits.idleMs;
    const stepMs = Math.min(Math.ceil(limitMs / LOOKS), MAX_STEP_MS);
    this.#stopClock = clock.after(stepMs, () => {
      const isSilent = this.#seen === this.#signs && !this.#isFull;
      this.#silentMs = isSilent ? this.#silentMs + stepMs : 0;
      this.#seen = this.#signs;
      if (this.#silentMs >= limitMs) this.#confirmSilence();
      else this.#scheduleLook();
    });
  }

  get #signs(): number {
    return this.#reads + this.#processed;
  }

  /** Reads arrived data before the silence is confirmed: an event loop that was blocked runs timers before it reads. */
  #confirmSilence(): void {
    const { clock, engine, limits } = this.#deps;
    this.#stopClock = clock.after(0, () => {
      if (this.#seen !== this.#signs || this.#silentMs === 0) return this.#scheduleLook();
      this.#giveUp(
        new EngineError(
          "timeout",
          this.#reads === 0
            ? `${engine.name} gave no token within ${limits.firstTokenMs} ms. It may be overloaded or hung.`
            : `${engine.name} gave no further token within ${limits.idleMs} ms.`,
        ),
      );
    });
  }

  #giveUp(reason: unknown): void {
    this.#isOver = true;
    this.#abort.abort(reason);
    this.#ended.reject(reason);
  }
}

/** Whether nothing was sampled. A custom engine may send empty tokens. */
function isEmpty(tokens: EngineTokens): boolean {
  switch (tokens.type) {
    case "ids":
      return tokens.ids.length === 0;
    case "pieces":
      return tokens.pieces.length === 0;
    case "text":
      return tokens.text === "";
    default:
      return tokens satisfies never;
  }
}

const CUT: EngineFinish = { type: "finish", reason: "length", nativeReason: null };

/** Removes an engine's count that exceeds the requested tokens, so that the gateway's own count is used. */
function withoutExcess(finish: EngineFinish, maxTokens: number): EngineFinish {
  const { completionTokens = 0, ...usage } = finish.usage ?? {};
  return completionTokens > maxTokens ? { ...finish, usage } : finish;
}

const no = (): boolean => false;
