/** Chooses the backend of a completion. */
import type { Backend } from "./backend.ts";

export interface Wish {
  /** Completions with the same affinity use the same backend if possible, to hit its prefix cache. */
  readonly affinity: string | undefined;
  /** Backends on which the completion has failed. */
  readonly tried: ReadonlySet<Backend>;
}

interface ChoiceOptions {
  /** Maximum of in-flight completions by which a conversation's own backend may exceed the least loaded backend. */
  readonly affinitySlack: number;
  /** Incremented with each call, so that equally loaded backends take turns. */
  readonly turn: number;
}

/**
 * The backends that accept the completion, full or not. If none does, backends with an open breaker are used: the request may
 * fail there, but a refusal would fail it with certainty.
 */
export function findCandidates(
  backends: readonly Backend[],
  tried: ReadonlySet<Backend>,
): readonly Backend[] {
  const untried = backends.filter((backend) => !backend.isDown && !tried.has(backend));
  const admitting = untried.filter((backend) => backend.isAdmitting);
  return preferMarked(admitting.length > 0 ? admitting : untried);
}

/** Excludes engines whose output has no control tokens, which is ambiguous, if there are others. */
function preferMarked(backends: readonly Backend[]): readonly Backend[] {
  const marked = backends.filter(({ engine }) => engine.capabilities.idsOut !== "unmarked");
  return marked.length > 0 ? marked : backends;
}

/** The best of the candidates. Undefined: all are full. */
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

/**
 * `items` from most to least preferred for `key`, by rendezvous hashing: equal in every replica of the gateway, without a table.
 * When a backend is removed, only its own conversations move; a new one gets an equal share from all.
 */
export function rankByAffinity<T extends { readonly id: string }>(
  key: string,
  items: readonly T[],
): T[] {
  return items
    .map((item) => ({ item, score: hash(`${item.id}\n${key}`) }))
    .toSorted((a, b) => b.score - a.score || (a.item.id < b.item.id ? -1 : 1))
    .map(({ item }) => item);
}

/** FNV-1a with Murmur's finaliser, so that similar keys do not get similar scores. */
function hash(text: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
