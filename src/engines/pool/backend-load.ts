/** Counters, used slots and health of a backend: the same backend under other settings continues them. */
import type { EngineProbe } from "../engine.ts";
import { Breaker, type BreakerOptions } from "./breaker.ts";
import type { FailureKind } from "./error-class.ts";

export interface BackendLoad {
  readonly counts: BackendCounts;
  readonly slots: Slots;
}

export interface BackendCounts {
  /** Completions so far, by result. */
  succeeded: number;
  failed: number;
  /** Number of times the circuit breaker has opened. */
  ejections: number;
}

export interface Slots {
  /** In-flight completions. */
  inFlight: number;
  /** Maximum in-flight completions, by the settings in force. Absent: not set yet. */
  max?: number;
}

/** The findings of requests, checks and probes. The same backend under other settings continues them. */
export interface BackendHealth {
  readonly breaker: Breaker;
  /** In-flight completions without a token so far. */
  readonly unbegun: Set<AbortController>;
  /** Whether no other backend is available, by the settings in force. */
  isLast?: () => boolean;
  probed?: EngineProbe;
  heard: boolean;
  heardAt: number;
  /** Time of the monitor's last check. */
  askedAt?: number;
  failedChecks: number;
  checkFailure?: string | undefined;
  missingCheck?: string | undefined;
  /** The backend refused the key or did not know the model: a probe must determine whether that holds for all requests. */
  isMisconfigured: boolean;
  reason?: FailureKind | undefined;
  lastFailure?: { readonly kind: FailureKind; readonly at: number };
  /** Time until which other backends are preferred, because the backend reported that it is busy. */
  restsUntil: number;
}

/** @param counts counts the openings of the breaker. */
export function createHealth(counts: BackendCounts, breaker?: BreakerOptions): BackendHealth {
  const health: BackendHealth = {
    breaker: new Breaker(breaker, () => health.isLast?.() !== true, counts),
    unbegun: new Set(),
    heard: false,
    heardAt: 0,
    failedChecks: 0,
    isMisconfigured: false,
    restsUntil: 0,
  };
  return health;
}

export function createBackendCounts(): BackendCounts {
  return { succeeded: 0, failed: 0, ejections: 0 };
}
