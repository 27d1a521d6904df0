/** The clock and timers that engines and the pool use, injected so that tests control them. */
export interface Clock {
  /** Monotonic, in milliseconds since an arbitrary moment. */
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
