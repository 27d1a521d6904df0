/** Chooses the backend of a completion. */
import type { Backend } from "./backend.ts";
import { rankByAffinity } from "./rank-by-affinity.ts";

export interface Wish {
  /** Completions with the same affinity go to the same backend if possible, to hit its prefix cache. */
  readonly affinity: string | undefined;
  /** Backends on which it has already failed. */
  readonly tried: ReadonlySet<Backend>;
}

export interface ChoiceOptions {
  /** How many more in-flight completions than the least loaded backend a conversation's own backend may have. */
  readonly affinitySlack: number;
  /** Incremented with each call, so that equally loaded backends take turns. */
  readonly turn: number;
}

/**
 * The backends that accept the completion, full or not. If none does, those with an open breaker are used: the request
 * may fail there, but refusing it would certainly fail.
 */
export function findCandidates(
  backends: readonly Backend[],
  tried: ReadonlySet<Backend>,
): readonly Backend[] {
  const untried = backends.filter((backend) => !backend.isDown && !tried.has(backend));
  const admitting = untried.filter((backend) => backend.isAdmitting);
  return preferMarked(admitting.length > 0 ? admitting : untried);
}

/** Output without control tokens is ambiguous: such an engine is the last choice. */
function preferMarked(backends: readonly Backend[]): readonly Backend[] {
  const marked = backends.filter(({ engine }) => engine.capabilities.idsOut !== "unmarked");
  return marked.length > 0 ? marked : backends;
}

/** The best of the candidates; undefined if all are full. */
export function chooseBackend(
  candidates: readonly Backend[],
  affinity: string | undefined,
  { affinitySlack, turn }: ChoiceOptions,
): Backend | undefined {
  const free = candidates.filter((backend) => !backend.isFull);
  const rested = free.filter((backend) => !backend.isResting);
  const choice = rested.length > 0 ? rested : free;
  const [first] = choice;
  if (first === undefined || choice.length === 1) return first;
  const idlest = Math.min(...choice.map(({ inFlight }) => inFlight));
  if (affinity !== undefined) {
    const limit = idlest + affinitySlack;
    return rankByAffinity(affinity, choice).find(({ inFlight }) => inFlight <= limit);
  }
  const idle = choice.filter(({ inFlight }) => inFlight === idlest);
  return idle[turn % idle.length];
}
