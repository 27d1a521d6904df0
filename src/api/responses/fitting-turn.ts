/** Makes a turn whose prompt and answer fit into the model's context. */
import type { Message } from "../../harmony/conversation.ts";
import { userMessage } from "../../harmony/messages.ts";
import type { Model } from "../../models/models.ts";
import type { Pause } from "../../streams/slices.ts";
import type { Turn } from "../../turn/turn.ts";
import type { HistoryItem } from "./history-item.ts";
import type { PromptRequest } from "./request.ts";
import { countOrInfinity, fitKeptWords, KEPT_SHARE } from "../reply/since-summary.ts";
import { compactionRule, sinceCompaction } from "./compaction.ts";
import { toHistory } from "./to-messages.ts";
import type { PromptContext } from "./to-turn.ts";
import { type TokenCounts, truncateHistory } from "./truncate.ts";

/** Tokens kept free for the answer when a history is truncated and the request sets no limit. */
const DEFAULT_ROOM = 4096;

export interface FittingTurn {
  readonly turn: Turn;
  /** Tokens of the user's messages before the last summary. */
  readonly keptTokens: number;
}

export interface FittingOptions {
  readonly turnOf: (history: readonly HistoryItem[]) => Turn;
  readonly history: readonly HistoryItem[];
  readonly prompt: PromptContext;
}

/**
 * Shortens the history until prompt and answer fit: by the oldest messages of the user before a summary, and with
 * `truncation: "auto"` by the oldest items of all.
 *
 * @param pause called between slices of long work.
 */
export async function toFittingTurn(
  request: PromptRequest & { readonly max_output_tokens?: number | null | undefined },
  model: Model,
  { turnOf, history, prompt }: FittingOptions,
  pause: Pause,
): Promise<FittingTurn> {
  const { contextLength } = model;
  if (contextLength === undefined) return { turn: turnOf(history), keptTokens: 0 };
  const room = Math.min(request.max_output_tokens ?? DEFAULT_ROOM, Math.floor(contextLength / 4));
  const limit = contextLength - room;
  const count = (messages: readonly Message[]) =>
    countOrInfinity(model.countPromptTokens(messages, prompt.tenant));
  const { items: whole, tokens: keptTokens } = await fitKeptWords(sinceCompaction(history), {
    isUser: (item) => item.type === "message" && item.role === "user",
    count: (items) => count(turnOf(items).messages),
    limit,
    keptLimit: compactionRule(request) === undefined ? limit : contextLength * KEPT_SHARE,
  });
  if (request.truncation !== "auto") return { turn: turnOf(whole), keptTokens };
  const alone = await count([]);
  const counts: TokenCounts = {
    prompt: (items) => count(turnOf(items).messages),
    async items(items) {
      const { unsupported, tools } = prompt;
      const { leading, history: read } = toHistory(items, { unsupported, style: tools.style });
      const instructions = leading.map((text) => userMessage(text));
      return (await count([...instructions, ...read.messages])) - alone;
    },
  };
  return { turn: turnOf(await truncateHistory(whole, counts, limit, pause)), keptTokens };
}
