/** The speed of each model: samples of the number of its tokens in the last five minutes. */
import type { EngineRow } from "./types.ts";

const KEPT_MS = 300_000;
/** Time over which the current speed is measured. */
const RECENT_MS = 5000;
/** Number of points of the line. */
const POINTS = 60;

interface Sample {
  readonly at: number;
  readonly written: number;
}

const samples = new Map<string, Sample[]>();

export function noteWritten(engines: readonly EngineRow[], at: number): void {
  for (const { id, written } of engines) {
    const known = (samples.get(id) ?? []).filter((sample) => sample.at > at - KEPT_MS);
    samples.set(id, [...known, { at, written }]);
  }
}

export interface Speed {
  /** Tokens per second in the last five seconds. */
  readonly now: number;
  /** Tokens per second over the last minutes, oldest first. */
  readonly before: readonly number[];
}

/** Undefined: there are fewer than two samples. */
export function speedOf(id: string): Speed | undefined {
  const known = samples.get(id) ?? [];
  const last = known.at(-1);
  if (last === undefined || known.length < 2) return undefined;
  const recent = known.find(({ at }) => at >= last.at - RECENT_MS) ?? last;
  const before = Array.from({ length: POINTS }, (_, index) => {
    const from = last.at - KEPT_MS + (index * KEPT_MS) / POINTS;
    return perSecond(
      known.findLast(({ at }) => at <= from) ?? known[0],
      known.findLast(({ at }) => at <= from + KEPT_MS / POINTS),
    );
  });
  return { now: perSecond(recent === last ? known.at(-2) : recent, last), before };
}

function perSecond(from: Sample | undefined, to: Sample | undefined): number {
  if (from === undefined || to === undefined || to.at <= from.at) return 0;
  // The number decreases when the gateway restarts.
  return Math.max(0, ((to.written - from.written) * 1000) / (to.at - from.at));
}
