/**
 * The load of a model: its queue, the slots in use, retries and counters. It outlives the pool: the one that serves the model after
 * settings were read again continues it. So no metric decreases, and limits hold for the requests of both together.
 */
import { getOrCreate } from "../../lazy.ts";
import type { Clock } from "../clock.ts";
import { systemClock } from "../clock.ts";
import { Admission, type AdmissionOptions } from "./admission.ts";
import {
  type BackendLoad,
  createBackendCounts,
  type BackendCounts,
  type Slots,
} from "./backend.ts";
import { RetryBudget } from "./retry-budget.ts";

export class PoolLoad {
  /** So far. */
  retries = 0;
  readonly admission: Admission;
  readonly budget: RetryBudget;
  /** By the backend's id. */
  readonly #counts = new Map<string, BackendCounts>();
  /** By the backend's id and server: another server has slots of its own. */
  readonly #slots = new Map<string, Slots>();

  constructor(limits: AdmissionOptions, clock: Clock = systemClock) {
    this.admission = new Admission(limits, clock);
    this.budget = new RetryBudget({
      inFlight: () => this.admission.inFlight,
      maxWaiting: limits.maxQueued,
      timeoutMs: limits.queueTimeoutMs,
      clock,
    });
  }

  /** Other limits, from now on. */
  limit(limits: AdmissionOptions): void {
    this.budget.limit({ maxWaiting: limits.maxQueued, timeoutMs: limits.queueTimeoutMs });
    this.admission.limit(limits);
  }

  of(id: string, server: string): BackendLoad {
    return {
      counts: getOrCreate(this.#counts, id, createBackendCounts),
      slots: getOrCreate(this.#slots, JSON.stringify([id, server]), () => ({ inFlight: 0 })),
    };
  }
}
