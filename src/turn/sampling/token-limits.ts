/**
 * Ends each completion of an engine at its limits: the wait for the first token and for each further one, and the number of
 * tokens. They are judged here and nowhere else, on tokens, so that neither pings nor the transport nor the kind of engine makes
 * a difference. Around each backend of a pool, so that a backend that only pings is one that another can replace.
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
  /** The longest wait for the first token, including the server's queue and its work on the prompt, as long as it reports none. */
  readonly firstTokenMs: number;
  /** The longest wait for each further token, while the consumer has room. */
  readonly idleMs: number;
}

export const DEFAULT_TOKEN_LIMITS: TokenLimits = { firstTokenMs: 600_000, idleMs: 300_000 };

/** The same engine, whose completions are held to these limits and to the `maxTokens` of their requests. */
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

/** How many looks at a completion its limit is divided into: it is given up that much later than its limit, at most. */
const LOOKS = 10;
const MAX_STEP_MS = 1000;

class Completion {
  // What each token needs comes first, on neighbouring lines of the cache.
  readonly #consumer: Consumer<EngineEvent>;
  readonly #allowance: TokenAllowance;
  /** Reads with tokens so far. */
  #reads = 0;
  /** Prompt tokens that the engine has reported as processed, before its first token. */
  #processed = 0;
  #isOver = false;
  /** The consumer has no room: the engine cannot be blamed for silence. */
  #isFull = false;
  /** The reads and the progress that the last look at the clock has seen. */
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
   * Settles with the engine's stream, or at once when the completion is given up or aborted: an engine may be deaf to its signal.
   *
   * @param start calls the engine. Not kept: its request would be held as long as the model samples.
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
        // The server works on the prompt, however long it takes.
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
   * Looks at intervals whether tokens have arrived: to restart a timer with each token was a 30th of its instructions. A look that
   * was late because the event loop was blocked counts once.
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

  /** Reads what has arrived first: an event loop that was blocked runs timers before it reads. */
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

/** Nothing was sampled: an engine of one's own may say so instead of nothing. */
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

/** Without a count of more tokens than were requested, which is wrong: ours is used. */
function withoutExcess(finish: EngineFinish, maxTokens: number): EngineFinish {
  const { completionTokens = 0, ...usage } = finish.usage ?? {};
  return completionTokens > maxTokens ? { ...finish, usage } : finish;
}

const no = (): boolean => false;
