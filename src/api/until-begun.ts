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
  const held = hold(events, options.signal);
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
  const held = all.map((events) => hold(events, options.signal));
  await firstToBegin(held, options.patienceMs);
  return held.map(({ stream }) => stream);
}

interface Held<T> {
  readonly begun: Promise<void>;
  readonly stream: PushStream<T>;
}

/** Starts reading. The producer waits with the first event until a consumer is attached or the signal is aborted. */
function hold<T>(events: AsyncIterable<T>, signal: AbortSignal): Held<T> {
  const begun = Promise.withResolvers<void>();
  const attached = Promise.withResolvers<void>();
  let consumer: Consumer<T> | undefined;
  const attach = (next: Consumer<T>): void => {
    signal.removeEventListener("abort", drop);
    consumer ??= next;
    attached.resolve();
  };
  const drop = (): void => attach(() => false);
  signal.addEventListener("abort", drop, { once: true });
  if (signal.aborted) drop();

  const ended = consume(events, (event) => {
    if (consumer !== undefined) return consumer(event);
    begun.resolve();
    return attached.promise.then(() => consumer?.(event) ?? false);
  });
  ended.then(begun.resolve, begun.reject);
  const stream = createPushStream<T>((next) => {
    attach(next);
    return ended;
  }, drop);
  return { begun: begun.promise, stream };
}

async function firstToBegin(
  held: readonly Pick<Held<never>, "begun">[],
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
