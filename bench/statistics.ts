/** A number measured several times. */

/** Summarizes the rounds: median, minimum and maximum. */
export interface Measured {
  readonly median: number;
  readonly min: number;
  readonly max: number;
  readonly rounds: readonly number[];
}

export function toMeasured(rounds: readonly number[]): Measured {
  const sorted = Float64Array.from(rounds).toSorted();
  return {
    median: percentile(sorted, 0.5),
    min: sorted[0] ?? NaN,
    max: sorted.at(-1) ?? NaN,
    rounds,
  };
}

/** The median of sorted numbers; NaN for an empty list. */
export function percentile(sorted: ArrayLike<number>, share: number): number {
  const at = (sorted.length - 1) * share;
  const low = sorted[Math.floor(at)];
  const high = sorted[Math.ceil(at)];
  return low === undefined || high === undefined ? NaN : (low + high) / 2;
}
