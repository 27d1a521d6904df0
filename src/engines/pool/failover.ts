/**
 * Runs one completion, with failover between backends. A failure before the first token is retried on another backend; a later
 * failure is not, because the client has seen the token.
 */
import {
  consume,
  type Consumer,
  createPushStream,
  type PushStream,
} from "../../streams/push-stream.ts";
import type { Clock } from "../clock.ts";
import { EngineError } from "../engine-error.ts";
import type { CompletionRequest, EngineEvent } from "../engine.ts";
import type { FindPlace, Place } from "./admission.ts";
import type { Backend } from "./backend.ts";
import { classifyError, type ErrorClass } from "./error-class.ts";
import { ReadAhead } from "./read-ahead.ts";
import type { PoolLoad } from "./load.ts";
import type { ReleaseRetry } from "./retry-budget.ts";

export interface FailoverDeps {
  readonly backends: readonly Backend[];
  readonly load: PoolLoad;
  readonly find: FindPlace;
  /** Maximum attempts of one completion at reachable backends. */
  readonly maxAttempts: number;
  readonly clock: Clock;
}

/** Runs the completion. The request is released at its first token, after which there is no retry. */
export function completeWithFailover(
  request: CompletionRequest,
  signal: AbortSignal,
  deps: FailoverDeps,
): PushStream<EngineEvent> {
  const completion = new Completion(request, signal, deps);
  return createPushStream((consumer) => completion.run(consumer));
}

/** A failed attempt that may be retried. */
interface Failed {
  readonly error: unknown;
  /** The retry needs room in the retry budget: the request may be the cause of the failure. */
  readonly isBudgeted: boolean;
}

const NONE: ReadonlySet<Backend> = new Set();

/** Attempts that never reached a backend are cheap; the limit only prevents an endless loop. */
const MAX_UNREACHED = 8;

class Completion {
  /** Undefined after the first token. */
  #request: CompletionRequest | undefined;
  readonly #tenant: string;
  readonly #affinity: string | undefined;
  readonly #onAttempt: CompletionRequest["onAttempt"];
  readonly #signal: AbortSignal;
  readonly #deps: FailoverDeps;
  #tried: ReadonlySet<Backend> = NONE;
  #attempts = 0;
  #unreached = 0;
  /** A failure of this completion has counted against a backend; further ones do not count. */
  #hasSpoken = false;
  /** The completion has used its one retry from the retry budget. */
  #isBudgeted = false;
  #releaseRetry: ReleaseRetry | undefined;

  constructor(request: CompletionRequest, signal: AbortSignal, deps: FailoverDeps) {
    this.#request = request;
    this.#tenant = request.tenant ?? "";
    this.#affinity = request.affinity;
    this.#onAttempt = request.onAttempt;
    this.#signal = signal;
    this.#deps = deps;
  }

  async run(consumer: Consumer<EngineEvent>): Promise<void> {
    try {
      for (;;) {
        const failed = await this.#attempt(consumer);
        if (failed === undefined) return;
        if (failed.isBudgeted && !(await this.#acquireRetry())) throw failed.error;
        this.#deps.load.retries += 1;
      }
    } finally {
      this.#releaseRetry?.();
    }
  }

  /** Runs the completion at one backend. Returns a failure that may be retried and throws any other. */
  async #attempt(consumer: Consumer<EngineEvent>): Promise<Failed | undefined> {
    const place = await this.#enter();
    const { load, clock } = this.#deps;
    const ahead = new ReadAhead(consumer, {
      clock,
      isSlotWanted: () => load.admission.queued > 0,
      stop: () => place.attempt.abort(undefined),
    });
    const onAbort = (): void => {
      place.attempt.abort(this.#signal.reason);
      ahead.drop(this.#signal.reason);
      // The place is released at once, even if the consumer has not returned from its last event: the connection is already
      // closed.
      place.release();
    };
    let sampled = false;
    try {
      this.#signal.throwIfAborted();
      this.#onAttempt?.({ type: "attempt", backend: place.backend.id });
      this.#signal.addEventListener("abort", onAbort, { once: true });
      const { backend, attempt } = place;
      await consume(this.#completeAt(backend, attempt.signal), (event) => {
        if (event.type === "open") return ahead.take({ type: "open", engine: backend.engine });
        if (!sampled && event.type !== "progress") {
          sampled = true;
          this.#begin(place);
        }
        return ahead.take(event);
      });
      return undefined;
    } catch (error) {
      return ahead.isStopped ? undefined : this.#classifyError(place, error, sampled);
    } finally {
      place.release();
      await ahead.end().finally(() => this.#signal.removeEventListener("abort", onAbort));
    }
  }

  /** Returns whether the retry budget allows a retry, after waiting for one if necessary. */
  async #acquireRetry(): Promise<boolean> {
    this.#isBudgeted = true;
    this.#releaseRetry = await this.#deps.load.budget.acquire(this.#tenant, this.#signal);
    return this.#releaseRetry !== undefined;
  }

  #completeAt(backend: Backend, signal: AbortSignal): AsyncIterable<EngineEvent> {
    const request = this.#request;
    if (request === undefined) throw new Error("a completion is sent again after its first token");
    return backend.engine.complete(request, signal);
  }

  #enter(): Promise<Place> {
    const affinity = this.#affinity;
    const isRetry = this.#attempts > 0;
    this.#attempts += 1;
    const source = { tenant: this.#tenant, affinity: affinity ?? "" };
    const wish = { affinity, tried: this.#tried, source, isRetry };
    const { load, find } = this.#deps;
    return load.admission.enter(wish, find, this.#signal);
  }

  /** The first token has arrived. */
  #begin({ attempt }: Place): void {
    this.#request = undefined;
    attempt.begin();
    this.#releaseRetry?.();
    // The first token of a trial allows more trials.
    this.#deps.load.admission.dispatch();
  }

  /** Returns a failure that may be retried and throws any other. */
  #classifyError({ backend, attempt }: Place, error: unknown, sampled: boolean): Failed {
    if (this.#signal.aborted) throw error;
    // The engine may report only that the attempt was aborted.
    const failure: unknown = attempt.signal.aborted ? attempt.signal.reason : error;
    if (failure instanceof EngineError) failure.backend ??= backend.id;
    const errorClass = classifyError(failure, sampled);
    const speaks = errorClass === "unreached" || errorClass === "failed";
    attempt.fail(failure, !(speaks && this.#hasSpoken));
    this.#hasSpoken ||= speaks;
    this.#onAttempt?.({ type: "attempt-failed", backend: backend.id, error: failure });
    if (sampled || !this.#mayRetry(backend, failure, errorClass)) throw failure;
    return { error: failure, isBudgeted: isAnswered(failure, errorClass) };
  }

  #mayRetry(backend: Backend, failure: unknown, errorClass: ErrorClass): boolean {
    if (isUnreached(failure)) {
      this.#unreached += 1;
      if (this.#unreached > MAX_UNREACHED) return false;
      return this.#goElsewhere(backend, (other) => !other.isDown) || this.#tryAgain(failure);
    }
    if (this.#attempts - this.#unreached >= this.#deps.maxAttempts) return false;
    switch (errorClass) {
      case "refusal":
        return false;
      case "busy":
      case "unreached":
        return this.#goElsewhere(backend, (other) => !other.isDown);
      case "misconfigured":
      case "failed":
        if (!isAnswered(failure, errorClass)) {
          return this.#goElsewhere(backend, (other) => !other.isDown);
        }
        return !this.#isBudgeted && this.#goElsewhere(backend, (other) => other.isAdmitting);
      default:
        return errorClass satisfies never;
    }
  }

  /** Returns whether another backend is left, and excludes the failed one. */
  #goElsewhere(failed: Backend, isLeft: (other: Backend) => boolean): boolean {
    const others = this.#deps.backends.filter((each) => each !== failed && isLeft(each));
    if (others.length === 0) return false;
    // Once all have been tried, a backend may have recovered.
    if (others.every((each) => this.#tried.has(each))) this.#tried = NONE;
    this.#tried = new Set(this.#tried).add(failed);
    return true;
  }

  /** Retries once: the server may have closed a pooled connection at the moment of its reuse. */
  #tryAgain(failure: unknown): boolean {
    return this.#attempts === 1 && failure instanceof EngineError && failure.kind === "unreachable";
  }
}

/**
 * The backend answered with an error, which the request may have caused. A stream that broke off before its first token does not
 * count.
 */
function isAnswered(failure: unknown, errorClass: ErrorClass): boolean {
  if (failure instanceof EngineError && failure.kind === "closed") return false;
  return errorClass === "misconfigured" || errorClass === "failed";
}

/** The request did not reach the backend, or the backend went down before its first token. */
function isUnreached(failure: unknown): boolean {
  return (
    failure instanceof EngineError &&
    (failure.kind === "unreachable" || failure.kind === "unavailable")
  );
}
