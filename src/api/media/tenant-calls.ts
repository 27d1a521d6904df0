/**
 * Limits a tenant's simultaneous calls of the vision model or the PDF reader. After several outages in a row the
 * tenant's calls fail at once for a while, so that not every request waits for a server that is down.
 */
import { Places } from "../../streams/waiting.ts";

const FAILURES_BEFORE_REST = 3;
const REST_MS = 10_000;

interface Tenant {
  places: Places;
  /** Time at which a call last began or ended. */
  movedAt: number;
  outages: number;
  restUntil: number;
}

export type Tenants = Map<string, Tenant>;

/** Thrown while a tenant's calls rest after several outages. */
export class CallsRest extends Error {
  override readonly name = "CallsRest";
}

export interface TenantCallsOptions {
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
  /** Maximum number of a tenant's simultaneous calls. */
  readonly maxRunning: number;
  /**
   * Longest time that a call takes. If no call has begun or ended for longer, all places are freed: some calls never
   * end.
   */
  readonly longestMs: number;
}

export class TenantCalls {
  /** State by tenant. There is at most one per key. */
  readonly #tenants: Tenants;
  readonly #options: TenantCallsOptions;

  /** @param tenants the state of an earlier instance, with its running calls. */
  constructor(options: TenantCallsOptions, tenants: Tenants = new Map()) {
    this.#options = options;
    this.#tenants = tenants;
  }

  /**
   * Runs the call when there is room for it. Rejects with {@link CallsRest}, with the signal's reason, or as the call does.
   *
   * @param isOutage whether the server failed, rather than the call's input.
   */
  async run<T>(
    tenant: string,
    call: () => Promise<T>,
    { signal, isOutage }: { signal: AbortSignal; isOutage: (error: unknown) => boolean },
  ): Promise<T> {
    const { clock } = this.#options;
    const state = this.#stateOf(tenant);
    return state.places.run(async () => {
      if (clock() < state.restUntil) throw new CallsRest();
      state.movedAt = clock();
      try {
        const result = await call();
        state.outages = 0;
        return result;
      } catch (error) {
        if (isOutage(error)) this.#noteOutage(state);
        throw error;
      } finally {
        state.movedAt = clock();
      }
    }, signal);
  }

  #noteOutage(state: Tenant): void {
    state.outages += 1;
    if (state.outages < FAILURES_BEFORE_REST) return;
    // One outage after the rest begins the next rest.
    state.outages = FAILURES_BEFORE_REST - 1;
    state.restUntil = this.#options.clock() + REST_MS;
  }

  #stateOf(tenant: string): Tenant {
    const { clock, maxRunning, longestMs } = this.#options;
    const now = clock();
    let state = this.#tenants.get(tenant);
    if (state === undefined) {
      state = { places: new Places(maxRunning), movedAt: now, outages: 0, restUntil: -Infinity };
      this.#tenants.set(tenant, state);
    } else if (now - state.movedAt > longestMs) {
      state.places = new Places(maxRunning);
      state.movedAt = now;
    }
    return state;
  }
}
