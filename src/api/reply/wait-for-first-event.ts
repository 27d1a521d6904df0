/**
 * Delays the response headers until the engine has accepted the request, so that an early failure can still be an HTTP
 * status.
 */
import {
  createPushStream,
  type PushStream,
  consume,
  type Consumer,
  type Demand,
} from "../../streams/push-stream.ts";

export interface BegunOptions {
  /** Longest wait for the first event. Loading a model can take longer than clients wait for headers. */
  readonly patienceMs: number;
  /** Aborts the turn as well. Afterwards the held event is dropped if nothing reads it. */
  readonly signal: AbortSignal;
}

/**
 * Waits for the first event, for at most `patienceMs`. Throws if the stream fails before it. The result delivers all
 * events, including the first.
 */
export async function untilBegun<T>(
  events: AsyncIterable<T>,
  options: BegunOptions,
): Promise<PushStream<T>> {
  const begun = Promise.withResolvers<void>();
  const { stream } = new Held(events, options.signal, begun);
  await waitAtMost(options.patienceMs, begun);
  return stream;
}

/**
 * Like {@link untilBegun}, for several streams, of which only one has to begin: the others may be queued for the
 * capacity that the first holds until it is read. Throws if a stream fails before any has begun; the caller then aborts
 * the signal.
 */
export async function untilAnyBegun<T>(
  all: readonly AsyncIterable<T>[],
  options: BegunOptions,
): Promise<PushStream<T>[]> {
  const begun = Promise.withResolvers<void>();
  const held = all.map((events) => new Held(events, options.signal, begun));
  await waitAtMost(options.patienceMs, begun);
  return held.map(({ stream }) => stream);
}

/** Starts reading. The producer waits with the first event until a consumer is attached or the signal is aborted. */
class Held<T> {
  readonly stream: PushStream<T>;
  readonly #signal: AbortSignal;
  /** Undefined once the stream has begun. */
  #begun: PromiseWithResolvers<void> | undefined;
  #consumer: Consumer<T> | undefined;
  /** The producer waits with the first event. Undefined before it, and once a consumer is attached. */
  #waiting: PromiseWithResolvers<void> | undefined;

  /** @param begun settled when the stream begins, or ends before it. */
  constructor(events: AsyncIterable<T>, signal: AbortSignal, begun: PromiseWithResolvers<void>) {
    this.#signal = signal;
    this.#begun = begun;
    signal.addEventListener("abort", this.#drop, { once: true });
    if (signal.aborted) this.#drop();
    const take = (event: T): Demand => {
      if (this.#consumer !== undefined) return this.#consumer(event);
      this.#begun?.resolve();
      this.#begun = undefined;
      this.#waiting ??= Promise.withResolvers();
      return this.#waiting.promise.then(() => this.#consumer?.(event) ?? false);
    };
    const ended = consume(events, take);
    ended.then(
      () => this.#begun?.resolve(),
      (error) => this.#begun?.reject(error),
    );
    this.stream = createPushStream<T>((next) => {
      this.#attach(next);
      return ended;
    }, this.#drop);
  }

  #attach(next: Consumer<T>): void {
    this.#signal.removeEventListener("abort", this.#drop);
    this.#consumer ??= next;
    this.#waiting?.resolve();
    this.#waiting = undefined;
  }

  readonly #drop = (): void => this.#attach(() => false);
}

/** Waits until a stream has begun, for at most `ms`. */
async function waitAtMost(ms: number, begun: PromiseWithResolvers<void>): Promise<void> {
  const timer = setTimeout(begun.resolve, ms);
  try {
    await begun.promise;
  } finally {
    clearTimeout(timer);
  }
}
