/** The interface of a client in the matrix. */
import type { AnalysisCount } from "./scripted-agent.ts";

export interface MatrixClient {
  readonly name: string;
  /** Its npm package, pinned in `proof/matrix/package.json`. */
  readonly package: string;
  /** Runs the client in `folder`, which is empty and is deleted afterwards. */
  run(folder: string): Promise<ClientResult>;
}

export interface ClientResult {
  readonly checks: readonly Check[];
  readonly analysis: AnalysisCount;
  readonly tools: OfferedTools;
  readonly exact: ExactSteps;
  /** Untested features, with reasons. */
  readonly notes?: readonly string[];
}

/** The handling of the tools that the client offered. */
export interface OfferedTools {
  readonly count: number;
  /** Tools that the gateway reported as left out. */
  readonly skipped: readonly string[];
  /** Tools that reached no prompt and were not reported. */
  readonly dropped: readonly string[];
}

export interface ExactSteps {
  readonly steps: number;
  /** The reason of each step that was not exact. */
  readonly because: readonly string[];
}

export interface Check {
  readonly name: string;
  readonly passed: boolean;
}
