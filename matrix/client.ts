/** What the matrix asks of a client. */
import type { ThoughtCount } from "./scripted-agent.ts";

export interface MatrixClient {
  readonly name: string;
  /** Its npm package, pinned in `matrix/package.json`. */
  readonly package: string;
  /** Uses the client in `folder`, which is empty and is deleted afterwards. */
  run(folder: string): Promise<ClientResult>;
}

export interface ClientResult {
  readonly checks: readonly Check[];
  readonly thoughts: ThoughtCount;
}

export interface Check {
  readonly name: string;
  readonly passed: boolean;
}
