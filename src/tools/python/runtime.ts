/** What runs Python for the `python` tool: a process beside the gateway, or a sandbox elsewhere. */

export interface PythonRuntime {
  /** Variables and files survive from one call to the next. */
  readonly stateful: boolean;
  /** What the code can reach. */
  readonly network: "none" | "unknown";
  /** Packages beyond the standard library, by name. Undefined: nobody knows. */
  readonly packages: readonly string[] | undefined;
  /** A call takes no longer. */
  readonly timeoutMs: number;
  /**
   * Opens a session, or goes on with the one of this id if the tenant has it and nobody else uses it.
   * @throws PythonUnavailable
   */
  open(request: PythonSessionRequest, signal: AbortSignal): Promise<PythonSession>;
  /** Stops all sessions. */
  close(): Promise<void>;
}

export interface PythonSessionRequest {
  readonly tenant: string;
  /** Of a session to go on with. */
  readonly id?: string | undefined;
}

export interface PythonSession {
  /** Unguessable: whoever knows it, and is the same tenant, goes on with the session. */
  readonly id: string;
  /** It is the one that was asked for, with its variables and files. */
  readonly resumed: boolean;
  /**
   * Runs code after what the session ran before. Calls do not overlap. An abort stops the code at once, which may
   * end the session.
   * @throws PythonUnavailable
   */
  run(code: string, signal: AbortSignal): Promise<PythonOutcome>;
  /** Lets go of the session. It can be gone on with until it has been idle for too long. */
  release(): Promise<void>;
}

export interface PythonOutcome {
  readonly status: PythonStatus;
  /** What was printed, the last expression's value and the traceback, in this order; cut to `MAX_OUTPUT`. */
  readonly output: string;
  /** Written below `/mnt/data` by this call. */
  readonly files: readonly PythonFile[];
  /** Files that are too large or too many to be handed on, by path. */
  readonly withheld: readonly string[];
  /** The session's state from before this call had been lost. */
  readonly restarted: boolean;
}

/**
 * `exception`: the code raised one. `timeout`, `memory` and `crash`: the code was ended, and the session's state is gone
 * with it.
 */
export type PythonStatus = "ok" | "exception" | "timeout" | "memory" | "crash";

export interface PythonFile {
  /** Below `/mnt/data`. */
  readonly path: string;
  readonly base64: string;
}

/** Most files of one call that are handed on, and most bytes of one and of all. */
export const FILE_LIMITS = { files: 8, fileBytes: 1_000_000, allBytes: 3_000_000 } as const;

/** No interpreter can be had. The message is for the model. */
export class PythonUnavailable extends Error {
  override readonly name = "PythonUnavailable";
}
