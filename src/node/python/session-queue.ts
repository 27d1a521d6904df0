/** Sessions that wait for an interpreter, in the order in which their tenants are served. */
import { PythonUnavailable } from "../../tools/python/runtime.ts";
import type { SessionPlace } from "./processes.ts";

interface Waiter {
  readonly tenant: string;
  grant(place: SessionPlace): void;
  refuse(error: unknown): void;
}

/** Maximum waiting sessions of one tenant. */
const MAX_WAITING = 64;

const BUSY = "All Python interpreters are in use. Answer without Python, or try again later.";

export class SessionQueue {
  readonly #waitMs: number;
  #waiting: Waiter[] = [];

  /** `waitMs`: the maximum wait. */
  constructor(waitMs: number) {
    this.#waitMs = waitMs;
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  get tenants(): ReadonlySet<string> {
    return new Set(this.#waiting.map((each) => each.tenant));
  }

  countOf(tenant: string): number {
    return this.#waiting.filter((each) => each.tenant === tenant).length;
  }

  /** Rejects after the maximum wait. @throws PythonUnavailable if too many sessions of the tenant wait. */
  wait(tenant: string, signal: AbortSignal): Promise<SessionPlace> {
    if (this.countOf(tenant) >= MAX_WAITING) throw new PythonUnavailable(BUSY);
    return new Promise((resolve, reject) => {
      const stop = () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", onAbort);
        this.#waiting = this.#waiting.filter((each) => each !== waiter);
      };
      const waiter: Waiter = {
        tenant,
        grant(place) {
          stop();
          resolve(place);
        },
        refuse(error) {
          stop();
          reject(error);
        },
      };
      const onAbort = () => waiter.refuse(signal.reason);
      const timer = setTimeout(() => waiter.refuse(new PythonUnavailable(BUSY)), this.#waitMs);
      signal.addEventListener("abort", onAbort, { once: true });
      this.#waiting.push(waiter);
    });
  }

  /** Admits the tenant's first session, and moves the tenant behind the others. */
  grantFirst(tenant: string, place: SessionPlace): void {
    this.#waiting.find((each) => each.tenant === tenant)?.grant(place);
    const others = this.#waiting.filter((each) => each.tenant !== tenant);
    this.#waiting = [...others, ...this.#waiting.filter((each) => each.tenant === tenant)];
  }

  refuseAll(error: unknown): void {
    for (const waiter of this.#waiting) waiter.refuse(error);
  }
}
