/** Delays the response headers until the engine has accepted, so that an early failure can still be an HTTP status. */
import {
  createPushStream,
  type PushStream,
  consume,
  type Consumer,
} from "../streams/push-stream.ts";

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
  const held = new Held(events, options.signal);
  await firstToBegin([held], options.patienceMs);
  return held.stream;
}

/**
 * The same for several streams, of which only one has to begin: the others may be queued for the capacity
 * that the first holds until it is read. Throws if one fails before any has begun; the caller then aborts the
 * signal.
 */
export async function untilAnyBegun<T>(
  all: readonly AsyncIterable<T>[],
  options: BegunOptions,
): Promise<PushStream<T>[]> {
  const held = all.map((events) => new Held(events, options.signal));
  await firstToBegin(held, options.patienceMs);
  return held.map(({ stream }) => stream);
}

/** Starts reading. The producer waits with the first event until a consumer is attached or the signal is aborted. */
class Held<T> {
  readonly begun: Promise<void>;
  readonly stream: PushStream<T>;
  readonly #signal: AbortSignal;
  /** Undefined once it has. */
  #beginning: PromiseWithResolvers<void> | undefined;
  #consumer: Consumer<T> | undefined;
  /** The producer waits with the first event. Undefined before it, and once a consumer is attached. */
  #waiting: PromiseWithResolvers<void> | undefined;

  constructor(events: AsyncIterable<T>, signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener("abort", this.#drop, { once: true });
    if (signal.aborted) this.#drop();
    const beginning = Promise.withResolvers<void>();
    this.#beginning = beginning;
    this.begun = beginning.promise;
    const ended = consume(events, (event) => {
      if (this.#consumer !== undefined) return this.#consumer(event);
      this.#beginning?.resolve();
      this.#beginning = undefined;
      this.#waiting ??= Promise.withResolvers();
      return this.#waiting.promise.then(() => this.#consumer?.(event) ?? false);
    });
    ended.then(
      () => this.#beginning?.resolve(),
      (error) => this.#beginning?.reject(error),
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

async function firstToBegin(
  held: readonly { readonly begun: Promise<void> }[],
  patienceMs: number,
): Promise<void> {
  const patience = Promise.withResolvers<void>();
  const timer = setTimeout(patience.resolve, patienceMs);
  try {
    await Promise.race([patience.promise, ...held.map(({ begun }) => begun)]);
  } finally {
    clearTimeout(timer);
  }
}
