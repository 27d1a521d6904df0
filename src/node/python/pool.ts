/**
 * A pool of interpreters for sessions: a few started ahead, a limit per tenant and in total, and a queue for sessions
 * that find none free. An interpreter serves one session and is never reused for another.
 *
 * A process counts towards the limit from before it starts until it has exited, so memory is bounded.
 */
import { PythonUnavailable } from "../../tools/python/runtime.ts";
import type { Interpreter } from "./interpreter.ts";

export interface PoolOptions {
  readonly start: () => Promise<Interpreter>;
  readonly newId: () => string;
  /** Maximum number of processes. */
  readonly max: number;
  /** Maximum sessions of one tenant. */
  readonly maxPerTenant: number;
  /** Number of processes started ahead, if there is capacity. */
  readonly warm: number;
  /** Idle time after which a session ends. */
  readonly idleMs: number;
  /** Maximum wait for an interpreter. */
  readonly waitMs: number;
  readonly onFailure?: (error: unknown) => void;
}

export interface Pool {
  /**
   * Returns a session of the tenant: the one of this id if it is idle, else a new one.
   * @throws PythonUnavailable
   */
  acquire(tenant: string, id: string | undefined, signal: AbortSignal): Promise<Lease>;
  /** Starts the first warm interpreters. */
  prepare(): void;
  close(): Promise<void>;
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

/** Capacity for one more session. */
interface Place {
  /** Absent: one must be started. */
  readonly interpreter: Interpreter | undefined;
}

interface Waiter {
  readonly tenant: string;
  grant(place: Place): void;
  refuse(error: unknown): void;
}

/** Sessions of one tenant that wait. */
const MAX_WAITING = 64;

export function createPool(options: PoolOptions): Pool {
  /** Least recently used first. */
  const sessions = new Map<string, Session>();
  /** Number of sessions by tenant, including those whose interpreter is starting. */
  const held = new Map<string, number>();
  const warm: Interpreter[] = [];
  let waiting: Waiter[] = [];
  let processes = 0;
  let warming = 0;
  let ending = 0;
  let closed = false;

  async function acquire(
    tenant: string,
    id: string | undefined,
    signal: AbortSignal,
  ): Promise<Lease> {
    const known = id === undefined ? undefined : sessions.get(id);
    if (known?.tenant === tenant && known.idle !== undefined && known.interpreter.alive) {
      clearTimeout(known.idle);
      known.idle = undefined;
      return toLease(known, true);
    }
    const place = takePlace(tenant) ?? (await queue(tenant, signal));
    const session: Session = {
      id: options.newId(),
      tenant,
      interpreter: await fill(tenant, place),
      idle: undefined,
    };
    sessions.set(session.id, session);
    replenish();
    if (signal.aborted || closed) end(session);
    signal.throwIfAborted();
    return toLease(session, false);
  }

  function takePlace(tenant: string): Place | undefined {
    if (closed) throw new PythonUnavailable(STOPPED);
    if (countOf(tenant) >= options.maxPerTenant) return undefined;
    const interpreter = takeWarm();
    if (interpreter === undefined) {
      if (processes >= options.max) return undefined;
      processes++;
    }
    held.set(tenant, countOf(tenant) + 1);
    return { interpreter };
  }

  function takeWarm(): Interpreter | undefined {
    for (let next = warm.shift(); next !== undefined; next = warm.shift()) {
      if (next.alive) return next;
      processes--;
    }
    return undefined;
  }

  async function fill(tenant: string, { interpreter }: Place): Promise<Interpreter> {
    if (interpreter !== undefined) return interpreter;
    try {
      return await options.start();
    } catch (error) {
      processes--;
      leave(tenant);
      options.onFailure?.(error);
      admit();
      throw new PythonUnavailable("The Python interpreter did not start. Answer without Python.");
    }
  }

  function queue(tenant: string, signal: AbortSignal): Promise<Place> {
    if (waiting.filter((each) => each.tenant === tenant).length >= MAX_WAITING) {
      return Promise.reject(new PythonUnavailable(BUSY));
    }
    return new Promise((resolve, reject) => {
      const stop = () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", onAbort);
        waiting = waiting.filter((each) => each !== waiter);
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
      const timer = setTimeout(() => waiter.refuse(new PythonUnavailable(BUSY)), options.waitMs);
      signal.addEventListener("abort", onAbort, { once: true });
      waiting.push(waiter);
      makeRoom();
    });
  }

  /** Admits waiting sessions, one tenant after the other, while there is capacity. */
  function admit(): void {
    if (closed) return;
    while (admitOneOfEach());
    makeRoom();
    replenish();
  }

  function admitOneOfEach(): boolean {
    let admitted = false;
    for (const tenant of tenantsWaiting()) {
      const next = waiting.find((each) => each.tenant === tenant);
      const place = takePlace(tenant);
      if (next === undefined || place === undefined) continue;
      admitted = true;
      next.grant(place);
      const others = waiting.filter((each) => each.tenant !== tenant);
      waiting = [...others, ...waiting.filter((each) => each.tenant === tenant)];
    }
    return admitted;
  }

  /** Ends as many idle sessions as there are waiting sessions that could use their capacity. */
  function makeRoom(): void {
    let needed = 0;
    for (const tenant of tenantsWaiting()) {
      const count = waiting.filter((each) => each.tenant === tenant).length;
      while (options.maxPerTenant - countOf(tenant) < count) {
        const own = findIdle((session) => session.tenant === tenant);
        if (own === undefined) break;
        end(own);
      }
      needed += Math.min(count, options.maxPerTenant - countOf(tenant));
    }
    while (options.max - processes + ending < needed && endIdleOfAnybody());
  }

  function tenantsWaiting(): ReadonlySet<string> {
    return new Set(waiting.map((each) => each.tenant));
  }

  function replenish(): void {
    if (closed || waiting.length > 0) return;
    while (warm.length + warming < options.warm && processes < options.max) {
      processes++;
      warming++;
      void warmUp();
    }
  }

  async function warmUp(): Promise<void> {
    try {
      const interpreter = await options.start();
      if (closed) await interpreter.kill();
      else warm.push(interpreter);
    } catch (error) {
      // Not retried before the next session: it would most likely fail again.
      processes--;
      options.onFailure?.(error);
      return;
    } finally {
      warming--;
    }
    admit();
  }

  function toLease(session: Session, resumed: boolean): Lease {
    const { id, interpreter } = session;
    return { id, resumed, interpreter, release: () => release(session) };
  }

  function release(session: Session): void {
    if (sessions.get(session.id) !== session || session.idle !== undefined) return;
    if (!session.interpreter.alive) {
      end(session);
      return;
    }
    session.idle = setTimeout(() => end(session), options.idleMs);
    session.idle.unref();
    sessions.delete(session.id);
    sessions.set(session.id, session);
    admit();
  }

  /** Its slot is free when the process has exited. */
  function end(session: Session): void {
    clearTimeout(session.idle);
    if (!sessions.delete(session.id)) return;
    leave(session.tenant);
    void endProcess(session.interpreter);
  }

  async function endProcess(interpreter: Interpreter): Promise<void> {
    ending++;
    await interpreter.kill();
    ending--;
    processes--;
    admit();
  }

  /** Ends the session that has been idle longest, of the tenant with the most sessions. False: none is idle. */
  function endIdleOfAnybody(): boolean {
    const most = Math.max(
      ...[...sessions.values()].filter((each) => each.idle).map((each) => countOf(each.tenant)),
    );
    const oldest = findIdle((session) => countOf(session.tenant) === most);
    if (oldest) end(oldest);
    return oldest !== undefined;
  }

  function findIdle(matches: (session: Session) => boolean): Session | undefined {
    for (const session of sessions.values()) {
      if (session.idle !== undefined && matches(session)) return session;
    }
    return undefined;
  }

  function countOf(tenant: string): number {
    return held.get(tenant) ?? 0;
  }

  function leave(tenant: string): void {
    const left = countOf(tenant) - 1;
    if (left > 0) held.set(tenant, left);
    else held.delete(tenant);
  }

  return {
    acquire,
    prepare: replenish,
    async close() {
      closed = true;
      for (const waiter of waiting) waiter.refuse(new PythonUnavailable(STOPPED));
      const interpreters = [...warm, ...[...sessions.values()].map((each) => each.interpreter)];
      for (const session of sessions.values()) clearTimeout(session.idle);
      sessions.clear();
      await Promise.all(interpreters.map((interpreter) => interpreter.kill()));
    },
  };
}

const BUSY = "All Python interpreters are in use. Answer without Python, or try again later.";
const STOPPED = "The gateway is being shut down.";
