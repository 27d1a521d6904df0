/** Counters, slots in use and health: they outlive a backend, for its successor under other settings. */
import type { EngineProbe } from "../engine.ts";
import { Breaker, type BreakerOptions } from "./breaker.ts";
import type { FailureKind } from "./error-class.ts";

export interface BackendLoad {
  readonly counts: BackendCounts;
  readonly slots: Slots;
}

export interface BackendCounts {
  /** Completions so far, by how they ended. */
  succeeded: number;
  failed: number;
  /** How often the circuit breaker has opened. */
  ejections: number;
}

export interface Slots {
  /** In-flight completions. */
  inFlight: number;
  /** The most of them, by the settings in force. Absent: nothing has been said yet. */
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
  /** When the monitor asked last. */
  askedAt?: number;
  failedChecks: number;
  checkFailure?: string | undefined;
  missingCheck?: string | undefined;
  /** It refused the key or did not know the model: a probe must find out whether that holds for all requests. */
  isMisconfigured: boolean;
  reason?: FailureKind | undefined;
  lastFailure?: { readonly kind: FailureKind; readonly at: number };
  /** It reported that it is busy: other backends are preferred until this time. */
  restsUntil: number;
}

/** @param counts counts how often the breaker opens. */
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
