/**
 * Counters of a pool, for metrics. They may outlive it: the pool that serves the model after settings have been read
 * again continues them, so that no metric decreases while the process runs.
 */

export interface PoolCounts {
  /** Retries so far. */
  retries: number;
  /** By the backend's id. */
  readonly backends: Map<string, BackendCounts>;
  /** By the tenant's index. */
  readonly waits: Map<number, WaitCounts>;
}

export interface BackendCounts {
  /** Completions so far, by how they ended. */
  succeeded: number;
  failed: number;
  /** How often the circuit breaker has opened. */
  ejections: number;
}

export interface WaitCounts {
  /** Completions that were queued so far, and their total time in the queue. */
  waits: number;
  waitedMs: number;
}

export function createPoolCounts(): PoolCounts {
  return { retries: 0, backends: new Map(), waits: new Map() };
}

export function createBackendCounts(): BackendCounts {
  return { succeeded: 0, failed: 0, ejections: 0 };
}
