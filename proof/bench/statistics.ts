/** Numbers that were measured several times, and how certain a ratio of two of them is. */

/** Summarizes the rounds: median, minimum and maximum. */
export interface Measured {
  readonly median: number;
  readonly min: number;
  readonly max: number;
  readonly rounds: readonly number[];
  /** So many rounds in succession were measured of the same process. */
  readonly perProcess: number;
}

/** A number with its 95 % confidence interval. */
export interface Estimate {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

export interface Percentiles {
  readonly p50: number;
  readonly p99: number;
}

const RESAMPLES = 2000;

export function toMeasured(rounds: readonly number[], perProcess = 1): Measured {
  const sorted = Float64Array.from(rounds).toSorted();
  return {
    median: percentile(sorted, 0.5),
    min: sorted[0] ?? NaN,
    max: sorted.at(-1) ?? NaN,
    rounds,
    perProcess,
  };
}

export function toPercentiles(samples: readonly number[]): Percentiles {
  const sorted = Float64Array.from(samples).toSorted();
  return { p50: percentile(sorted, 0.5), p99: percentile(sorted, 0.99) };
}

/** A percentile of sorted numbers, `share` from 0 to 1; NaN for an empty list. */
export function percentile(sorted: ArrayLike<number>, share: number): number {
  const at = (sorted.length - 1) * share;
  const low = sorted[Math.floor(at)];
  const high = sorted[Math.ceil(at)];
  return low === undefined || high === undefined ? NaN : (low + high) / 2;
}

/**
 * The ratio of two contenders that were measured in the same windows: window by window, so that what slowed the
 * machine down in one of them affects both numbers. Windows in which either is missing or zero are left out.
 */
export function estimateRatio(ours: Measured, theirs: Measured, seed = 1): Estimate {
  const processes: number[][] = [];
  for (const [window, value] of ours.rounds.entries()) {
    const ratio = value / (theirs.rounds[window] ?? NaN);
    if (!(Number.isFinite(ratio) && ratio > 0)) continue;
    (processes[Math.floor(window / ours.perProcess)] ??= []).push(ratio);
  }
  return estimateMean(
    processes.filter((windows) => windows !== undefined),
    seed,
  );
}

/**
 * The geometric mean of the processes' medians. The interval is from a bootstrap in two steps: processes are drawn with
 * replacement, and then the windows of each, so that the interval contains the variation of windows and of processes.
 * Equal seeds draw equally.
 */
export function estimateMean(processes: readonly (readonly number[])[], seed = 1): Estimate {
  const random = createRandom(seed);
  const means = Float64Array.from({ length: RESAMPLES }, () =>
    meanOf(draw(processes, random).map((windows) => draw(windows, random))),
  ).toSorted();
  return {
    value: meanOf(processes),
    low: percentile(means, 0.025),
    high: percentile(means, 0.975),
  };
}

function meanOf(processes: readonly (readonly number[])[]): number {
  const logarithms = processes.map((windows) => Math.log(medianOf(windows)));
  return Math.exp(logarithms.reduce((sum, each) => sum + each, 0) / logarithms.length);
}

function draw<T>(from: readonly T[], random: () => number): T[] {
  return from.map((each) => from[Math.floor(random() * from.length)] ?? each);
}

/** Numbers from 0 to below 1, the same for the same seed (mulberry32). */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function medianOf(samples: readonly number[]): number {
  return percentile(Float64Array.from(samples).toSorted(), 0.5);
}
