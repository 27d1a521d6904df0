/**
 * Compaction within a response: an input that ends with a `compaction_trigger` requests a summary of the conversation,
 * in one compaction item, instead of an answer. The summary is encrypted for its tenant: only the gateway can read it.
 */
import * as z from "zod";
import { consume, createPushStream, type PushStream } from "../../streams/push-stream.ts";
import type { ReasoningCipher } from "../../store/reasoning-cipher.ts";
import type { TurnEvent } from "../../turn/turn.ts";
import { refusal } from "../errors.ts";
import type { AutoCompaction } from "../reply/auto-compaction.ts";
import { sinceSummary } from "../reply/shorten-history.ts";
import { asSummary, SUMMARY_INSTRUCTIONS, summaryText } from "../reply/summary-text.ts";
import type { HistoryItem } from "./history-item.ts";
import type { PromptRequest, ResponsesRequest } from "./request.ts";
import { readStored } from "../../store/entries.ts";

/** A finished compaction item of a response, in place of the turn's parts. */
export interface CompactionEvent {
  readonly type: "compaction";
  readonly sealed: string;
  /** Whether an answer follows the item. */
  readonly isAutomatic: boolean;
}

/** Whether the request requires a compaction. Throws a {@link RequestError} for a trigger that is not at the end. */
export function asksForCompaction({ input }: Pick<PromptRequest, "input">): boolean {
  if (typeof input === "string" || !input) return false;
  const at = input.findIndex(
    (item) => item.type === "unsupported" && item.item.type === COMPACTION_TRIGGER,
  );
  if (at < 0) return false;
  if (at === input.length - 1) return true;
  const param = `input[${at}]`;
  throw refusal(param, "a compaction_trigger must be the last item of the input");
}

/** The rule by which the conversation is compacted before it is answered. Undefined: it is not compacted. */
export function compactionRule({ context_management: rules }: PromptRequest) {
  return rules?.find(({ type }) => type === "compaction");
}

const COMPACTION_TRIGGER = "compaction_trigger";

/** The request for the summary: without tool calls, with little reasoning, and with a history that may be truncated. */
export function toCompactionRequest(request: ResponsesRequest): ResponsesRequest {
  const { text: _text, max_output_tokens: _limit, ...rest } = request;
  return {
    ...rest,
    tool_choice: "none",
    truncation: "auto",
    reasoning: { effort: "low" },
    include: [],
  };
}

export function toCompactionHistory(history: readonly HistoryItem[]): readonly HistoryItem[] {
  const others = withoutTriggers(history).filter(({ type }) => type !== "configuration");
  return [...others, SUMMARY_REQUEST];
}

/** The history without the items that its last compaction item replaces. Calls whose outputs come after it stay. */
export function sinceCompaction(history: readonly HistoryItem[]): readonly HistoryItem[] {
  return sinceSummary(history, (item, answered) => {
    const stays = item.type === "message" || (item.type === "call" && answered.has(item.callId));
    return stays ? [item] : [];
  });
}

/** Removes earlier triggers, which have been answered. */
export function withoutTriggers(history: readonly HistoryItem[]): readonly HistoryItem[] {
  return history.filter((item) => item.type !== "unsupported" || item.kind !== COMPACTION_TRIGGER);
}

/** Encrypts the summary that the turn writes. The turn's own parts are not returned. */
export function runCompaction(
  turn: AsyncIterable<TurnEvent>,
  tenant: string,
  cipher: ReasoningCipher,
): PushStream<TurnEvent | CompactionEvent> {
  return asSummary(turn, async (summary): Promise<CompactionEvent> => {
    const sealed = await sealSummary(summary, tenant, cipher);
    return { type: "compaction", sealed, isAutomatic: false };
  });
}

/** Adds the item with the encrypted summary to the beginning of a compacted response. */
export function withCompactionItem(
  compaction: Pick<AutoCompaction, "made">,
  events: AsyncIterable<TurnEvent>,
  tenant: string,
  cipher: ReasoningCipher,
): PushStream<TurnEvent | CompactionEvent> {
  return createPushStream((consumer) =>
    consume(events, async (event) => {
      const goesOn = await consumer(event);
      const summary = compaction.made?.text;
      if (event.type !== "start" || !goesOn || summary === undefined) return goesOn;
      const sealed = await sealSummary(summary, tenant, cipher);
      return consumer({ type: "compaction", sealed, isAutomatic: true });
    }),
  );
}

/** The prompt for a summary. */
export const SUMMARY_REQUEST: HistoryItem = {
  type: "message",
  role: "user",
  content: SUMMARY_INSTRUCTIONS,
  param: "input",
};

const PURPOSE = "compaction";

const sealedSummary = z.lazy(() => z.object({ summary: z.string() }));

export function sealSummary(
  summary: string,
  tenant: string,
  cipher: ReasoningCipher,
): Promise<string> {
  const payload: z.infer<typeof sealedSummary> = { summary };
  return cipher.seal(JSON.stringify(payload), { tenant, purpose: PURPOSE });
}

/** The text that replaces the summarized items. Undefined unless the summary was encrypted here for this tenant. */
export async function openSummary(
  sealed: string,
  tenant: string,
  cipher: ReasoningCipher,
): Promise<string | undefined> {
  const opened = await cipher.open(sealed, { tenant, purpose: PURPOSE });
  if (!opened.opened) return undefined;
  const summary = readStored(sealedSummary, opened.text)?.summary;
  return summary === undefined ? undefined : summaryText(summary);
}
