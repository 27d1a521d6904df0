/** Long work in slices, so that no request holds up the others. Work that is over within its first slice stays synchronous. */
import { yieldToEventLoop } from "../streams/timers.ts";

/** Yields to the event loop. */
export type Pause = () => Promise<void>;

/** Steps of a few milliseconds that are taken without a pause. */
const STEPS_PER_SLICE = 2;

interface SliceOptions {
  readonly pause: Pause;
  /** Aborted: the result is no longer needed. */
  readonly signal: AbortSignal | undefined;
  /** Is told of each step's value. What it throws ends the work. */
  readonly check: (value: number) => void;
}

export function runInSlices<T>(steps: Generator<number, T>, options: SliceOptions): T | Promise<T> {
  const last = runSlice(steps, options);
  return last.done ? last.value : runOtherSlices(steps, options);
}

/**
 * Pauses that are taken one after the other: of many requests that have long work to do, one does a slice in each turn
 * of the event loop.
 */
export function createPause(nextTurn: Pause = yieldToEventLoop): Pause {
  let last = Promise.resolve();
  return () => (last = last.then(nextTurn));
}

async function runOtherSlices<T>(steps: Generator<number, T>, options: SliceOptions): Promise<T> {
  for (;;) {
    await options.pause();
    options.signal?.throwIfAborted();
    const last = runSlice(steps, options);
    if (last.done) return last.value;
  }
}

function runSlice<T>(
  steps: Generator<number, T>,
  { check }: SliceOptions,
): IteratorResult<number, T> {
  let step = steps.next();
  for (let taken = 1; !step.done && taken < STEPS_PER_SLICE; taken++) {
    check(step.value);
    step = steps.next();
  }
  if (!step.done) check(step.value);
  return step;
}
