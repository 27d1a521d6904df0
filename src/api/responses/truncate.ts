/**
 * `truncation: "auto"`: the oldest of a conversation that is too long is left out.
 *
 * A call leaves together with its output. What stays whatever happens: system and developer messages, summaries, the last
 * user message, and the thoughts of the running tool loop, without which the model is lost.
 */
import type { HistoryItem } from "./history.ts";

/**
 * The longest rest of the history that fits. All that may be dropped is dropped when nothing fits; the turn
 * itself then says that the prompt is too long.
 */
export async function truncateHistory(
  history: readonly HistoryItem[],
  fits: (history: readonly HistoryItem[]) => Promise<boolean>,
): Promise<readonly HistoryItem[]> {
  if (await fits(history)) return history;
  const order = dropOrder(history);
  const without = (count: number) => {
    const dropped = new Set(order.slice(0, count).flat());
    return history.filter((_, index) => !dropped.has(index));
  };
  // Each further drop makes the prompt shorter, so the first that fits is found by halving.
  let tooFew = 0;
  let enough = order.length;
  while (enough - tooFew > 1) {
    const middle = Math.floor((tooFew + enough) / 2);
    if (await fits(without(middle))) enough = middle;
    else tooFew = middle;
  }
  return without(enough);
}

/** What may be dropped, oldest first, each as the places that leave together. */
function dropOrder(history: readonly HistoryItem[]): number[][] {
  const lastQuestion = history.findLastIndex(
    (item) => item.type === "message" && item.role === "user",
  );
  const lastAnswer = history.findLastIndex((item) => item.type === "assistant" && item.isAnswer);
  const order: number[][] = [];
  for (const [index, item] of history.entries()) {
    switch (item.type) {
      case "message":
        if (item.role === "user" && index !== lastQuestion) order.push([index]);
        break;
      case "assistant":
        order.push([index]);
        break;
      case "reasoning":
        if (index < lastAnswer) order.push([index]);
        break;
      case "call": {
        const { callId } = item;
        const outputs = history.flatMap((each, place) =>
          each.type === "output" && each.callId === callId ? [place] : [],
        );
        order.push([index, ...outputs]);
        break;
      }
      case "output":
      case "summary":
      case "unsupported":
        break;
      default:
        item satisfies never;
    }
  }
  return order;
}
