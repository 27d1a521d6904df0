/**
 * Leaves out parts of a history, for all APIs. A summary replaces earlier messages of the model and its tools;
 * instructions and the user's messages stay before it, verbatim and in place, because clients such as Codex keep them
 * on purpose. If the prompt does not fit into the context, the oldest messages are dropped first.
 */
import type { Pause } from "../../streams/slices.ts";
import { TurnError } from "../../turn/turn-error.ts";

/** The share of the context for the user's messages before a summary, if the gateway makes the summaries. */
export const KEPT_SHARE = 1 / 4;

interface Item {
  readonly type: string;
  readonly callId?: string | undefined;
}

/**
 * The history without the items that its last summary replaces.
 *
 * @param keep returns the parts of an item before the summary that stay. `answered`: ids of calls whose results come
 * after the summary; these calls stay.
 */
export function sinceSummary<Each extends Item>(
  items: readonly Each[],
  keep: (item: Each, answered: ReadonlySet<string | undefined>) => readonly Each[],
): readonly Each[] {
  const at = items.findLastIndex(({ type }) => type === "summary");
  if (at < 0) return items;
  const after = items.slice(at);
  const answered = new Set(after.flatMap(({ type, callId }) => (type === "result" ? callId : [])));
  return [...items.slice(0, at).flatMap((item) => keep(item, answered)), ...after];
}

export interface TokenCounts<Each> {
  /** Tokens of the whole prompt with this history. `Infinity` if the prompt is too long to be counted. */
  prompt(history: readonly Each[]): Promise<number>;
  /** Tokens of these items alone. */
  items(items: readonly Each[]): Promise<number>;
}

interface FitOptions<Each> {
  readonly isUser: (item: Each) => boolean;
  readonly counts: TokenCounts<Each>;
  /** Most tokens of the prompt. */
  readonly limit: number;
  /** Maximum tokens of the user's messages before the summary. Undefined: only the prompt is limited. */
  readonly keptLimit: number | undefined;
  readonly pause: Pause;
}

export interface KeptWords<Each> {
  readonly items: readonly Each[];
  /** Tokens of the user's messages before the summary. 0 if they have no separate limit. */
  readonly tokens: number;
}

/** Leaves out the oldest messages of the user before the last summary, until the rest is within the limits. */
export async function fitKeptWords<Each extends Item>(
  items: readonly Each[],
  { isUser, counts, limit, keptLimit, pause }: FitOptions<Each>,
): Promise<KeptWords<Each>> {
  const at = items.findLastIndex(({ type }) => type === "summary");
  const order = items.flatMap((item, index) => (index < at && isUser(item) ? [[index]] : []));
  if (order.length === 0) return { items, tokens: 0 };
  const drop = (most: number) => dropOldest(items, { order, counts, limit: most, pause });
  if (keptLimit === undefined) return { items: await drop(limit), tokens: 0 };
  const others = await counts.prompt(items.filter((item, index) => index >= at || !isUser(item)));
  const fitting = await drop(Math.min(limit, others + keptLimit));
  return { items: fitting, tokens: (await counts.prompt(fitting)) - others };
}

interface DropOptions<Each> {
  /** The items that may be dropped, oldest first. Each entry has the indexes of items that are dropped together. */
  readonly order: readonly (readonly number[])[];
  readonly counts: TokenCounts<Each>;
  /** Most tokens of the prompt. */
  readonly limit: number;
  /** Called between slices of long work. */
  readonly pause: Pause;
}

/** Number of calls with their outputs, or messages, counted in one slice: some milliseconds of work. */
const SLICE = 64;

/**
 * Drops the oldest items until the prompt is within the limit. If nothing fits, all items that may be dropped are, and
 * the turn reports that the prompt is too long.
 *
 * Items are counted once each, from the newest to the first that does not fit: dropped items cost nothing.
 */
export async function dropOldest<Each>(
  history: readonly Each[],
  { order, counts, limit, pause }: DropOptions<Each>,
): Promise<readonly Each[]> {
  if ((await counts.prompt(history)) <= limit) return history;
  const without = (count: number) => {
    const dropped = new Set(order.slice(0, count).flat());
    return history.filter((_, index) => !dropped.has(index));
  };
  let tokens = await counts.prompt(without(order.length));
  let drop = order.length;
  while (drop > 0) {
    if ((order.length - drop) % SLICE === 0) await pause();
    const unit = (order[drop - 1] ?? []).flatMap((index) => history[index] ?? []);
    tokens += await counts.items(unit);
    if (tokens > limit) break;
    drop -= 1;
  }
  // Items may need a few more tokens in context than alone.
  for (let more = 1; drop < order.length; more *= 2) {
    if ((await counts.prompt(without(drop))) <= limit) break;
    drop = Math.min(drop + more, order.length);
  }
  return without(drop);
}

/** The number of tokens, or `Infinity` if counting stopped early, far over the context length. */
export async function countOrInfinity(counting: Promise<number>): Promise<number> {
  try {
    return await counting;
  } catch (error) {
    if (error instanceof TurnError && error.kind === "context-length") return Infinity;
    throw error;
  }
}
