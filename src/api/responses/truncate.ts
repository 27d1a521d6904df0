/**
 * `truncation: "auto"`: leaves out the oldest items of a conversation that is too long.
 *
 * A call is dropped together with its output. System and developer messages, summaries, the last user message, the request
 * for a summary behind it and the reasoning of the running tool loop, which the model needs, are never dropped.
 */
import type { Pause } from "../../streams/slices.ts";
import type { HistoryItem } from "./history-item.ts";
import { SUMMARY_REQUEST } from "./summary.ts";

/** Calls with their outputs, or messages, that are counted in one slice: some milliseconds of work. */
const SLICE = 64;

export interface TokenCounts {
  /** Tokens of the whole prompt with this history. `Infinity` when it is too long to be counted. */
  prompt(history: readonly HistoryItem[]): Promise<number>;
  /** Tokens of these items alone. */
  items(items: readonly HistoryItem[]): Promise<number>;
}

/**
 * The longest end of the history with which the prompt has at most `limit` tokens. If nothing fits, everything that may be
 * dropped is, and the turn reports that the prompt is too long.
 *
 * Items are counted once each, from the newest to the first that does not fit: dropped items cost nothing.
 *
 * @param pause called between slices of long work.
 */
export async function truncateHistory(
  history: readonly HistoryItem[],
  counts: TokenCounts,
  limit: number,
  pause: Pause,
): Promise<readonly HistoryItem[]> {
  if ((await counts.prompt(history)) <= limit) return history;
  const order = dropOrder(history);
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

/** The items that may be dropped, oldest first. Each entry has the indexes of items that are dropped together. */
function dropOrder(history: readonly HistoryItem[]): number[][] {
  const lastQuestion = history.findLastIndex((item) => isQuestion(item));
  const lastAnswer = history.findLastIndex((item) => item.type === "assistant" && item.isAnswer);
  const order: number[][] = [];
  /** By call id, the call that an output belongs to. */
  const calls = new Map<string, number[]>();
  const kept = new Set<number[]>();
  for (const [index, item] of history.entries()) {
    switch (item.type) {
      case "message":
        if (isQuestion(item) && index !== lastQuestion) order.push([index]);
        break;
      case "assistant":
        order.push([index]);
        break;
      case "reasoning":
      case "kept-call":
      case "mcp-call":
      case "mcp-response":
        if (index < lastAnswer) order.push([index]);
        break;
      case "call": {
        const unit = [index];
        calls.set(item.callId, unit);
        order.push(unit);
        break;
      }
      case "tools": {
        // The tools that were found are offered: the search stays.
        const search = item.callId === undefined ? undefined : calls.get(item.callId);
        if (search !== undefined) kept.add(search);
        break;
      }
      case "output":
        calls.get(item.callId)?.push(index);
        break;
      case "mcp-list":
      case "mcp-request":
      case "summary":
      case "unsupported":
        break;
      default:
        item satisfies never;
    }
  }
  return order.filter((unit) => !kept.has(unit));
}

function isQuestion(item: HistoryItem): boolean {
  return item.type === "message" && item.role === "user" && item !== SUMMARY_REQUEST;
}
