/**
 * Runs long work in slices, so that one request does not block the others. Work that fits in the first slice
 * is synchronous.
 */
import { waitAtMost, yieldToEventLoop } from "./timers.ts";

/** Yields to the event loop. */
export type Pause = () => Promise<void>;

/** Number of steps, of a few milliseconds each, between two pauses. */
const STEPS_PER_SLICE = 2;

export interface SliceOptions {
  readonly pause: Pause;
  /** Stops the work when aborted, because its result is no longer needed. */
  readonly signal: AbortSignal | undefined;
  /** Called with each step's value. Throwing ends the work. */
  readonly check: (value: number) => void;
}

export function runInSlices<T>(steps: Generator<number, T>, options: SliceOptions): T | Promise<T> {
  const last = runSlice(steps, options);
  return last.done ? last.value : runOtherSlices(steps, options);
}

/** Runs all steps at once, for work that is short, or whose caller cannot wait. */
export function runAtOnce<T>(steps: Generator<void, T>): T {
  let step = steps.next();
  while (!step.done) step = steps.next();
  return step.value;
}

/** Longest wait for the pause of another request. */
const MAX_WAIT_MS = 5000;

/**
 * Returns a pause that runs its callers one at a time: of all requests with long work, one runs a slice per
 * iteration of the event loop.
 */
export function createPause(nextTurn: Pause = yieldToEventLoop): Pause {
  let last = Promise.resolve();
  return () => (last = waitAtMost(last, MAX_WAIT_MS).then(nextTurn));
}

/** Characters of stored text that are read between two pauses: 5 ms as JSON, 12 as sampled steps. */
const SLICE_CHARACTERS = 1_000_000;

/** Returns a function to be awaited before each of several texts is read. It pauses when the texts exceed a slice. */
export function createTextPause(pause: Pause): (text: string) => Promise<void> | undefined {
  let characters = 0;
  return ({ length }) => {
    characters += length;
    if (characters < SLICE_CHARACTERS) return undefined;
    characters = length;
    return pause();
  };
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
  for (let done = 1; !step.done && done < STEPS_PER_SLICE; done++) {
    check(step.value);
    step = steps.next();
  }
  if (!step.done) check(step.value);
  return step;
}
