/**
 * Several backends that serve one model, behind the interface of one engine.
 *
 * A completion waits for a slot (`pool/admission.ts`), is sent to the backend of its conversation or to the least loaded one
 * (`pool/choose-backend.ts`), and is retried on another if it fails (`pool/failover.ts`). The health of a backend is derived from
 * its requests (`pool/breaker.ts`) and from health checks (`pool/monitor.ts`).
 */
import { type Clock, systemClock } from "./clock.ts";
import { EngineError } from "./engine-error.ts";
import type {
  Capabilities,
  CompletionRequest,
  Engine,
  EngineEvent,
  EngineProbe,
} from "./engine.ts";
import type { AdmissionOptions, FindPlace, TenantLimits, TenantState } from "./pool/admission.ts";
import { Backend, type BackendOptions, type BackendState } from "./pool/backend.ts";
import type { BreakerOptions } from "./pool/breaker.ts";
import { chooseBackend, findCandidates } from "./pool/choose-backend.ts";
import { completeWithFailover, type FailoverDeps } from "./pool/failover.ts";
import { describeKind } from "./pool/error-class.ts";
import type { BackendHealth } from "./pool/backend-load.ts";
import { PoolLoad } from "./pool/load.ts";
import { monitorBackends, type OnBackendChange } from "./pool/monitor.ts";

export interface PoolOptions {
  /** Maximum queued completions, over all backends. */
  readonly maxQueued?: number;
  /** Maximum time of a completion in the queue. */
  readonly queueTimeoutMs?: number;
  /** Limits of tenants. Tenants not listed only share the backends fairly. */
  readonly tenants?: readonly TenantLimits[];
  /** Maximum attempts of one completion at reachable backends. */
  readonly maxAttempts?: number;
  /** Maximum of in-flight completions by which a conversation's own backend may exceed the least loaded backend. */
  readonly affinitySlack?: number;
  readonly breaker?: BreakerOptions;
  /** Load of the model's former pool, which this pool continues: its limits hold until `enforce`. Default: no load. */
  readonly load?: PoolLoad;
  readonly clock?: Clock;
}

export interface Pool extends Engine {
  readonly backends: readonly Backend[];
  /** A snapshot for `/ready`, logs and metrics. */
  readonly state: PoolState;
  /** The context length of `state`, for each request, without the cost of the whole state. */
  readonly contextLength: number | undefined;
  /** Applies the limits of this pool, in place of the former one's, to requests of both. */
  enforce(): void;
  /**
   * Probes all backends. The first call reuses a former pool's findings for backends that are not down: a reload adds no vote.
   *
   * @param onContextLength called as soon as the context length of a backend is known.
   */
  probe(signal: AbortSignal, onContextLength?: () => void): Promise<EngineProbe>;
  check(signal: AbortSignal): Promise<void>;
  /**
   * Checks all backends periodically until the signal aborts, and probes those that are down or have never answered a
   * probe. Resolves when the signal aborts.
   *
   * @param onChange called when a check finds that the health of a backend has changed, or that it has no health check.
   */
  watch(everyMs: number, signal: AbortSignal, onChange?: OnBackendChange): Promise<void>;
}

export interface PoolState {
  /** At least one backend accepts completions, now or once it has a free slot. */
  readonly ready: boolean;
  /** Completions that wait for a slot, or for the retry budget. */
  readonly queued: number;
  /** Retries so far. */
  readonly retries: number;
  readonly tenants: readonly TenantState[];
  /** The shortest known context length of the backends, in tokens: a conversation may use any of them. */
  readonly contextLength?: number;
  readonly backends: readonly BackendState[];
}

const DEFAULTS = {
  maxQueued: 256,
  queueTimeoutMs: 60_000,
  tenants: [],
  maxAttempts: 3,
  affinitySlack: 8,
} as const;

/** @param options options of at least one backend. */
export function createPool(
  options: readonly BackendOptions[],
  poolOptions: PoolOptions = {},
): Pool {
  return new BackendPool(options, poolOptions);
}

class BackendPool implements Pool {
  readonly backends: readonly Backend[];
  readonly #clock: Clock;
  readonly #load: PoolLoad;
  readonly #limits: AdmissionOptions;
  readonly #healths: ReadonlySet<BackendHealth | undefined>;
  readonly #affinitySlack: number;
  readonly #failover: FailoverDeps;
  #turn = 0;
  #hasProbed = false;

  constructor(options: readonly BackendOptions[], poolOptions: PoolOptions) {
    const { clock = systemClock, breaker } = poolOptions;
    const { affinitySlack, maxAttempts, maxQueued, queueTimeoutMs, tenants } = {
      ...DEFAULTS,
      ...poolOptions,
    };
    const limits = { maxQueued, queueTimeoutMs, tenants };
    const { load = new PoolLoad(limits, clock) } = poolOptions;
    const backends: readonly Backend[] = options.map((each, at) => {
      const isLast = () => backends.every((other, index) => index === at || !other.isStanding);
      return new Backend(each, clock, breaker, isLast, load.of(each.id, each.server ?? each.id));
    });
    const find: FindPlace = (wish) => this.#findPlace(wish);
    this.backends = backends;
    this.#clock = clock;
    this.#load = load;
    this.#limits = limits;
    this.#healths = new Set(options.map(({ health }) => health));
    this.#affinitySlack = affinitySlack;
    this.#failover = { backends, load, find, maxAttempts, clock };
  }

  enforce(): void {
    for (const backend of this.backends) backend.enforce();
    this.#load.limit(this.#limits);
    this.#load.keepOnly(this.#healths);
  }

  get name(): string {
    return commonName(this.backends);
  }

  get capabilities(): Capabilities {
    return commonCapabilities(this.backends);
  }

  get contextLength(): number | undefined {
    return shortestContext(this.backends);
  }

  get state(): PoolState {
    const { contextLength } = this;
    return {
      ready: this.#isReady,
      queued: this.#load.admission.queued + this.#load.budget.waiting,
      retries: this.#load.retries,
      tenants: this.#load.admission.tenants,
      ...(contextLength !== undefined && { contextLength }),
      backends: this.backends.map(({ state }) => state),
    };
  }

  complete(request: CompletionRequest, signal: AbortSignal): AsyncIterable<EngineEvent> {
    return completeWithFailover(request, signal, this.#failover);
  }

  async probe(signal: AbortSignal, onContextLength?: () => void): Promise<EngineProbe> {
    const isFirst = !this.#hasProbed;
    this.#hasProbed = true;
    const probe = async (backend: Backend): Promise<EngineProbe> => {
      const found = (isFirst ? backend.found : undefined) ?? (await backend.probe(signal));
      if (backend.contextLength !== undefined) onContextLength?.();
      return found;
    };
    // A backend that hangs must not discard the answers of the others.
    const results = await Promise.allSettled(this.backends.map(probe));
    this.#load.admission.dispatch();
    return mergeProbes(this.backends, results);
  }

  async check(signal: AbortSignal): Promise<void> {
    await Promise.all(this.backends.map((backend) => backend.check(signal)));
    signal.throwIfAborted();
    this.#load.admission.dispatch();
    if (!this.#isReady) throw toUnavailable(this.backends);
  }

  watch(
    everyMs: number,
    signal: AbortSignal,
    onChange: OnBackendChange = () => undefined,
  ): Promise<void> {
    const onChecked = () => this.#load.admission.dispatch();
    const options = { everyMs, clock: this.#clock, onChange, onChecked };
    return monitorBackends(this.backends, options, signal);
  }

  get #isReady(): boolean {
    return this.backends.some((backend) => !backend.isDown);
  }

  #findPlace({ affinity, tried }: Parameters<FindPlace>[0]): ReturnType<FindPlace> {
    const candidates = findCandidates(this.backends, tried);
    if (candidates.length === 0) throw toUnavailable(this.backends);
    const preference = { affinitySlack: this.#affinitySlack, turn: (this.#turn += 1) };
    return chooseBackend(candidates, affinity, preference);
  }
}

function toUnavailable(backends: readonly Backend[]): EngineError {
  const seconds = Math.ceil(Math.min(...backends.map(({ waitMs }) => waitMs)) / 1_000);
  const why = backends.flatMap(({ id, state: { reason } }) =>
    reason === undefined ? [] : [`${id}: ${describeKind(reason)}`],
  );
  const causes = backends.flatMap(({ id, checkFailure }) =>
    checkFailure === undefined
      ? []
      : [backends.length > 1 ? `${id}: ${checkFailure}` : checkFailure],
  );
  return new EngineError(
    "unavailable",
    `No backend is available${why.length > 0 ? ` (${why.join(", ")})` : ""}.`,
    {
      retryAfter: Math.max(1, seconds),
      ...(causes.length > 0 && { operatorMessage: causes.join(" ") }),
    },
  );
}

/** Merges the names, capabilities and probes of several engines. */
function commonName(backends: readonly Backend[]): string {
  const [first] = backends;
  if (first !== undefined && backends.length === 1) return first.engine.name;
  const names = new Set(backends.map(({ engine }) => engine.name));
  return [...names].join("+");
}

/** The common capabilities: a request is written before its backend is chosen. */
function commonCapabilities(backends: readonly Backend[]): Capabilities {
  const [first] = backends;
  if (first !== undefined && backends.length === 1) return first.engine.capabilities;
  return backends.map(({ engine }) => engine.capabilities).reduce(inCommon);
}

/** The shortest context length, in tokens: a conversation may use any of the backends. */
function shortestContext(backends: readonly Backend[]): number | undefined {
  let shortest: number | undefined;
  for (const { contextLength } of backends) {
    if (contextLength !== undefined && (shortest === undefined || contextLength < shortest)) {
      shortest = contextLength;
    }
  }
  return shortest;
}

/** Merges successful probes. Throws the first failure if all have failed. */
function mergeProbes(
  backends: readonly Backend[],
  results: readonly PromiseSettledResult<EngineProbe>[],
): EngineProbe {
  const probes = results.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
  const failure = results.find((each) => each.status === "rejected");
  if (probes.length === 0 && failure !== undefined) throw failure.reason;
  const contextLength = shortestContext(backends);
  const warnings = [...new Set(probes.flatMap((each) => each.warnings ?? []))];
  const models = new Set(probes.flatMap((each) => each.models ?? []));
  return {
    description: [...new Set(probes.map(({ description }) => description))].join(", "),
    ...(contextLength !== undefined && { contextLength }),
    ...(models.size > 0 && { models: [...models] }),
    ...(warnings.length > 0 && { warnings }),
    capabilities: commonCapabilities(backends),
  };
}

function inCommon(a: Capabilities, b: Capabilities): Capabilities {
  return {
    idsIn: a.idsIn && b.idsIn,
    idsOut: worseIdsOut(a.idsOut, b.idsOut),
    ...(a.showsMarkers === true && b.showsMarkers === true && { showsMarkers: true }),
    stopIdVisible: a.stopIdVisible && b.stopIdVisible,
    stopIds: a.stopIds && b.stopIds,
    constraints: a.constraints.filter((each) => b.constraints.includes(each)),
    logprobs: a.logprobs && b.logprobs,
    sampling: a.sampling.filter((each) => b.sampling.includes(each)),
  };
}

type IdsOut = Capabilities["idsOut"];

/** The weaker form of output. `unmarked` only if all are: `choose-backend.ts` prefers the others. */
function worseIdsOut(a: IdsOut, b: IdsOut): IdsOut {
  if (a === "unmarked" && b === "unmarked") return "unmarked";
  return IDS_OUT.find((each) => each === a || each === b) ?? "none";
}

/** Forms of output from weakest to strongest. */
const IDS_OUT: readonly IdsOut[] = ["none", "lossy", "exact"];
