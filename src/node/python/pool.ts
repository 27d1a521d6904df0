/**
 * A pool of interpreters for sessions: a few started ahead, a limit per tenant and in total, and a queue for sessions
 * that find none free. An interpreter serves one session and is never reused for another.
 */
import { Wait } from "../../streams/waiting.ts";
import { PythonUnavailable } from "../../tools/python/runtime.ts";
import type { Interpreter } from "./interpreter.ts";
import { Processes, type ProcessesOptions, type SessionPlace } from "./processes.ts";

export interface InterpreterPoolOptions extends Omit<ProcessesOptions, "onCapacity"> {
  readonly newId: () => string;
  /** Maximum sessions of one tenant. */
  readonly maxPerTenant: number;
  /** Idle time after which a session ends. */
  readonly idleMs: number;
  /** Maximum wait for an interpreter. */
  readonly waitMs: number;
}

export interface Lease {
  readonly id: string;
  /** It is the requested session. */
  readonly resumed: boolean;
  readonly interpreter: Interpreter;
  /** Marks the session as idle. A session whose interpreter has exited ends. */
  release(): void;
}

interface Session {
  readonly id: string;
  readonly tenant: string;
  readonly interpreter: Interpreter;
  /** Undefined: it is in use. */
  idle: NodeJS.Timeout | undefined;
}

const STOPPED = "The gateway is being shut down.";

export class InterpreterPool {
  readonly #options: InterpreterPoolOptions;
  readonly #processes: Processes;
  readonly #queue: SessionQueue;
  /** Least recently used first. */
  readonly #sessions = new Map<string, Session>();
  /** Number of sessions by tenant, including those whose interpreter is starting. */
  readonly #held = new Map<string, number>();
  #isClosed = false;

  constructor(options: InterpreterPoolOptions) {
    this.#options = options;
    this.#processes = new Processes({ ...options, onCapacity: () => this.#admit() });
    this.#queue = new SessionQueue(options.waitMs);
  }

  /**
   * Returns a session of the tenant: the one of this id if it is idle, else a new one.
   * @throws PythonUnavailable
   */
  async acquire(tenant: string, id: string | undefined, signal: AbortSignal): Promise<Lease> {
    const known = id === undefined ? undefined : this.#sessions.get(id);
    if (known?.tenant === tenant && known.idle !== undefined && known.interpreter.alive) {
      clearTimeout(known.idle);
      known.idle = undefined;
      return this.#toLease(known, true);
    }
    const place = this.#reserve(tenant) ?? (await this.#wait(tenant, signal));
    const session: Session = {
      id: this.#options.newId(),
      tenant,
      interpreter: await this.#fill(tenant, place),
      idle: undefined,
    };
    this.#sessions.set(session.id, session);
    this.prepare();
    if (signal.aborted || this.#isClosed) this.#end(session);
    signal.throwIfAborted();
    return this.#toLease(session, false);
  }

  /** Starts the first warm interpreters. */
  prepare(): void {
    if (!this.#isClosed && this.#queue.isEmpty) this.#processes.replenish();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#queue.refuseAll(new PythonUnavailable(STOPPED));
    const sessions = [...this.#sessions.values()];
    for (const session of sessions) clearTimeout(session.idle);
    this.#sessions.clear();
    await Promise.all([
      this.#processes.close(),
      ...sessions.map(({ interpreter }) => interpreter.kill()),
    ]);
  }

  /** Undefined: the tenant or the pool has reached its limit. */
  #reserve(tenant: string): SessionPlace | undefined {
    if (this.#isClosed) throw new PythonUnavailable(STOPPED);
    if (this.#countOf(tenant) >= this.#options.maxPerTenant) return undefined;
    const place = this.#processes.reserve();
    if (place !== undefined) this.#held.set(tenant, this.#countOf(tenant) + 1);
    return place;
  }

  #wait(tenant: string, signal: AbortSignal): Promise<SessionPlace> {
    const place = this.#queue.wait(tenant, signal);
    this.#makeRoom();
    return place;
  }

  async #fill(tenant: string, place: SessionPlace): Promise<Interpreter> {
    try {
      return await this.#processes.fill(place);
    } catch {
      this.#leave(tenant);
      this.#admit();
      throw new PythonUnavailable("The Python interpreter did not start. Answer without Python.");
    }
  }

  /** Admits waiting sessions, one tenant after the other, while there is capacity. */
  #admit(): void {
    if (this.#isClosed) return;
    while (this.#admitOneOfEach());
    this.#makeRoom();
    this.prepare();
  }

  #admitOneOfEach(): boolean {
    let admitted = false;
    for (const tenant of this.#queue.tenants) {
      const place = this.#reserve(tenant);
      if (place === undefined) continue;
      admitted = true;
      this.#queue.grantFirst(tenant, place);
    }
    return admitted;
  }

  /** Ends as many idle sessions as there are waiting sessions that could use their capacity. */
  #makeRoom(): void {
    const { maxPerTenant } = this.#options;
    let needed = 0;
    for (const tenant of this.#queue.tenants) {
      const count = this.#queue.countOf(tenant);
      while (maxPerTenant - this.#countOf(tenant) < count) {
        const own = this.#findIdle((session) => session.tenant === tenant);
        if (own === undefined) break;
        this.#end(own);
      }
      needed += Math.min(count, maxPerTenant - this.#countOf(tenant));
    }
    while (this.#processes.capacity < needed && this.#endIdleOfAnybody());
  }

  #toLease(session: Session, resumed: boolean): Lease {
    const { id, interpreter } = session;
    return { id, resumed, interpreter, release: () => this.#release(session) };
  }

  #release(session: Session): void {
    if (this.#sessions.get(session.id) !== session || session.idle !== undefined) return;
    if (!session.interpreter.alive) {
      this.#end(session);
      return;
    }
    session.idle = setTimeout(() => this.#end(session), this.#options.idleMs);
    session.idle.unref();
    this.#sessions.delete(session.id);
    this.#sessions.set(session.id, session);
    this.#admit();
  }

  /** Its capacity is free when the process has exited. */
  #end(session: Session): void {
    clearTimeout(session.idle);
    if (!this.#sessions.delete(session.id)) return;
    this.#leave(session.tenant);
    void this.#processes.end(session.interpreter);
  }

  /** Ends the session that has been idle longest, of the tenant with the most sessions. False: none is idle. */
  #endIdleOfAnybody(): boolean {
    const idle = [...this.#sessions.values()].filter((each) => each.idle);
    const most = Math.max(...idle.map((each) => this.#countOf(each.tenant)));
    const oldest = this.#findIdle((session) => this.#countOf(session.tenant) === most);
    if (oldest) this.#end(oldest);
    return oldest !== undefined;
  }

  #findIdle(matches: (session: Session) => boolean): Session | undefined {
    for (const session of this.#sessions.values()) {
      if (session.idle !== undefined && matches(session)) return session;
    }
    return undefined;
  }

  #countOf(tenant: string): number {
    return this.#held.get(tenant) ?? 0;
  }

  #leave(tenant: string): void {
    const left = this.#countOf(tenant) - 1;
    if (left > 0) this.#held.set(tenant, left);
    else this.#held.delete(tenant);
  }
}

/** Sessions that wait for an interpreter, in the order in which their tenants are served. */
interface Waiter {
  readonly tenant: string;
  readonly wait: Wait<SessionPlace>;
}

/** Maximum waiting sessions of one tenant. */
const MAX_WAITING = 64;

const BUSY = "All Python interpreters are in use. Answer without Python, or try again later.";

class SessionQueue {
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
    const wait = new Wait<SessionPlace>(signal, () => {
      this.#waiting = this.#waiting.filter((each) => each.wait !== wait);
    });
    const refuse = () => wait.refuse(() => new PythonUnavailable(BUSY));
    const timer = setTimeout(refuse, this.#waitMs);
    this.#waiting.push({ tenant, wait });
    return wait.limit(() => clearTimeout(timer)).promise;
  }

  /** Admits the tenant's first session, and moves the tenant behind the others. */
  grantFirst(tenant: string, place: SessionPlace): void {
    this.#waiting.find((each) => each.tenant === tenant)?.wait.grant(place);
    const others = this.#waiting.filter((each) => each.tenant !== tenant);
    this.#waiting = [...others, ...this.#waiting.filter((each) => each.tenant === tenant)];
  }

  refuseAll(error: unknown): void {
    for (const { wait } of this.#waiting) wait.refuse(() => error);
  }
}
