/**
 * Compaction of a conversation, for all APIs: a summary replaces what the model and its tools said before it. Instructions and
 * the user's own words stay before it, word for word and in place, because clients such as Codex keep them on purpose. Only where the
 * prompt would not fit into the context, the user's oldest messages go first.
 */
import { TurnError } from "../../turn/turn-error.ts";

/** The part of the context that the user's words before a summary may fill where the gateway makes the summaries. */
export const KEPT_SHARE = 1 / 4;

interface Item {
  readonly type: string;
}

/**
 * The history without the items that its last summary replaces.
 *
 * @param keeper called with the items from the summary on; returns the parts of an item before it that stay
 */
export function sinceSummary<Each extends Item>(
  items: readonly Each[],
  keeper: (after: readonly Each[]) => (item: Each) => readonly Each[],
): readonly Each[] {
  const at = items.findLastIndex(({ type }) => type === "summary");
  if (at < 0) return items;
  const after = items.slice(at);
  return [...items.slice(0, at).flatMap(keeper(after)), ...after];
}

export interface KeptWords<Each> {
  readonly items: readonly Each[];
  /** Tokens of the user's messages before the summary. */
  readonly tokens: number;
}

interface FitOptions<Each> {
  readonly isUser: (item: Each) => boolean;
  /** Tokens of the prompt with this history, or `Infinity`. */
  readonly count: (items: readonly Each[]) => Promise<number>;
  /** Most tokens of the prompt. */
  readonly limit: number;
  /** Most tokens of the user's messages before the summary. */
  readonly keptLimit: number;
}

/** Leaves out the oldest messages of the user before the last summary, until the rest is within the limits. */
export async function fitKeptWords<Each extends Item>(
  items: readonly Each[],
  { isUser, count, limit, keptLimit }: FitOptions<Each>,
): Promise<KeptWords<Each>> {
  const at = items.findLastIndex(({ type }) => type === "summary");
  const kept = items.slice(0, Math.max(at, 0)).filter((item) => isUser(item));
  if (kept.length === 0) return { items, tokens: 0 };
  const without = (oldest: number) => {
    const left = new Set(kept.slice(0, oldest));
    return items.filter((item) => !left.has(item));
  };
  const alone = await count(without(kept.length));
  let [low, high] = [0, kept.length];
  let tokens = (await count(items)) - alone;
  // The first guess is that all of them fit, as nearly always.
  for (let oldest = 0; low < high; oldest = (low + high) >> 1) {
    const own = oldest === 0 ? tokens : (await count(without(oldest))) - alone;
    if (own <= keptLimit && own + alone <= limit) {
      high = oldest;
      tokens = own;
    } else low = oldest + 1;
  }
  return { items: without(low), tokens: low === kept.length ? 0 : tokens };
}

/** The number of tokens, or `Infinity` where counting stopped early, far over the context length. */
export async function countOrInfinity(counting: Promise<number>): Promise<number> {
  try {
    return await counting;
  } catch (error) {
    if (error instanceof TurnError && error.kind === "context-length") return Infinity;
    throw error;
  }
}
