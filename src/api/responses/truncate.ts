/**
 * `truncation: "auto"`: leaves out the oldest items of a conversation that is too long.
 *
 * A call is dropped together with its output. System and developer messages, summaries, the last user message, the request
 * for a summary behind it and the reasoning of the running tool loop, which the model needs, are never dropped.
 */
import { runningLoopStart } from "../../harmony/analysis.ts";
import type { Pause } from "../../streams/slices.ts";
import { dropOldest, type TokenCounts } from "../reply/shorten-history.ts";
import type { HistoryItem } from "./history-item.ts";
import { SUMMARY_REQUEST } from "./summary.ts";

/** The longest end of the history with which the prompt has at most `limit` tokens. */
export function truncateHistory(
  history: readonly HistoryItem[],
  counts: TokenCounts<HistoryItem>,
  limit: number,
  pause: Pause,
): Promise<readonly HistoryItem[]> {
  return dropOldest(history, { order: dropOrder(history), counts, limit, pause });
}

/** The items that may be dropped, oldest first. Each entry has the indexes of items that are dropped together. */
function dropOrder(history: readonly HistoryItem[]): number[][] {
  const lastQuestion = history.findLastIndex((item) => isQuestion(item));
  const running = runningLoopStart(history, (item) => item.type === "assistant" && item.isAnswer);
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
        if (index < running) order.push([index]);
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
      case "result":
        calls.get(item.callId)?.push(index);
        break;
      case "configuration":
      case "search":
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
