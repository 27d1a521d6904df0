/**
 * Several backends that serve one model, behind the interface of one engine.
 *
 * A completion waits for a slot (`pool/admission.ts`), goes to the backend of its conversation or to the least loaded
 * one (`pool/choose-backend.ts`), and is retried on another if it fails (`pool/failover.ts`). The health of a backend
 * is judged by its requests (`pool/breaker.ts`) and by health checks (`pool/monitor.ts`).
 */
import { type Clock, systemClock } from "./clock.ts";
import { EngineError } from "./engine-error.ts";
import type { Engine, EngineProbe } from "./engine.ts";
import {
  Admission,
  type FindPlace,
  type TenantLimits,
  type TenantState,
} from "./pool/admission.ts";
import { Backend, type BackendOptions, type BackendState } from "./pool/backend.ts";
import type { BreakerOptions } from "./pool/breaker.ts";
import { chooseBackend, findCandidates } from "./pool/choose-backend.ts";
import { commonCapabilities, commonName, mergeProbes, shortestContext } from "./pool/combine.ts";
import { completeWithFailover } from "./pool/failover.ts";
import {
  createBackendCounts,
  createPoolCounts,
  getOrCreate,
  type PoolCounts,
} from "./pool/counts.ts";
import { describeKind } from "./pool/judge.ts";
import { monitorBackends, type OnBackendChange } from "./pool/monitor.ts";
import { RetryBudget } from "./pool/retry-budget.ts";

export interface PoolOptions {
  /** The most completions that may be queued, over all backends. */
  readonly maxQueued?: number;
  /** The longest time a completion may be queued. */
  readonly queueTimeoutMs?: number;
  /** Limits of tenants. Tenants not listed only share the backends fairly. */
  readonly tenants?: readonly TenantLimits[];
  /** The most attempts of one completion at backends that can be reached. */
  readonly maxAttempts?: number;
  /** How many more in-flight completions than the least loaded backend a conversation's own backend may have. */
  readonly affinitySlack?: number;
  readonly breaker?: BreakerOptions;
  /** Counters of the model's former pool, which this one continues. Default: zero. */
  readonly counts?: PoolCounts;
  readonly clock?: Clock;
}

export interface Pool extends Engine {
  readonly backends: readonly Backend[];
  /** A snapshot for `/ready`, logs and metrics. */
  readonly state: PoolState;
  /** That of the state. It is needed with each request, and the rest of the state is not. */
  readonly contextLength: number | undefined;
  /** @param onContextLength called as soon as the context length of a backend is known. */
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
  /** In tokens, the shortest known one of the backends: a conversation may go to any of them. */
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

/** @param options at least one. */
export function createPool(
  options: readonly BackendOptions[],
  poolOptions: PoolOptions = {},
): Pool {
  const { clock = systemClock, breaker, counts = createPoolCounts() } = poolOptions;
  const { affinitySlack, maxAttempts, ...limits } = { ...DEFAULTS, ...poolOptions };
  const backends: readonly Backend[] = options.map((each, at) => {
    const isLast = () => backends.every((other, index) => index === at || !other.isStanding);
    const own = getOrCreate(counts.backends, each.id, createBackendCounts);
    return new Backend(each, clock, breaker, isLast, own);
  });
  let turn = 0;
  const find: FindPlace = ({ affinity, tried }) => {
    const candidates = findCandidates(backends, tried);
    if (candidates.length === 0) throw toUnavailable(backends);
    return chooseBackend(candidates, affinity, { affinitySlack, turn: (turn += 1) });
  };
  const admission = new Admission(limits, find, clock, counts.waits);
  const budget = new RetryBudget({
    inFlight: () => admission.inFlight,
    maxWaiting: limits.maxQueued,
    timeoutMs: limits.queueTimeoutMs,
    clock,
  });
  const failover = {
    backends,
    admission,
    budget,
    maxAttempts,
    clock,
    onRetry: () => {
      counts.retries += 1;
    },
  };

  const readState = (): PoolState => {
    const contextLength = shortestContext(backends);
    return {
      ready: backends.some((backend) => !backend.isDown),
      queued: admission.queued + budget.waiting,
      retries: counts.retries,
      tenants: admission.tenants,
      ...(contextLength !== undefined && { contextLength }),
      backends: backends.map(({ state }) => state),
    };
  };

  return {
    backends,
    get name() {
      return commonName(backends);
    },
    complete: (request, signal) => completeWithFailover(request, signal, failover),
    get capabilities() {
      return commonCapabilities(backends);
    },
    get state() {
      return readState();
    },
    get contextLength() {
      return shortestContext(backends);
    },
    async probe(signal, onContextLength) {
      const probe = async (backend: Backend): Promise<EngineProbe> => {
        const found = await backend.probe(signal);
        if (backend.contextLength !== undefined) onContextLength?.();
        return found;
      };
      // A backend that hangs must not discard the answers of the others.
      const results = await Promise.allSettled(backends.map(probe));
      admission.dispatch();
      return mergeProbes(backends, results);
    },
    async check(signal) {
      await Promise.all(backends.map((backend) => backend.check(signal)));
      signal.throwIfAborted();
      admission.dispatch();
      if (!readState().ready) throw toUnavailable(backends);
    },
    watch: (everyMs, signal, onChange = () => undefined) =>
      monitorBackends(
        backends,
        { everyMs, clock, onChange, onChecked: () => admission.dispatch() },
        signal,
      ),
  };
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
