/** A check of the doctor, and its finding. */
import type { Examination } from "./examination.ts";

/** The result of a check. `degraded`: the feature works, at a cost. `broken`: users get wrong answers or none. */
export type Verdict = "ok" | "degraded" | "broken" | "not-applicable";

export interface Finding {
  readonly verdict: Verdict;
  /** The engine's behaviour, in one line; for `not-applicable`, the reason why the check did not run. */
  readonly came: string;
  /** The consequence for users. Absent: `means` of the check applies. */
  readonly means?: string;
  /** The advice, in one line. Absent: no change is needed. */
  readonly change?: string;
  /** Figures, with their unit in the name. */
  readonly measured?: Readonly<Record<string, number>>;
}

export interface Check {
  /** Id of the check for `--checks`: `stop-token`. */
  readonly id: string;
  /** A title of a few words. */
  readonly title: string;
  /** The tested property, in one line. */
  readonly asked: string;
  /** The consequence of a failure for users, in one line. */
  readonly means: string;
  /** The check is left out by `--quick`. */
  readonly isSlow?: true;
  /** Time limit in milliseconds. Default: {@link CHECK_MS}. */
  readonly maxMs?: number;
  /** Runs the check. It may throw an `EngineError`: the check is then `broken`. */
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

/** @param most maximum characters; longer text is cut. */
export function printable(text: string, most = 200): string {
  // Control characters and bidirectional marks could change the display of a terminal.
  const clean = text.replaceAll(
    /[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]+/gu,
    " ",
  );
  return clean.length > most ? `${clean.slice(0, most - 1)}…` : clean;
}

/** Puts a text between backticks, as code. */
export function quoted(text: string, most = 60): string {
  return `\`${printable(text, most).replaceAll("`", "'")}\``;
}

/** `2 answers`, `1 answer`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** A duration for people: `0.4 ms`, `12 ms`, `3.4 s`. */
export function duration(ms: number): string {
  if (ms >= 10_000) return `${Math.round(ms / 1000)} s`;
  if (ms >= 1000) return `${(ms / 1000).toFixed(1)} s`;
  return ms >= 10 ? `${Math.round(ms)} ms` : `${ms.toFixed(1)} ms`;
}
