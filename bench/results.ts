/** All measurements of a run: written as JSON, and the source of tables, targets and plot. */
import type { InnerResults } from "./inner/suite.ts";
import type { Machine } from "./machine.ts";
import type { StreamingResults } from "./streaming/suite.ts";
import type { TextResults } from "./text/suite.ts";

export interface Results {
  readonly machine: Machine;
  readonly command: string;
  readonly rounds: number;
  readonly streaming?: StreamingResults;
  readonly text?: TextResults;
  readonly inner?: InnerResults;
}
