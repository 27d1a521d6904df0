/**
 * Several backends that serve one model, behind the interface of one engine: the turn does not know.
 *
 * A completion goes where its conversation went before, so that the prefix cache is hit, unless that
 * backend is much busier than another; without a conversation to the one with the least to do. What fails
 * before its first token is tried elsewhere; after it never, because the client has seen the token.
 */
import { rankByAffinity } from "./affinity.ts";
import { type Attempt, Backend, type BackendOptions, type BackendState, judge } from "./backend.ts";
import type { CircuitOptions } from "./circuit.ts";
import { type Clock, systemClock } from "./clock.ts";
import { createFlow, type Flow, forEachOf, type Take } from "../flow.ts";
import { EngineError } from "./engine-error.ts";
import type {
  Capabilities,
  CompletionRequest,
  Engine,
  EngineEvent,
  EngineProbe,
} from "./engine.ts";

export interface PoolOptions {
  /** How many completions may wait for room, over all backends. */
  readonly maxQueued?: number;
  /** How long one may wait. */
  readonly queueTimeoutMs?: number;
  /** Backends one completion is tried on. */
  readonly maxAttempts?: number;
  /** How many more completions than the idlest a conversation's own backend may have under way. */
  readonly affinitySlack?: number;
  readonly circuit?: CircuitOptions;
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
   * @param onChange told of a backend whose health has changed since it was last looked at.
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
  /** The shortest of the backends', as far as it is known: a conversation may go to any of them. */
  readonly contextLength?: number;
  readonly backends: readonly BackendState[];
}

const DEFAULTS = {
  maxQueued: 256,
  queueTimeoutMs: 60_000,
  maxAttempts: 3,
  affinitySlack: 8,
} as const;

/** @param options at least one. */
export function createPool(
  options: readonly BackendOptions[],
  poolOptions: PoolOptions = {},
): Pool {
  const { clock = systemClock, circuit } = poolOptions;
  const settings = { ...DEFAULTS, ...poolOptions };
  const backends = options.map((each) => new Backend(each, clock, circuit));
  const waiters: Waiter[] = [];
  let turn = 0;

  /** The backend for a completion, undefined while those that would take it are full. Throws when none would. */
  const choose = (
    affinity: string | undefined,
    tried: ReadonlySet<Backend>,
  ): Backend | undefined => {
    const admitting = backends.filter((backend) => backend.isAdmitting && !tried.has(backend));
    if (admitting.length === 0) throw toUnavailable(backends);
    const free = admitting.filter((backend) => !backend.isFull);
    const rested = free.filter((backend) => !backend.isResting);
    const candidates = rested.length > 0 ? rested : free;
    const [first] = candidates;
    if (first === undefined || candidates.length === 1) return first;
    const idlest = Math.min(...candidates.map(({ inFlight }) => inFlight));
    if (affinity !== undefined) {
      const limit = idlest + settings.affinitySlack;
      return rankByAffinity(affinity, candidates).find(({ inFlight }) => inFlight <= limit);
    }
    // Those that have equally little to do take turns.
    const idle = candidates.filter(({ inFlight }) => inFlight === idlest);
    turn += 1;
    return idle[turn % idle.length];
  };

  /** Counts a completion in, after waiting for room if need be. */
  const enter = async (
    affinity: string | undefined,
    tried: ReadonlySet<Backend>,
    signal: AbortSignal,
  ): Promise<Entry> => {
    signal.throwIfAborted();
    // Those who wait come first: the pause of a backend may have ended since.
    admitWaiters();
    const backend = choose(affinity, tried);
    if (backend !== undefined) return { backend, attempt: backend.begin() };
    if (waiters.length >= settings.maxQueued) {
      throw new EngineError(
        "overloaded",
        `All backends are busy, and no more requests may wait than the ${waiters.length} that do.`,
        { retryAfter: 1 },
      );
    }
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        admit: () => {
          const free = choose(affinity, tried);
          if (free === undefined) return false;
          resolve({ backend: free, attempt: free.begin() });
          return true;
        },
        refuse: reject,
        stop: () => {
          cancel();
          signal.removeEventListener("abort", onAbort);
        },
      };
      const giveUp = (error: unknown): void => {
        waiters.splice(waiters.indexOf(waiter), 1);
        waiter.stop();
        reject(error);
      };
      const onAbort = (): void => giveUp(signal.reason);
      const cancel = clock.after(settings.queueTimeoutMs, () =>
        giveUp(
          new EngineError(
            "overloaded",
            `All backends stayed busy for ${settings.queueTimeoutMs} ms.`,
            { retryAfter: 1 },
          ),
        ),
      );
      signal.addEventListener("abort", onAbort, { once: true });
      waiters.push(waiter);
    });
  };

  /** Lets in whoever waits, in order, as long as there is room. */
  const admitWaiters = (): void => {
    for (let first = waiters[0]; first !== undefined; first = waiters[0]) {
      try {
        if (!first.admit()) return;
      } catch (error) {
        first.refuse(error);
      }
      waiters.shift();
      first.stop();
    }
  };

  const complete = (request: CompletionRequest, signal: AbortSignal): Flow<EngineEvent> =>
    createFlow((take) => completeSomewhere(request, signal, take));

  async function completeSomewhere(
    request: CompletionRequest,
    signal: AbortSignal,
    take: Take<EngineEvent>,
  ): Promise<void> {
    const tried = new Set<Backend>();
    let opened = false;
    for (let tries = 1; ; tries += 1) {
      const { backend, attempt } = await enter(request.affinity, tried, signal);
      let sampled = false;
      try {
        await forEachOf(backend.engine.complete(request, signal), (event) => {
          if (event.type !== "open") {
            sampled = true;
          } else if (opened) {
            return true;
          } else {
            opened = true;
          }
          return take(event);
        });
        return;
      } catch (error) {
        if (signal.aborted) throw error;
        attempt.fail(error);
        const isOver = sampled || tries >= settings.maxAttempts || judge(error) === "refusal";
        if (isOver || !canRetry(backend, tried, tries, error)) throw error;
      } finally {
        // Left early: with a token in hand the backend has shown that it is well.
        if (sampled) attempt.succeed();
        else attempt.leave();
        admitWaiters();
      }
    }
  }

  /** Whether somebody is left to try. A lone backend gets a second chance after a broken connection. */
  const canRetry = (
    backend: Backend,
    tried: Set<Backend>,
    tries: number,
    error: unknown,
  ): boolean => {
    const others = backends.some(
      (each) => each !== backend && !tried.has(each) && each.isAdmitting,
    );
    if (others) {
      tried.add(backend);
      return true;
    }
    // A kept connection may have been closed by the server in the moment it was used again.
    return (
      tries === 1 &&
      backend.isAdmitting &&
      error instanceof EngineError &&
      error.kind === "unreachable"
    );
  };

  const readState = (): PoolState => {
    const contextLength = shortestContext(backends);
    return {
      ready: backends.some((backend) => backend.isAdmitting),
      queued: waiters.length,
      ...(contextLength !== undefined && { contextLength }),
      backends: backends.map(({ state }) => state),
    };
  };

  return {
    backends,
    name: commonName(backends),
    complete,
    get capabilities() {
      return backends.map(({ engine }) => engine.capabilities).reduce(inCommon);
    },
    get state() {
      return readState();
    },
    async probe(signal) {
      // A backend that hangs until the signal aborts takes nothing from those that have answered.
      const results = await Promise.allSettled(backends.map((backend) => backend.probe(signal)));
      admitWaiters();
      return mergeProbes(backends, results);
    },
    async check(signal) {
      await Promise.all(backends.map((backend) => backend.check(signal)));
      signal.throwIfAborted();
      admitWaiters();
      if (!readState().ready) throw toUnavailable(backends);
    },
    async watch(everyMs, signal, onChange) {
      // Each at its own pace: one that hangs must not keep the others from being looked at.
      const watchOne = async (backend: Backend): Promise<void> => {
        let { health } = backend.state;
        while (!signal.aborted) {
          await look(backend, signal);
          if (signal.aborted) return;
          admitWaiters();
          const { state } = backend;
          if (state.health !== health) onChange?.(state);
          ({ health } = state);
          await pause(clock, everyMs, signal);
        }
      };
      await Promise.all(backends.map(watchOne));
    },
  };
}

interface Entry {
  readonly backend: Backend;
  readonly attempt: Attempt;
}

interface Waiter {
  /** Takes a place, if there is one. Throws when nobody would take it any more. */
  admit(): boolean;
  refuse(error: unknown): void;
  /** Ends its timer and its listener. */
  stop(): void;
}

function toUnavailable(backends: readonly Backend[]): EngineError {
  const seconds = Math.ceil(Math.min(...backends.map(({ waitMs }) => waitMs)) / 1_000);
  const reasons = new Set(backends.flatMap(({ reason }) => (reason === undefined ? [] : [reason])));
  return new EngineError("unavailable", ["No backend is available.", ...reasons].join(" "), {
    retryAfter: Math.max(1, seconds),
  });
}

function commonName(backends: readonly Backend[]): string {
  const names = new Set(backends.map(({ engine }) => engine.name));
  return [...names].join("+");
}

/** What holds for both: a request is written before it is known who gets it. */
function inCommon(a: Capabilities, b: Capabilities): Capabilities {
  return {
    idsIn: a.idsIn && b.idsIn,
    idsOut: IDS_OUT.find((each) => each === a.idsOut || each === b.idsOut) ?? "none",
    stopIdVisible: a.stopIdVisible && b.stopIdVisible,
    stopIds: a.stopIds && b.stopIds,
    constraints: a.constraints.filter((each) => b.constraints.includes(each)),
    logprobs: a.logprobs && b.logprobs,
    sampling: a.sampling.filter((each) => b.sampling.includes(each)),
  };
}

/** From least to most. */
const IDS_OUT = ["unmarked", "none", "lossy", "exact"] as const;

/** One working backend is enough; a failure counts when all have one. */
function mergeProbes(
  backends: readonly Backend[],
  results: readonly PromiseSettledResult<EngineProbe>[],
): EngineProbe {
  const probes = results.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
  const failure = results.find((each) => each.status === "rejected");
  if (probes.length === 0 && failure !== undefined) throw failure.reason;
  const contextLength = shortestContext(backends);
  const models = new Set(probes.flatMap((each) => each.models ?? []));
  return {
    description: [...new Set(probes.map(({ description }) => description))].join(", "),
    ...(contextLength !== undefined && { contextLength }),
    ...(models.size > 0 && { models: [...models] }),
    capabilities: backends.map(({ engine }) => engine.capabilities).reduce(inCommon),
  };
}

function shortestContext(backends: readonly Backend[]): number | undefined {
  const lengths = backends.flatMap(({ contextLength }) => contextLength ?? []);
  return lengths.length > 0 ? Math.min(...lengths) : undefined;
}

/** Longest time a backend is given for a probe, which samples a token. */
const PROBE_TIMEOUT_MS = 30_000;

/**
 * Never throws: what was found is the backend's new state. One that is down has to complete something to be
 * up again, and better a probe of ours than the request of a client.
 */
async function look(backend: Backend, signal: AbortSignal): Promise<void> {
  if (backend.isProbed && !backend.isDown) return backend.check(signal);
  const limited = AbortSignal.any([signal, AbortSignal.timeout(PROBE_TIMEOUT_MS)]);
  await backend.probe(limited).catch(() => undefined);
}

function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const finish = (): void => {
      cancel();
      signal.removeEventListener("abort", finish);
      resolve();
    };
    const cancel = clock.after(ms, finish);
    signal.addEventListener("abort", finish, { once: true });
    if (signal.aborted) finish();
  });
}
