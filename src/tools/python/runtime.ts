/** Interface of a Python runtime: a process next to the gateway, or a remote sandbox. */

export interface PythonRuntime {
  /** Whether variables and files persist from one call to the next. */
  readonly stateful: boolean;
  /** The network access that the code has. */
  readonly network: "none" | "unknown";
  /** Packages beyond the standard library, by name. Undefined: unknown. */
  readonly packages: readonly string[] | undefined;
  /** Time limit of a call. */
  readonly timeoutMs: number;
  /**
   * Opens a session, or resumes the session with this id if it belongs to the tenant and is not in use.
   * @throws PythonUnavailable
   */
  open(request: PythonSessionRequest, signal: AbortSignal): Promise<PythonSession>;
  /** Ends all sessions. */
  close(): Promise<void>;
}

export interface PythonSessionRequest {
  readonly tenant: string;
  /** Id of the session to resume. */
  readonly id?: string | undefined;
}

export interface PythonSession {
  /** An unguessable id. A request of the same tenant with this id can resume the session. */
  readonly id: string;
  /** Whether it is the requested session, with its variables and files. */
  readonly resumed: boolean;
  /**
   * Runs code in the session's state. Calls do not overlap. An abort stops the code at once, which may end the session.
   * @throws PythonUnavailable
   */
  run(code: string, signal: AbortSignal): Promise<PythonOutcome>;
  /** Releases the session. It can be resumed until it has been idle for too long. */
  release(): Promise<void>;
}

export interface PythonOutcome {
  readonly status: PythonStatus;
  /** Printed text, the last expression's value and the traceback, in this order; cut to `MAX_OUTPUT`. */
  readonly output: string;
  /** Files that this call wrote below `/mnt/data`. */
  readonly files: readonly PythonFile[];
  /** Paths of files that are too large or too many to be returned. */
  readonly withheld: readonly string[];
  /** Whether the session's earlier state had been lost. */
  readonly restarted: boolean;
}

/**
 * `exception`: the code raised an exception. `timeout`, `memory` and `crash`: the code was stopped, and the session's
 * state is lost.
 */
export type PythonStatus = "ok" | "exception" | "timeout" | "memory" | "crash";

export interface PythonFile {
  /** Path below `/mnt/data`. */
  readonly path: string;
  readonly base64: string;
}

/** Limits of returned files: their number per call, and bytes of one file and of all. */
export const FILE_LIMITS = { files: 8, fileBytes: 1_000_000, allBytes: 3_000_000 } as const;

/** Thrown if no interpreter is available. The message is for the model. */
export class PythonUnavailable extends Error {
  override readonly name = "PythonUnavailable";
}
