/** All measurements of a run: written as JSON, and the source of tables and targets. */
import type { InnerResults } from "./inner/suite.ts";
import type { Machine } from "./machine.ts";
import type { SizeRow } from "./sizes/suite.ts";
import { type Estimate, estimateRatio } from "./statistics.ts";
import type { StreamingResults } from "./streaming/suite.ts";
import type { TextResults } from "./text/suite.ts";

export interface Results {
  readonly machine: Machine;
  readonly command: string;
  readonly rounds: number;
  readonly streaming?: StreamingResults;
  readonly text?: TextResults;
  readonly inner?: InnerResults;
  readonly sizes?: readonly SizeRow[];
}

/**
 * How much more a contender takes than another in a scenario: window by window, or round by round where contenders are
 * measured in turn. Undefined if either was not measured.
 */
export function compareContenders(
  streaming: StreamingResults | undefined,
  scenario: string,
  column: string,
  contender: string,
  other: string,
): Estimate | undefined {
  const contenders = streaming?.[scenario];
  const ours = contenders?.[contender]?.[column];
  const theirs = contenders?.[other]?.[column];
  if (ours === undefined || theirs === undefined) return undefined;
  const ratio = estimateRatio(ours, theirs);
  return Number.isNaN(ratio.value) ? undefined : ratio;
}
