/**
 * One completion over several backends. What fails before its first token is tried elsewhere; after it never, because
 * the client has seen the token.
 */
import { consume, type Consumer } from "../../streams/push-stream.ts";
import { EngineError } from "../engine-error.ts";
import type { CompletionRequest, EngineEvent } from "../engine.ts";
import type { Admission, Place } from "./admission.ts";
import type { Backend } from "./backend.ts";
import { judge, type Verdict } from "./judge.ts";
import type { GiveBack, RetryBudget } from "./retry-budget.ts";

export interface FailoverDeps {
  readonly backends: readonly Backend[];
  readonly admission: Admission;
  readonly budget: RetryBudget;
  /** How often one completion is sent to a backend that can be reached. */
  readonly maxAttempts: number;
  readonly onRetry: () => void;
}

export async function completeWithFailover(
  request: CompletionRequest,
  signal: AbortSignal,
  take: Consumer<EngineEvent>,
  deps: FailoverDeps,
): Promise<void> {
  const completion = new Completion(request, signal, take, deps);
  try {
    for (;;) {
      const failed = await completion.attempt();
      if (failed === undefined) return;
      if (failed.isBudgeted && !(await completion.takeBudget())) throw failed.error;
      deps.onRetry();
    }
  } finally {
    completion.end();
  }
}

/** An attempt that another backend may make good. */
interface Failed {
  readonly error: unknown;
  /** Only within the budget: the request may be to blame. */
  readonly isBudgeted: boolean;
}

/** Connections that are refused, and backends that go down first, cost nothing but the try: only a loop has to be avoided. */
const MAX_UNREACHED = 8;

class Completion {
  readonly #request: CompletionRequest;
  readonly #signal: AbortSignal;
  readonly #take: Consumer<EngineEvent>;
  readonly #deps: FailoverDeps;
  readonly #tried = new Set<Backend>();
  #attempts = 0;
  #unreached = 0;
  /** It has spoken against a backend, and does not against a second. */
  #hasSpoken = false;
  /** It has been retried after an error that the request may be to blame for, and is not a second time. */
  #isBudgeted = false;
  #giveBack: GiveBack | undefined;

  constructor(
    request: CompletionRequest,
    signal: AbortSignal,
    take: Consumer<EngineEvent>,
    deps: FailoverDeps,
  ) {
    this.#request = request;
    this.#signal = signal;
    this.#take = take;
    this.#deps = deps;
  }

  /** Runs it at one backend. Throws what that fails with, unless another may do better. */
  async attempt(): Promise<Failed | undefined> {
    const { tenant = "", affinity } = this.#request;
    const place = await this.#deps.admission.enter(
      {
        affinity,
        tried: this.#tried,
        source: { tenant, affinity: affinity ?? "" },
        isRetry: this.#attempts > 0,
      },
      this.#signal,
    );
    this.#attempts += 1;
    const onAbort = (): void => {
      place.attempt.abort(this.#signal.reason);
      // Also while a reader that has left holds up the event in its hands: the connection is closed already.
      place.release();
    };
    try {
      this.#signal.throwIfAborted();
      this.#signal.addEventListener("abort", onAbort, { once: true });
      return await this.#runAt(place);
    } finally {
      this.#signal.removeEventListener("abort", onAbort);
      place.release();
    }
  }

  /** Whether the budget has a retry for it, maybe after waiting for one. */
  async takeBudget(): Promise<boolean> {
    const { tenant = "" } = this.#request;
    this.#isBudgeted = true;
    this.#giveBack = await this.#deps.budget.take(tenant, this.#signal);
    return this.#giveBack !== undefined;
  }

  end(): void {
    this.#giveBack?.();
  }

  async #runAt({ backend, attempt }: Place): Promise<Failed | undefined> {
    let sampled = false;
    try {
      await consume(backend.engine.complete(this.#request, attempt.signal), (event) => {
        if (event.type === "open") return this.#take({ type: "open", engine: backend.engine });
        if (!sampled) {
          sampled = true;
          attempt.begin();
          this.#giveBack?.();
          // The token of a trial makes room for more.
          this.#deps.admission.dispatch();
        }
        return this.#take(event);
      });
      return undefined;
    } catch (error) {
      if (this.#signal.aborted) throw error;
      // An engine may say no more than that it was aborted.
      const failure: unknown = attempt.signal.aborted ? attempt.signal.reason : error;
      if (failure instanceof EngineError) failure.backend ??= backend.id;
      const verdict = judge(failure, sampled);
      const speaks = verdict === "unreached" || verdict === "failed";
      attempt.fail(failure, !(speaks && this.#hasSpoken));
      this.#hasSpoken ||= speaks;
      if (sampled || !this.#mayRetry(backend, failure, verdict)) throw failure;
      return { error: failure, isBudgeted: isAnswered(failure, verdict) };
    }
  }

  #mayRetry(backend: Backend, failure: unknown, verdict: Verdict): boolean {
    if (isUnreached(failure)) {
      this.#unreached += 1;
      if (this.#unreached > MAX_UNREACHED) return false;
      return this.#goElsewhere(backend, (other) => !other.isDown) || this.#tryAgain(failure);
    }
    if (this.#attempts - this.#unreached >= this.#deps.maxAttempts) return false;
    switch (verdict) {
      case "refusal":
        return false;
      case "busy":
      case "unreached":
        return this.#goElsewhere(backend, (other) => !other.isDown);
      case "misconfigured":
      case "failed":
        if (!isAnswered(failure, verdict)) {
          return this.#goElsewhere(backend, (other) => !other.isDown);
        }
        return !this.#isBudgeted && this.#goElsewhere(backend, (other) => other.isAdmitting);
      default:
        return verdict satisfies never;
    }
  }

  /** Whether another backend is left; from now on the one that failed is avoided. */
  #goElsewhere(failed: Backend, isLeft: (other: Backend) => boolean): boolean {
    const others = this.#deps.backends.filter((each) => each !== failed && isLeft(each));
    if (others.length === 0) return false;
    // When all have been tried, one of them may have come back.
    if (others.every((each) => this.#tried.has(each))) this.#tried.clear();
    this.#tried.add(failed);
    return true;
  }

  /** A kept connection may have been closed by the server in the moment it was used again. */
  #tryAgain(failure: unknown): boolean {
    return this.#attempts === 1 && failure instanceof EngineError && failure.kind === "unreachable";
  }
}

/** An error in words, for which the request may be to blame. A stream that is cut before its first token says nothing. */
function isAnswered(failure: unknown, verdict: Verdict): boolean {
  if (failure instanceof EngineError && failure.kind === "closed") return false;
  return verdict === "misconfigured" || verdict === "failed";
}

/** The request has not got there, or the backend is gone before it has begun. */
function isUnreached(failure: unknown): boolean {
  return (
    failure instanceof EngineError &&
    (failure.kind === "unreachable" || failure.kind === "unavailable")
  );
}
