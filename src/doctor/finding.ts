/** A check of the doctor, and its finding. */
import type { Examination } from "./examination.ts";

/** `degraded`: it works, at a cost. `broken`: users get wrong answers or none. */
export type Verdict = "ok" | "degraded" | "broken" | "not-applicable";

export interface Finding {
  readonly verdict: Verdict;
  /** What the engine did, in one line; for `not-applicable`, why the check did not run. */
  readonly came: string;
  /** What it means for users. Absent: `means` of the check applies. */
  readonly means?: string;
  /** What to change, in one line. Absent if nothing needs to change. */
  readonly change?: string;
  /** Figures, with their unit in the name. */
  readonly measured?: Readonly<Record<string, number>>;
}

export interface Check {
  /** As in `--checks`: `stop-token`. */
  readonly id: string;
  /** A title of a few words. */
  readonly title: string;
  /** What is tested, in one line. */
  readonly asked: string;
  /** What it means for users if the check fails, in one line. */
  readonly means: string;
  /** Left out by `--quick`. */
  readonly isSlow?: true;
  /** In milliseconds. Default: {@link CHECK_MS}. */
  readonly maxMs?: number;
  /** May throw an `EngineError`: the check is then `broken`. */
  run(examination: Examination, signal: AbortSignal): Promise<Finding>;
}

export interface CheckResult extends Finding, Pick<Check, "id" | "title" | "asked"> {
  readonly means: string;
  /** Duration in milliseconds. */
  readonly ms: number;
}

/** Default time limit of a check. */
export const CHECK_MS = 90_000;

export function ok(came: string, measured?: Finding["measured"]): Finding {
  return { verdict: "ok", came, ...(measured && { measured }) };
}

export function notApplicable(why: string): Finding {
  return { verdict: "not-applicable", came: why };
}

/** The worst verdict; `ok` if no check applied. */
export function worst(verdicts: readonly Verdict[]): Exclude<Verdict, "not-applicable"> {
  return (["broken", "degraded"] as const).find((each) => verdicts.includes(each)) ?? "ok";
}
