/** A summary replaces what was before it. */
import type { HistoryItem } from "./history-item.ts";

/** From the last summary on. Instructions before it stay, and calls whose outputs come after it. */
export function sinceSummary(items: readonly HistoryItem[]): readonly HistoryItem[] {
  const at = items.findLastIndex(({ type }) => type === "summary");
  if (at < 0) return items;
  const rest = items.slice(at);
  const answered = new Set(rest.map((item) => (item.type === "output" ? item.callId : undefined)));
  const kept = items.slice(0, at).filter((item) => {
    if (item.type === "message") return item.role !== "user";
    return item.type === "call" && answered.has(item.callId);
  });
  return [...kept, ...rest];
}
