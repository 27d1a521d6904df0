/**
 * Limits the calls that run at a time for one tenant: to the vision model, or of what reads PDFs. After several outages in a row the tenant's calls fail at
 * once for a while, so that not every request waits for a server that is down.
 */

const FAILURES_BEFORE_REST = 3;
const REST_MS = 10_000;

interface Tenant {
  running: number;
  /** Those that wait, oldest first: each takes the place that it is given. */
  readonly waiting: Set<() => void>;
  outages: number;
  restUntil: number;
}

/** The tenant's calls have just failed several times. */
export class CallsRest extends Error {
  override readonly name = "CallsRest";
}

export class TenantCalls {
  /** By tenant, of which there are as many as keys. */
  readonly #tenants = new Map<string, Tenant>();
  readonly #clock: () => number;
  readonly #maxRunning: number;

  constructor(clock: () => number, maxRunning: number) {
    this.#clock = clock;
    this.#maxRunning = maxRunning;
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
    const state = this.#stateOf(tenant);
    if (state.running >= this.#maxRunning) await waitForPlace(state, signal);
    else state.running += 1;
    try {
      if (this.#clock() < state.restUntil) throw new CallsRest();
      const result = await call();
      state.outages = 0;
      return result;
    } catch (error) {
      if (isOutage(error)) this.#noteOutage(state);
      throw error;
    } finally {
      this.#leave(state);
    }
  }

  #noteOutage(state: Tenant): void {
    state.outages += 1;
    if (state.outages < FAILURES_BEFORE_REST) return;
    // One more after the rest begins the next.
    state.outages = FAILURES_BEFORE_REST - 1;
    state.restUntil = this.#clock() + REST_MS;
  }

  #leave(state: Tenant): void {
    const [next] = state.waiting;
    if (next === undefined) {
      state.running -= 1;
      return;
    }
    state.waiting.delete(next);
    next();
  }

  #stateOf(tenant: string): Tenant {
    const known = this.#tenants.get(tenant);
    if (known !== undefined) return known;
    const made: Tenant = { running: 0, waiting: new Set(), outages: 0, restUntil: -Infinity };
    this.#tenants.set(tenant, made);
    return made;
  }
}

/** The place of a call that has ended is handed on. */
function waitForPlace({ waiting }: Tenant, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const leave = (): void => {
      waiting.delete(enter);
      reject(signal.reason);
    };
    const enter = (): void => {
      signal.removeEventListener("abort", leave);
      resolve();
    };
    if (signal.aborted) return leave();
    signal.addEventListener("abort", leave, { once: true });
    waiting.add(enter);
  });
}
