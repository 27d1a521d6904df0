/**
 * The load of a model: its queue, used slots, retries, counters and the health of its backends. The next pool of the model, after
 * a reload of settings, continues it. So no metric decreases, and limits hold for the requests of both together.
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

/** A backend that is equal under other settings: its engine with its findings, and its health. */
export interface KeptBackend {
  readonly engine: Engine;
  readonly health: BackendHealth;
}

export class PoolLoad {
  /** Number of retries so far. */
  retries = 0;
  readonly admission: Admission;
  readonly budget: RetryBudget;
  /** Counters by the backend's id. */
  readonly #counts = new Map<string, BackendCounts>();
  /** Slots by the backend's id and server: another server has separate slots. */
  readonly #slots = new Map<string, Slots>();
  /** Kept backends by id and all inputs of the engine. */
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

  /** Sets other limits, from now on. */
  limit(limits: AdmissionOptions): void {
    this.budget.limit({ maxWaiting: limits.maxQueued, timeoutMs: limits.queueTimeoutMs });
    this.admission.limit(limits);
  }

  /**
   * The existing backend of this id, or a new one. Another engine is another backend.
   * @param key all inputs of the engine.
   */
  keep(id: string, key: string, create: () => Engine): KeptBackend {
    return getOrCreate(this.#kept, JSON.stringify([id, key]), () => ({
      engine: create(),
      health: createHealth(this.#countsOf(id)),
    }));
  }

  /** Removes all other backends. */
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
