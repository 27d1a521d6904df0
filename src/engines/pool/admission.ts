/**
 * Admission: assigns the slots of backends to completions and queues the others, fairly between tenants.
 *
 * Each tenant has its own queue. A free slot goes to the queued tenant with the fewest completions in flight, and among
 * equals to the one served longest ago. So each of n tenants under load gets 1/n of the slots, and a tenant alone gets
 * all. In-flight slots are counted, not requests or tokens: a long completion holds its slot while it runs, so its cost
 * needs no estimate, and a request for n choices counts as n.
 */
import { getOrCreate } from "../../lazy.ts";
import { Wait } from "../../streams/waiting.ts";
import type { Clock } from "../clock.ts";
import { EngineError } from "../engine-error.ts";
import type { Attempt, Backend } from "./backend.ts";
import type { Wish } from "./choose-backend.ts";
import type { Source } from "./outcomes.ts";

/** Limits of one tenant at a time. Absent: unlimited. */
export interface TenantLimits {
  readonly name: string;
  readonly maxQueued?: number;
  readonly maxConcurrent?: number;
}

export interface AdmissionOptions {
  /** Maximum queued completions of all tenants together. */
  readonly maxQueued: number;
  /** Maximum time of a completion in the queue. */
  readonly queueTimeoutMs: number;
  readonly tenants: readonly TenantLimits[];
}

export interface AdmissionRequest extends Wish {
  readonly source: Source;
  /** The completion was admitted before: it joins the front of its queue, and a full queue does not refuse it. */
  readonly isRetry: boolean;
}

/** A slot at a backend. The holder must release it; a second release does nothing. */
export interface Place {
  readonly backend: Backend;
  readonly attempt: Attempt;
  release(): void;
}

/** The load of a tenant, for metrics. Tenants are identified by index, because names may be personal data. */
export interface TenantState {
  /** The position in the configuration, from 0; tenants not configured share the index after the last. */
  readonly index: number;
  readonly queued: number;
  readonly inFlight: number;
  /** Completions that were queued so far, and their total time in the queue. */
  readonly waits: number;
  readonly waitedMs: number;
}

interface WaitCounts {
  /** Completions that were queued so far, and their total time in the queue. */
  waits: number;
  waitedMs: number;
}

/** Finds a backend with a free slot. Undefined: all are full. Throws if no backend accepts the completion. */
export type FindPlace = (wish: Wish) => Backend | undefined;

export class Admission {
  #options: AdmissionOptions;
  #limits: ReadonlyMap<string, TenantLimits & { readonly index: number }>;
  readonly #clock: Clock;
  readonly #tenants = new Map<string, Tenant>();
  /** Counts by the tenant's index. */
  readonly #waited = new Map<number, WaitCounts>();
  #queued = 0;
  #inFlight = 0;
  #served = 0;

  constructor(options: AdmissionOptions, clock: Clock) {
    this.#options = options;
    this.#limits = byName(options.tenants);
    this.#clock = clock;
  }

  /** Sets other limits, from the next admission on, also for queued requests. Requests with a slot keep it. */
  limit(options: AdmissionOptions): void {
    this.#options = options;
    this.#limits = byName(options.tenants);
    for (const tenant of this.#tenants.values()) {
      const limits = this.#limits.get(tenant.name);
      tenant.index = limits?.index ?? this.#limits.size;
      // Requests of a key that was removed stay under the limits of the key.
      if (limits !== undefined) Object.assign(tenant, toBounds(limits));
    }
    this.dispatch();
  }

  get queued(): number {
    return this.#queued;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  get tenants(): readonly TenantState[] {
    const indexes = new Set([...this.#limits.values()].map(({ index }) => index));
    for (const { index } of this.#tenants.values()) indexes.add(index);
    for (const index of this.#waited.keys()) indexes.add(index);
    return [...indexes].map((index) => {
      const tenants = [...this.#tenants.values()].filter((each) => each.index === index);
      const { waits, waitedMs } = this.#waited.get(index) ?? { waits: 0, waitedMs: 0 };
      const queued = tenants.reduce((sum, { waiting }) => sum + waiting.length, 0);
      const inFlight = tenants.reduce((sum, each) => sum + each.inFlight, 0);
      return { index, queued, inFlight, waits, waitedMs };
    });
  }

  /** Acquires a slot, queueing if necessary. Rejects with the signal's reason when it aborts. */
  async enter(request: AdmissionRequest, find: FindPlace, signal: AbortSignal): Promise<Place> {
    signal.throwIfAborted();
    const tenant = this.#tenantOf(request.source.tenant);
    try {
      // Queued requests are admitted first: the pause of a backend may have ended since.
      this.dispatch();
      const backend = tenant.inFlight < tenant.maxConcurrent ? find(request) : undefined;
      if (backend !== undefined) return this.#admit(tenant, request, backend);
      if (!request.isRetry) this.#makeRoom(tenant);
      return await this.#wait(tenant, { request, find }, signal);
    } finally {
      this.#forget(tenant);
    }
  }

  /** Admits queued requests in order. Call it when a slot may have become free. */
  dispatch(): void {
    while (this.#admitNext());
  }

  /** Returns whether a request was admitted, or refused because no backend accepts it any more. */
  #admitNext(): boolean {
    /** The functions of pools whose backends are all full. */
    const full = new Set<FindPlace>();
    for (const tenant of this.#inOrder()) {
      for (const waiter of tenant.waiting) {
        const isAnywhere = waiter.request.tried.size === 0;
        // When several choices are aborted together, one releases its slot before the next has left the queue.
        if (waiter.signal.aborted || (isAnywhere && full.has(waiter.find))) continue;
        try {
          const backend = waiter.find(waiter.request);
          if (backend === undefined) {
            // A later request may be able to use a backend that this one has already tried.
            if (isAnywhere) full.add(waiter.find);
            continue;
          }
          waiter.wait.end();
          waiter.wait.grant(this.#admit(tenant, waiter.request, backend));
        } catch (error) {
          waiter.wait.refuse(() => error);
        }
        return true;
      }
    }
    return false;
  }

  /** Queued tenants below their limit, those with the fewest completions in flight first. */
  #inOrder(): Tenant[] {
    if (this.#queued === 0) return [];
    return [...this.#tenants.values()]
      .filter(({ waiting, inFlight, maxConcurrent }) => {
        return waiting.length > 0 && inFlight < maxConcurrent;
      })
      .toSorted((a, b) => a.inFlight - b.inFlight || a.servedAt - b.servedAt);
  }

  #admit(tenant: Tenant, request: AdmissionRequest, backend: Backend): Place {
    const attempt = backend.begin(request.source);
    tenant.inFlight += 1;
    tenant.servedAt = this.#served += 1;
    this.#inFlight += 1;
    let isHeld = true;
    return {
      backend,
      attempt,
      release: () => {
        if (!isHeld) return;
        isHeld = false;
        attempt.end();
        tenant.inFlight -= 1;
        this.#inFlight -= 1;
        this.dispatch();
        this.#forget(tenant);
      },
    };
  }

  /** Throws if the tenant has used up its share of the queue; evicts a request of a tenant above its share otherwise. */
  #makeRoom(tenant: Tenant): void {
    const waiting = tenant.waiting.length;
    if (waiting >= tenant.maxQueued) throw toShareError(tenant);
    if (this.#queued < this.#options.maxQueued) return;
    const [longest = tenant] = [...this.#tenants.values()].toSorted(
      (a, b) => b.waiting.length - a.waiting.length,
    );
    const last = longest.waiting.findLast(({ request }) => !request.isRetry);
    if (last !== undefined && longest.waiting.length > waiting + 1) {
      last.wait.refuse(() => toShareError(longest));
    } else if (this.#isShared(tenant)) {
      throw toShareError(tenant);
    } else {
      throw new EngineError(
        "overloaded",
        `All backends are busy and the queue is full (${this.#queued} waiting). Try again later.`,
        { retryAfter: 1 },
      );
    }
  }

  /** Whether other tenants are queued too and this tenant has filled its share of the queue. */
  #isShared(tenant: Tenant): boolean {
    const others = [...this.#tenants.values()].filter(
      (each) => each !== tenant && each.waiting.length > 0,
    );
    const share = Math.ceil(this.#options.maxQueued / (others.length + 1));
    return others.length > 0 && tenant.waiting.length >= share;
  }

  #wait(
    tenant: Tenant,
    { request, find }: Pick<Waiter, "request" | "find">,
    signal: AbortSignal,
  ): Promise<Place> {
    const since = this.#clock.now();
    const wait = new Wait<Place>(signal, () => {
      tenant.waiting.splice(tenant.waiting.indexOf(waiter), 1);
      this.#queued -= 1;
      this.#countWait(tenant, this.#clock.now() - since);
    });
    const waiter: Waiter = { request, find, signal, wait };
    const refuse = () => wait.refuse(() => this.#toTimeout(tenant));
    wait.limit(this.#clock.after(this.#options.queueTimeoutMs, refuse));
    if (request.isRetry) tenant.waiting.unshift(waiter);
    else tenant.waiting.push(waiter);
    this.#queued += 1;
    return wait.promise;
  }

  #toTimeout(tenant: Tenant): EngineError {
    if (tenant.inFlight >= tenant.maxConcurrent) return toShareError(tenant);
    return new EngineError(
      "overloaded",
      `All backends stayed busy for ${this.#options.queueTimeoutMs} ms.`,
      { retryAfter: 1 },
    );
  }

  #countWait({ index }: Tenant, ms: number): void {
    const counts = getOrCreate(this.#waited, index, () => ({ waits: 0, waitedMs: 0 }));
    counts.waits += 1;
    counts.waitedMs += ms;
  }

  #tenantOf(name: string): Tenant {
    const known = this.#tenants.get(name);
    if (known !== undefined) return known;
    const limits = this.#limits.get(name);
    const tenant: Tenant = {
      name,
      index: limits?.index ?? this.#limits.size,
      ...toBounds(limits),
      waiting: [],
      inFlight: 0,
      servedAt: 0,
    };
    this.#tenants.set(name, tenant);
    return tenant;
  }

  /** Drops the state of an idle tenant. */
  #forget(tenant: Tenant): void {
    const isIdle = tenant.inFlight === 0 && tenant.waiting.length === 0;
    if (isIdle && this.#tenants.get(tenant.name) === tenant) this.#tenants.delete(tenant.name);
  }
}

function byName(tenants: readonly TenantLimits[]) {
  return new Map(tenants.map((limits, index) => [limits.name, { ...limits, index }]));
}

function toBounds({ maxQueued = Infinity, maxConcurrent = Infinity }: Partial<TenantLimits> = {}) {
  return { maxQueued, maxConcurrent };
}

interface Tenant {
  readonly name: string;
  index: number;
  maxQueued: number;
  maxConcurrent: number;
  /** Queued requests in order of arrival, retries first. */
  readonly waiting: Waiter[];
  inFlight: number;
  /** The sequence number of the tenant's last admission. */
  servedAt: number;
}

interface Waiter {
  readonly request: AdmissionRequest;
  /** Finds a place in the pool that received the request. */
  readonly find: FindPlace;
  readonly signal: AbortSignal;
  readonly wait: Wait<Place>;
}

function toShareError({ waiting, inFlight }: Tenant): EngineError {
  return new EngineError(
    "tenant-limit",
    `Your share of this model is used up: ${inFlight} of your requests are in flight and ${waiting.length} are ` +
      "waiting. Wait for some of them to end, then try again.",
    { retryAfter: 1 },
  );
}
