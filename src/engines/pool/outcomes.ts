/**
 * The outcomes of recent requests to a backend, by client: distinguishes a backend that fails for all clients from a client whose
 * requests fail anywhere.
 */

/** Identifies the client of a request. */
export interface Source {
  readonly tenant: string;
  readonly affinity: string;
}

/** Older outcomes are ignored. */
export const WINDOW_MS = 20_000;
/** Minimum number of requests for a significant failure rate. */
export const MIN_REQUESTS = 10;
const MIN_SOURCES = 2;
/** Bounds memory and the cost of a verdict at high request rates. */
const MAX_OUTCOMES = 256;

interface RequestOutcome {
  readonly at: number;
  readonly failed: boolean;
  readonly source: Source;
}

export class Outcomes {
  #latest: RequestOutcome[] = [];

  add(now: number, failed: boolean, source: Source): void {
    this.#latest.push({ at: now, failed, source });
    if (this.#latest.length > 2 * MAX_OUTCOMES) this.#latest = this.#latest.slice(-MAX_OUTCOMES);
  }

  clear(): void {
    this.#latest = [];
  }

  /**
   * Whether most requests failed, for most clients. One client is not enough: its requests may fail at every backend. Clients are
   * tenants, or conversations while only one tenant sends requests.
   */
  areBad(now: number): boolean {
    const recent = this.#latest.slice(-MAX_OUTCOMES).filter(({ at }) => now - at < WINDOW_MS);
    if (recent.length < MIN_REQUESTS || !isMajority(countFailed(recent), recent.length)) {
      return false;
    }
    const tenants = Map.groupBy(recent, ({ source }) => source.tenant);
    const clients =
      tenants.size > 1 ? tenants : Map.groupBy(recent, ({ source }) => source.affinity);
    const failing = [...clients.values()].filter((each) =>
      isMajority(countFailed(each), each.length),
    );
    return failing.length >= MIN_SOURCES && isMajority(failing.length, clients.size);
  }
}

function countFailed(outcomes: readonly RequestOutcome[]): number {
  return outcomes.filter(({ failed }) => failed).length;
}

function isMajority(part: number, whole: number): boolean {
  return part * 2 > whole;
}
