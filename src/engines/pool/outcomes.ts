/**
 * How the latest requests to a backend went, by who sent them: whether its answers have become errors for everybody,
 * or only for one client whose requests no backend could answer.
 */

/** Who sent a request, as far as it tells one client from another. */
export interface Source {
  readonly tenant: string;
  readonly affinity: string;
}

/** Outcomes older than this say nothing any more. */
export const WINDOW_MS = 20_000;
/** With fewer, a failure rate is chance. */
export const MIN_REQUESTS = 10;
const MIN_SOURCES = 2;
/** Bounds memory and the cost of a verdict at high rates; the latest are as good a sample as all. */
const MAX_OUTCOMES = 256;

interface Outcome {
  readonly at: number;
  readonly failed: boolean;
  readonly source: Source;
}

export class Outcomes {
  #latest: Outcome[] = [];

  add(now: number, failed: boolean, source: Source): void {
    this.#latest.push({ at: now, failed, source });
    if (this.#latest.length > 2 * MAX_OUTCOMES) this.#latest = this.#latest.slice(-MAX_OUTCOMES);
  }

  clear(): void {
    this.#latest = [];
  }

  /**
   * Whether most requests have failed, and for most of those who sent them. One client is not enough: what it
   * sends may fail anywhere. Clients are tenants, or conversations while only one tenant sends requests.
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

function countFailed(outcomes: readonly Outcome[]): number {
  return outcomes.filter(({ failed }) => failed).length;
}

function isMajority(part: number, whole: number): boolean {
  return part * 2 > whole;
}
