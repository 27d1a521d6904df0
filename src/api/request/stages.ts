/**
 * Reads requests of megabytes in stages and yields to the event loop between them. Ordinary requests are read
 * synchronously.
 */
import { type Pause, runAtOnce } from "../../streams/slices.ts";

/** Characters of the longest body that is read synchronously. Each of its stages takes a few milliseconds. */
const AT_ONCE = 100_000;

export interface Stages {
  /** Await it before the next stage. */
  next(): Promise<void> | undefined;
  /** Runs work whose steps are stages. */
  run<T>(steps: Generator<void, T>): T | Promise<T>;
}

export function createStages(bodyLength: number, pause: Pause): Stages {
  if (bodyLength <= AT_ONCE) return { next: () => undefined, run: runAtOnce };
  return {
    next: pause,
    async run(steps) {
      let step = steps.next();
      while (!step.done) {
        await pause();
        step = steps.next();
      }
      await pause();
      return step.value;
    },
  };
}
