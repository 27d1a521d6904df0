/**
 * Limits the calls that run at a time for one tenant: to the vision model, or of what reads PDFs. After several outages in a row the
 * tenant's calls fail at once for a while, so that not every request waits for a server that is down.
 */
import { Places } from "../../streams/waiting.ts";

const FAILURES_BEFORE_REST = 3;
const REST_MS = 10_000;

interface Tenant {
  places: Places;
  /** When a call has last begun or ended. */
  movedAt: number;
  outages: number;
  restUntil: number;
}

export type Tenants = Map<string, Tenant>;

/** The tenant's calls have just failed several times. */
export class CallsRest extends Error {
  override readonly name = "CallsRest";
}

export interface TenantCallsOptions {
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
  /** Of one tenant at a time. */
  readonly maxRunning: number;
  /** Longest time that a call takes. When none has begun or ended for longer, all places are free: some calls never end. */
  readonly longestMs: number;
}

export class TenantCalls {
  /** By tenant, of which there are as many as keys. */
  readonly #tenants: Tenants;
  readonly #options: TenantCallsOptions;

  /** @param tenants continued, with the calls that run. */
  constructor(options: TenantCallsOptions, tenants: Tenants = new Map()) {
    this.#options = options;
    this.#tenants = tenants;
  }

  /**
   * Runs the call when there is room for it. Rejects with {@link CallsRest}, with the signal's reason, or as the call does.
   *
   * @param isOutage whether the call failed because of the server, and not because of the image.
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
    // One more after the rest begins the next.
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
