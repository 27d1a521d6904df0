/** The edit `compact_20260112`: a summary at the beginning of the reply, in place of the prompt's earlier messages. */
import type { Message } from "../../harmony/conversation.ts";
import { userMessage } from "../../harmony/messages.ts";
import { lazy } from "../../lazy.ts";
import type { Pause } from "../../streams/slices.ts";
import { AutoCompaction, type CompactionPlan, reachesThreshold } from "../reply/auto-compaction.ts";
import {
  countOrInfinity,
  fitKeptWords,
  KEPT_SHARE,
  type KeptWords,
} from "../reply/shorten-history.ts";
import { summaryText } from "../reply/summary-text.ts";
import type { Model } from "../../models/models.ts";
import type { Turn } from "../../turn/turn.ts";
import { compactionOf, type EditedTurn } from "./context-management.ts";
import type { HistoryEntry } from "./history-entry.ts";
import type { CountRequest, MessagesRequest } from "./request.ts";

/** Anthropic's default, in tokens. The context of gpt-oss is shorter and also triggers a compaction. */
const DEFAULT_TRIGGER = 150_000;

/** Undefined: no compaction is requested, or there is nothing to compact. */
export function toCompactionPlan(
  { turn, entries }: EditedTurn,
  request: CountRequest,
  deps: FittingDeps,
): CompactionPlan | undefined {
  const edit = compactionOf(request);
  // The beginning of an answer, or a call without a result, cannot be summarized.
  if (edit === undefined || entries.at(-1)?.type === "assistant") return undefined;
  const kept = entries.filter(({ type }) => type === "instructions" || type === "user");
  if (entries.every(({ type }) => type === "instructions")) return undefined;
  return {
    whole: turn,
    instructions: edit.instructions?.trim() || undefined,
    async after(summary) {
      const compacted = [...kept, { type: "summary", text: summaryText(summary) } as const];
      const { items } = await toFittingEntries(compacted, request, deps);
      return deps.turnOf(items);
    },
    pauses: edit.pause_after_compaction ?? false,
  };
}

interface CompactionParts {
  readonly compactionPlan: CompactionPlan | undefined;
  readonly keptTokens: number;
  readonly model: Model;
}

interface FittingDeps {
  readonly tenant: string;
  readonly turnOf: (entries: readonly HistoryEntry[]) => Turn | Promise<Turn>;
  readonly model: Model;
  readonly signal: AbortSignal;
  readonly pause: Pause;
}

/** Leaves out the oldest of the user's messages before a summary until prompt and answer fit into the context. */
export function toFittingEntries(
  entries: readonly HistoryEntry[],
  request: CountRequest & Partial<MessagesRequest>,
  { tenant, turnOf, model, signal, pause }: FittingDeps,
): Promise<KeptWords<HistoryEntry>> {
  const { contextLength = Infinity } = model;
  const limit = contextLength - Math.min(request.max_tokens ?? 0, contextLength / 4);
  const count = (messages: readonly Message[]) =>
    countOrInfinity(model.countPromptTokens(messages, tenant, signal));
  const alone = lazy(() => count([]));
  return fitKeptWords(entries, {
    isUser: ({ type }) => type === "user",
    counts: {
      prompt: async (items) => countOrInfinity(model.countTurnTokens(await turnOf(items), signal)),
      async items(items) {
        const words = items.flatMap((entry) =>
          entry.type === "user" ? userMessage(entry.text) : [],
        );
        return (await count(words)) - (await alone());
      },
    },
    limit,
    keptLimit: compactionOf(request) === undefined ? undefined : contextLength * KEPT_SHARE,
    pause,
  });
}

/** Undefined: the prompt is shorter than the edit's trigger. */
export async function toCompaction(
  request: CountRequest,
  { compactionPlan: plan, keptTokens, model }: CompactionParts,
  signal: AbortSignal,
): Promise<AutoCompaction | undefined> {
  if (plan === undefined) return undefined;
  const threshold = compactionOf(request)?.trigger?.value ?? DEFAULT_TRIGGER;
  const isReached = await reachesThreshold(
    { turn: plan.whole, keptTokens },
    threshold,
    model,
    signal,
  );
  return isReached ? new AutoCompaction(plan) : undefined;
}
