/**
 * A pool of interpreters for sessions: a few started ahead, a limit per tenant and in total, and a queue for sessions that wait
 * for an interpreter. An interpreter serves one session and is never reused for another.
 */
import { Wait } from "../../streams/waiting.ts";
import { PythonUnavailable } from "../../tools/python/runtime.ts";
import type { Interpreter } from "./interpreter.ts";

export interface InterpreterPoolOptions {
  readonly start: () => Promise<Interpreter>;
  readonly newId: () => string;
  /** Maximum number of processes. */
  readonly max: number;
  /** Maximum sessions of one tenant. */
  readonly maxPerTenant: number;
  /** Number of interpreters started ahead, if there is capacity. */
  readonly warm: number;
  /** Idle time after which a session ends. */
  readonly idleMs: number;
  /** Maximum wait for an interpreter. */
  readonly waitMs: number;
  readonly onFailure?: (error: unknown) => void;
}

export interface Lease {
  readonly id: string;
  /** The lease resumes the requested session. */
  readonly resumed: boolean;
  readonly interpreter: Interpreter;
  /** Marks the session as idle. The session ends if its interpreter has exited. */
  release(): void;
}

/** An interpreter's process, and its session. */
interface Process {
  /** Id of the session. */
  readonly id: string;
  readonly started: Promise<Interpreter>;
  /** Undefined: the interpreter is starting. */
  interpreter: Interpreter | undefined;
  /** Undefined: the process was started ahead, and has no session yet. */
  tenant: string | undefined;
  /** Undefined: the session is in use. */
  idle: NodeJS.Timeout | undefined;
  /** The session is over. The process counts until it has exited. */
  isEnding: boolean;
}

const STOPPED = "The gateway is being shut down.";

export class InterpreterPool {
  readonly #options: InterpreterPoolOptions;
  readonly #queue: SessionQueue;
  /** All processes, from before their start until they have exited, so memory is bounded. Least recently used first. */
  readonly #processes = new Set<Process>();
  #isClosed = false;

  constructor(options: InterpreterPoolOptions) {
    this.#options = options;
    this.#queue = new SessionQueue(options.waitMs);
  }

  /**
   * Returns a session of the tenant: the session with this id if it is idle, otherwise a new one.
   * @throws PythonUnavailable
   */
  async acquire(tenant: string, id: string | undefined, signal: AbortSignal): Promise<Lease> {
    const known = this.#findIdle((each) => each.id === id && each.tenant === tenant);
    if (known?.interpreter?.alive) {
      clearTimeout(known.idle);
      known.idle = undefined;
      return this.#toLease(known, known.interpreter, true);
    }
    const process = this.#reserve(tenant) ?? (await this.#wait(tenant, signal));
    const interpreter = await process.started.catch(() => {
      throw new PythonUnavailable("The Python interpreter did not start. Answer without Python.");
    });
    this.prepare();
    if (signal.aborted) void this.#end(process);
    signal.throwIfAborted();
    return this.#toLease(process, interpreter, false);
  }

  /** Starts the missing interpreters ahead. */
  prepare(): void {
    if (this.#isClosed || !this.#queue.isEmpty) return;
    const { warm, max } = this.#options;
    let missing = warm - this.#count((each) => each.tenant === undefined);
    for (; missing > 0 && this.#processes.size < max; missing--) this.#start(undefined);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#queue.refuseAll(new PythonUnavailable(STOPPED));
    await Promise.all([...this.#processes].map((each) => this.#end(each)));
  }

  /** Undefined: the tenant or the pool has reached its limit. */
  #reserve(tenant: string): Process | undefined {
    if (this.#isClosed) throw new PythonUnavailable(STOPPED);
    if (this.#countOf(tenant) >= this.#options.maxPerTenant) return undefined;
    const warm = this.#findWarm();
    if (warm === undefined) {
      return this.#processes.size < this.#options.max ? this.#start(tenant) : undefined;
    }
    warm.tenant = tenant;
    return warm;
  }

  /** An interpreter without a session, which may still be starting. */
  #findWarm(): Process | undefined {
    for (const process of this.#processes) {
      if (process.tenant !== undefined || process.isEnding) continue;
      if (process.interpreter?.alive ?? true) return process;
      this.#processes.delete(process);
    }
    return undefined;
  }

  #start(tenant: string | undefined): Process {
    const process: Process = {
      id: this.#options.newId(),
      started: this.#options.start(),
      interpreter: undefined,
      tenant,
      idle: undefined,
      isEnding: false,
    };
    this.#processes.add(process);
    void this.#follow(process);
    return process;
  }

  async #follow(process: Process): Promise<void> {
    try {
      process.interpreter = await process.started;
    } catch (error) {
      this.#processes.delete(process);
      this.#options.onFailure?.(error);
      // A process that was started ahead is not retried before the next session: it would most likely fail again.
      if (process.tenant !== undefined) this.#admit();
      return;
    }
    if (this.#isClosed) await this.#end(process);
  }

  #wait(tenant: string, signal: AbortSignal): Promise<Process> {
    const process = this.#queue.wait(tenant, signal);
    this.#makeRoom();
    return process;
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
      const process = this.#reserve(tenant);
      if (process === undefined) continue;
      admitted = true;
      this.#queue.grantFirst(tenant, process);
    }
    return admitted;
  }

  /** Ends as many idle sessions as there are waiting sessions that could use their capacity. */
  #makeRoom(): void {
    const { max, maxPerTenant } = this.#options;
    let needed = 0;
    for (const tenant of this.#queue.tenants) {
      const count = this.#queue.countOf(tenant);
      while (maxPerTenant - this.#countOf(tenant) < count) {
        const own = this.#findIdle((each) => each.tenant === tenant);
        if (own === undefined) break;
        void this.#end(own);
      }
      needed += Math.min(count, maxPerTenant - this.#countOf(tenant));
    }
    while (max - this.#count(() => true) < needed && this.#endIdleOfAnybody());
  }

  #toLease(process: Process, interpreter: Interpreter, resumed: boolean): Lease {
    return { id: process.id, resumed, interpreter, release: () => this.#release(process) };
  }

  #release(process: Process): void {
    if (process.isEnding || process.idle !== undefined) return;
    if (!process.interpreter?.alive) {
      void this.#end(process);
      return;
    }
    process.idle = setTimeout(() => void this.#end(process), this.#options.idleMs);
    process.idle.unref();
    this.#processes.delete(process);
    this.#processes.add(process);
    this.#admit();
  }

  /** Ends the session. Its capacity is free when the process has exited. A starting process ends when it has started. */
  async #end(process: Process): Promise<void> {
    clearTimeout(process.idle);
    if (process.isEnding || process.interpreter === undefined) return;
    process.isEnding = true;
    await process.interpreter.kill();
    this.#processes.delete(process);
    this.#admit();
  }

  /** Ends the session that has been idle longest, of the tenant with the most sessions. False: no session is idle. */
  #endIdleOfAnybody(): boolean {
    const idle = [...this.#processes].filter((each) => isIdle(each));
    const most = Math.max(...idle.map(({ tenant }) => this.#countOf(tenant)));
    const oldest = this.#findIdle(({ tenant }) => this.#countOf(tenant) === most);
    if (oldest) void this.#end(oldest);
    return oldest !== undefined;
  }

  #findIdle(matches: (process: Process) => boolean): Process | undefined {
    return [...this.#processes].find((each) => isIdle(each) && matches(each));
  }

  #countOf(tenant: string | undefined): number {
    return this.#count((each) => each.tenant === tenant);
  }

  /** Counts processes that are not being ended. */
  #count(matches: (process: Process) => boolean): number {
    return [...this.#processes].filter((each) => !each.isEnding && matches(each)).length;
  }
}

function isIdle({ idle, isEnding }: Process): boolean {
  return idle !== undefined && !isEnding;
}

/** A session that waits for an interpreter. */
interface Waiter {
  readonly tenant: string;
  readonly wait: Wait<Process>;
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
  wait(tenant: string, signal: AbortSignal): Promise<Process> {
    if (this.countOf(tenant) >= MAX_WAITING) throw new PythonUnavailable(BUSY);
    const wait = new Wait<Process>(signal, () => {
      this.#waiting = this.#waiting.filter((each) => each.wait !== wait);
    });
    const refuse = () => wait.refuse(() => new PythonUnavailable(BUSY));
    const timer = setTimeout(refuse, this.#waitMs);
    this.#waiting.push({ tenant, wait });
    return wait.limit(() => clearTimeout(timer)).promise;
  }

  /** Admits the tenant's first session, and moves the tenant behind the others. */
  grantFirst(tenant: string, process: Process): void {
    this.#waiting.find((each) => each.tenant === tenant)?.wait.grant(process);
    const others = this.#waiting.filter((each) => each.tenant !== tenant);
    this.#waiting = [...others, ...this.#waiting.filter((each) => each.tenant === tenant)];
  }

  refuseAll(error: unknown): void {
    for (const { wait } of this.#waiting) wait.refuse(() => error);
  }
}
