/** A scenario: the measurement of its contenders, and the resulting numbers. */
import type { Running } from "./contenders.ts";
import type { Rig } from "./rig.ts";

/** Numbers of one round or one window, by name. NaN: not measurable for this contender. */
export type Numbers = Readonly<Record<string, number>>;

export type Scenario = InTurn | SameWindows;

interface Described {
  readonly name: string;
  readonly title: string;
  /** The unit of each number, and with it the order of the columns. */
  readonly columns: Readonly<Record<string, string>>;
  /** Left out with `--quick`. */
  readonly slow?: boolean;
}

/** Measures one contender after the other, round by round, each alone with the engine. */
export interface InTurn extends Described {
  readonly kind: "in-turn";
  /** Needs a fresh process: for memory. */
  readonly fresh?: boolean;
  /** How many times `settleMs` its streams flow in the round that is not counted. Absent: half of one time. */
  readonly warmUp?: number;
  run(rig: Rig, running: Running, effort: Effort): Promise<Numbers>;
}

/**
 * All contenders at once on the same engine's steps, each measured over the same windows of time. Other load on the
 * machine slows all of them down equally, so it hardly affects the ratio of two contenders in a window.
 */
export interface SameWindows extends Described {
  readonly kind: "same-windows";
  /** Columns that are compared with another contender, window by window. */
  readonly compared: readonly string[];
  /** Numbers of each window, for each contender in the given order. */
  run(rig: Rig, all: readonly Running[], effort: Effort): Promise<Numbers[][]>;
}

/** Duration of a measurement. */
export interface Effort {
  /** In turn: of a round. */
  readonly windowMs: number;
  readonly settleMs: number;
  readonly asks: number;
  /** Same windows: short requests that each contender answers before those are measured. */
  readonly warmUpRequests: number;
  /** Same windows: how many in each round, and how long each. */
  readonly windows: number;
  readonly sameWindowMs: number;
}
