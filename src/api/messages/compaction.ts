/** The edit `compact_20260112`: a summary at the beginning of the reply, in place of what the prompt had before it. */
import { AutoCompaction, type CompactionPlan, reachesThreshold } from "../reply/auto-compaction.ts";
import { summaryText } from "../reply/summary-text.ts";
import type { Model } from "../../models/models.ts";
import type { Turn } from "../../turn/turn.ts";
import { compactionOf, type EditedTurn } from "./context-management.ts";
import type { HistoryEntry } from "./history-entry.ts";
import type { CountRequest } from "./request.ts";

/** Anthropic's. The context of gpt-oss is shorter, which counts as well. */
const DEFAULT_TRIGGER = 150_000;

/** Undefined: the request asks for no compaction, or there is nothing to compact. */
export function toCompactionPlan(
  { turn, entries }: EditedTurn,
  request: CountRequest,
  turnOf: (entries: readonly HistoryEntry[]) => Turn | Promise<Turn>,
): CompactionPlan | undefined {
  const edit = compactionOf(request);
  // The beginning of an answer, or a call without a result, cannot be summarized.
  if (edit === undefined || entries.at(-1)?.type === "assistant") return undefined;
  const kept = entries.filter(({ type }) => type === "instructions");
  if (kept.length === entries.length) return undefined;
  return {
    whole: turn,
    instructions: edit.instructions?.trim() || undefined,
    after: (summary) => turnOf([...kept, { type: "summary", text: summaryText(summary) }]),
    pauses: edit.pause_after_compaction ?? false,
  };
}

/** Undefined: the prompt is shorter than the edit's trigger. */
export async function toCompaction(
  request: CountRequest,
  { compactionPlan: plan, model }: { compactionPlan: CompactionPlan | undefined; model: Model },
  signal: AbortSignal,
): Promise<AutoCompaction | undefined> {
  if (plan === undefined) return undefined;
  const threshold = compactionOf(request)?.trigger?.value ?? DEFAULT_TRIGGER;
  const isReached = await reachesThreshold(plan.whole, threshold, model, signal);
  return isReached ? new AutoCompaction(plan) : undefined;
}
