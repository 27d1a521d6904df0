/** Delays the response headers until the engine has accepted, so that an early failure can still be an HTTP status. */
import {
  createPushStream,
  type PushStream,
  consume,
  type Consumer,
} from "../streams/push-stream.ts";

export interface BegunOptions {
  /** Longest wait for the first event: loading a model can take longer than clients wait for headers. */
  readonly patienceMs: number;
  /** Aborts the turn as well. Afterwards the held event is dropped if nothing reads it. */
  readonly signal: AbortSignal;
}

/**
 * Waits for the first event. Throws what fails before it; after `patienceMs` without one, goes on regardless. The
 * result gives all events, the first included.
 */
export async function untilBegun<T>(
  events: AsyncIterable<T>,
  options: BegunOptions,
): Promise<PushStream<T>> {
  const held = hold(events, options.signal);
  await firstToBegin([held], options.patienceMs);
  return held.flow;
}

/**
 * The same for several, of which one has to begin: the others may be waiting for the places that it holds until it
 * is read. Throws what fails before any has begun; the caller then aborts the signal.
 */
export async function untilAnyBegun<T>(
  all: readonly AsyncIterable<T>[],
  options: BegunOptions,
): Promise<PushStream<T>[]> {
  const held = all.map((events) => hold(events, options.signal));
  await firstToBegin(held, options.patienceMs);
  return held.map(({ flow }) => flow);
}

interface Held<T> {
  readonly begun: Promise<void>;
  readonly flow: PushStream<T>;
}

/** Starts to read. The maker of the events waits with the first one until there is a reader, or will be none. */
function hold<T>(events: AsyncIterable<T>, signal: AbortSignal): Held<T> {
  const begun = Promise.withResolvers<void>();
  const reader = Promise.withResolvers<void>();
  let take: Consumer<T> | undefined;
  const attach = (reads: Consumer<T>): void => {
    signal.removeEventListener("abort", drop);
    take ??= reads;
    reader.resolve();
  };
  const drop = (): void => attach(() => false);
  signal.addEventListener("abort", drop, { once: true });
  if (signal.aborted) drop();

  const ended = consume(events, (event) => {
    if (take !== undefined) return take(event);
    begun.resolve();
    return reader.promise.then(() => take?.(event) ?? false);
  });
  ended.then(begun.resolve, begun.reject);
  const flow = createPushStream<T>((reads) => {
    attach(reads);
    return ended;
  }, drop);
  return { begun: begun.promise, flow };
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
