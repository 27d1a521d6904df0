/**
 * Several backends that serve one model, behind the interface of one engine: the turn does not know.
 *
 * A completion waits for a place (`pool/admission.ts`), goes where its conversation went before or where there is least
 * to do (`pool/choose-backend.ts`), and is tried elsewhere when it fails (`pool/failover.ts`). How a backend is doing is
 * judged by its requests (`pool/breaker.ts`) and by health checks (`pool/monitor.ts`).
 */
import { type Clock, systemClock } from "./clock.ts";
import { createPushStream } from "../streams/push-stream.ts";
import { EngineError } from "./engine-error.ts";
import type { Engine } from "./engine.ts";
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
import { describeKind } from "./pool/judge.ts";
import { monitorBackends } from "./pool/monitor.ts";
import { RetryBudget } from "./pool/retry-budget.ts";

export interface PoolOptions {
  /** How many completions may wait for room, over all backends. */
  readonly maxQueued?: number;
  /** How long one may wait. */
  readonly queueTimeoutMs?: number;
  /** What tenants may have at a time. Those that are not here are limited only by one another. */
  readonly tenants?: readonly TenantLimits[];
  /** How often one completion is sent to a backend that can be reached. */
  readonly maxAttempts?: number;
  /** How many more completions than the idlest a conversation's own backend may have in flight. */
  readonly affinitySlack?: number;
  readonly breaker?: BreakerOptions;
  readonly clock?: Clock;
}

export interface Pool extends Engine {
  readonly backends: readonly Backend[];
  /** A snapshot for `/ready`, logs and metrics. */
  readonly state: PoolState;
  check(signal: AbortSignal): Promise<void>;
  /**
   * Checks all backends again and again until the signal aborts, and probes those that are down or have never
   * answered a probe. Resolves then.
   *
   * @param onChange told of a backend whose health has changed since it was last checked.
   */
  watch(
    everyMs: number,
    signal: AbortSignal,
    onChange?: (state: BackendState) => void,
  ): Promise<void>;
}

export interface PoolState {
  /** Some backend would take a completion, now or when there is room. */
  readonly ready: boolean;
  /** Completions that wait for room. */
  readonly queued: number;
  /** Completions that were tried again elsewhere, so far. */
  readonly retries: number;
  readonly tenants: readonly TenantState[];
  /** The shortest of the backends', as far as it is known: a conversation may go to any of them. */
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
  const { clock = systemClock, breaker } = poolOptions;
  const { affinitySlack, maxAttempts, ...limits } = { ...DEFAULTS, ...poolOptions };
  const backends: readonly Backend[] = options.map((each, at) => {
    const isLast = () => backends.every((other, index) => index === at || !other.isStanding);
    return new Backend(each, clock, breaker, isLast);
  });
  let turn = 0;
  const find: FindPlace = ({ affinity, tried }) => {
    const candidates = findCandidates(backends, tried);
    if (candidates.length === 0) throw toUnavailable(backends);
    return chooseBackend(candidates, affinity, { affinitySlack, turn: (turn += 1) });
  };
  const admission = new Admission(limits, find, clock);
  let retries = 0;
  const failover = {
    backends,
    admission,
    budget: new RetryBudget({
      inFlight: () => admission.inFlight,
      maxWaiting: limits.maxQueued,
      timeoutMs: limits.queueTimeoutMs,
      clock,
    }),
    maxAttempts,
    onRetry: () => {
      retries += 1;
    },
  };

  const readState = (): PoolState => {
    const contextLength = shortestContext(backends);
    return {
      ready: backends.some((backend) => !backend.isDown),
      queued: admission.queued,
      retries,
      tenants: admission.tenants,
      ...(contextLength !== undefined && { contextLength }),
      backends: backends.map(({ state }) => state),
    };
  };

  return {
    backends,
    name: commonName(backends),
    complete: (request, signal) =>
      createPushStream((take) => completeWithFailover(request, signal, take, failover)),
    get capabilities() {
      return commonCapabilities(backends);
    },
    get state() {
      return readState();
    },
    async probe(signal) {
      // A backend that hangs until the signal aborts takes nothing from those that have answered.
      const results = await Promise.allSettled(backends.map((backend) => backend.probe(signal)));
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
  return new EngineError(
    "unavailable",
    `No backend is available${why.length > 0 ? ` (${why.join(", ")})` : ""}.`,
    { retryAfter: Math.max(1, seconds) },
  );
}
