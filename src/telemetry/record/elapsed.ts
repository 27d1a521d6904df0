/** The time since a request was accepted, in milliseconds to a tenth. */
export type Elapsed = () => number;

/** @param clock milliseconds; only differences are used */
export function startElapsed(clock: () => number): Elapsed {
  const start = clock();
  return () => Math.round((clock() - start) * 10) / 10;
}
