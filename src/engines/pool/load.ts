/**
 * The load of a model: its queue, the slots in use, retries, counters and the health of its backends. It outlives the pool: the
 * one that serves the model after settings were read again continues it. So no metric decreases, and limits hold for the requests of
 * both together.
 */
import { getOrCreate } from "../../lazy.ts";
import type { Clock } from "../clock.ts";
import { systemClock } from "../clock.ts";
import { Admission, type AdmissionOptions } from "./admission.ts";
import type { Engine } from "../engine.ts";
import {
  type BackendCounts,
  type BackendHealth,
  type BackendLoad,
  createBackendCounts,
  createHealth,
  type Slots,
} from "./backend-load.ts";
import { RetryBudget } from "./retry-budget.ts";

/** A backend that is the same under other settings: what its engine found out, and its health. */
export interface KeptBackend {
  readonly engine: Engine;
  readonly health: BackendHealth;
}

export class PoolLoad {
  /** So far. */
  retries = 0;
  readonly admission: Admission;
  readonly budget: RetryBudget;
  /** By the backend's id. */
  readonly #counts = new Map<string, BackendCounts>();
  /** By the backend's id and server: another server has slots of its own. */
  readonly #slots = new Map<string, Slots>();
  /** By the backend's id and all that its engine depends on. */
  readonly #kept = new Map<string, KeptBackend>();

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

  /**
   * The backend of this id so far, or a new one. Another engine is another backend.
   * @param key names all that its engine depends on.
   */
  keep(id: string, key: string, create: () => Engine): KeptBackend {
    return getOrCreate(this.#kept, JSON.stringify([id, key]), () => ({
      engine: create(),
      health: createHealth(this.#countsOf(id)),
    }));
  }

  /** Forgets the others. */
  keepOnly(healths: ReadonlySet<BackendHealth | undefined>): void {
    for (const [key, { health }] of this.#kept) if (!healths.has(health)) this.#kept.delete(key);
  }

  of(id: string, server: string): BackendLoad {
    return {
      counts: this.#countsOf(id),
      slots: getOrCreate(this.#slots, JSON.stringify([id, server]), () => ({ inFlight: 0 })),
    };
  }

  #countsOf(id: string): BackendCounts {
    return getOrCreate(this.#counts, id, createBackendCounts);
  }
}
