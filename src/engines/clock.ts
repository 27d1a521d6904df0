import { followSignal } from "../streams/follow-signal.ts";
import { EngineError } from "./engine-error.ts";

/** The clock and timers that engines and the pool use, injected so that tests control them. */
export interface Clock {
  /** Monotonic time, in milliseconds since an arbitrary moment. */
  now(): number;
  /** Calls `run` once after `ms`. Returns a function that cancels it. */
  after(ms: number, run: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};

/** A timeout for a promise, by an injected clock. */
export interface Timeout {
  readonly ms: number;
  readonly clock: Clock;
  /** The subject of the error's message. Default: the word "it". */
  readonly subject?: string;
}

/** Rejects with a `timeout` error after this number of milliseconds, even if `ask` ignores its signal. */
export async function withTimeout<T>(
  ask: (signal: AbortSignal) => Promise<T>,
  { ms, clock, subject = "It" }: Timeout,
  signal: AbortSignal,
): Promise<T> {
  const abort = new AbortController();
  const late = Promise.withResolvers<never>();
  const cancel = clock.after(ms, () => {
    const error = new EngineError("timeout", `${subject} did not answer within ${ms} ms.`);
    abort.abort(error);
    late.reject(error);
  });
  const release = followSignal(abort, signal);
  try {
    return await Promise.race([ask(abort.signal), late.promise]);
  } finally {
    cancel();
    release();
  }
}
