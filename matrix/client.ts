/** What the matrix asks of a client. */
import type { AnalysisCount } from "./scripted-agent.ts";

export interface MatrixClient {
  readonly name: string;
  /** Its npm package, pinned in `matrix/package.json`. */
  readonly package: string;
  /** Uses the client in `folder`, which is empty and is deleted afterwards. */
  run(folder: string): Promise<ClientResult>;
}

export interface ClientResult {
  readonly checks: readonly Check[];
  readonly analysis: AnalysisCount;
  readonly tools: OfferedTools;
  /** What could not be tried, and why. */
  readonly notes?: readonly string[];
}

/** What became of the tools that the client offered. */
export interface OfferedTools {
  readonly count: number;
  /** Those the gateway said it left out. */
  readonly skipped: readonly string[];
  /** Those that reached no prompt, and nobody was told. */
  readonly dropped: readonly string[];
}

export interface Check {
  readonly name: string;
  readonly passed: boolean;
}
