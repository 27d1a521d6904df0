/** Which backend a completion goes to. */
import type { Backend } from "./backend.ts";
import { rankByAffinity } from "./rank-by-affinity.ts";

export interface Wish {
  /** Completions with the same affinity go to the same backend, so that its prefix cache is hit. */
  readonly affinity: string | undefined;
  /** Backends on which it has failed already. */
  readonly tried: ReadonlySet<Backend>;
}

export interface ChoiceOptions {
  /** How many more completions than the idlest a conversation's own backend may have in flight. */
  readonly affinitySlack: number;
  /** Changes with each call: backends that have equally little to do take turns. */
  readonly turn: number;
}

/**
 * The backends that would take it, full or not. When none can be counted on, those that only failures have put out
 * are asked all the same: that may fail, and refusing would be sure to.
 */
export function findCandidates(
  backends: readonly Backend[],
  tried: ReadonlySet<Backend>,
): readonly Backend[] {
  const untried = backends.filter((backend) => !backend.isDown && !tried.has(backend));
  const admitting = untried.filter((backend) => backend.isAdmitting);
  return preferMarked(admitting.length > 0 ? admitting : untried);
}

/** What comes without control tokens is refused or guessed at: such an engine is asked when there is no other. */
function preferMarked(backends: readonly Backend[]): readonly Backend[] {
  const marked = backends.filter(({ engine }) => engine.capabilities.idsOut !== "unmarked");
  return marked.length > 0 ? marked : backends;
}

/** The one among them that takes it, undefined while all are full. */
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
