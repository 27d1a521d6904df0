/** Makes a turn whose prompt and answer fit into the model's context. */
import type { Message } from "../../harmony/conversation.ts";
import { userMessage } from "../../harmony/messages.ts";
import { lazy } from "../../lazy.ts";
import type { Model } from "../../models/models.ts";
import type { Pause } from "../../streams/slices.ts";
import type { Turn } from "../../turn/turn.ts";
import type { HistoryItem } from "./history-item.ts";
import type { PromptRequest } from "./request.ts";
import {
  countOrInfinity,
  fitKeptWords,
  KEPT_SHARE,
  type KeptWords,
  type TokenCounts,
} from "../reply/shorten-history.ts";
import { compactionRule, sinceCompaction } from "./compaction.ts";
import { toHistory } from "./to-messages.ts";
import type { PromptContext } from "./to-turn.ts";
import { truncateHistory } from "./truncate.ts";

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
  const alone = lazy(() => count([]));
  const counts: TokenCounts<HistoryItem> = {
    prompt: (items) => count(turnOf(items).messages),
    async items(items) {
      const { unsupported, style } = prompt;
      const { leading, history: read } = toHistory(items, { unsupported, style });
      const instructions = leading.map((text) => userMessage(text));
      return (await count([...instructions, ...read.messages])) - (await alone());
    },
  };
  const isCompacting = compactionRule(request) !== undefined;
  let fitting: KeptWords<HistoryItem> = { items: sinceCompaction(history), tokens: 0 };
  // Truncation begins with the same messages.
  if (isCompacting || request.truncation !== "auto") {
    fitting = await fitKeptWords(fitting.items, {
      isUser: (item) => item.type === "message" && item.role === "user",
      counts,
      limit,
      keptLimit: isCompacting ? contextLength * KEPT_SHARE : undefined,
      pause,
    });
  }
  const { items, tokens: keptTokens } = fitting;
  if (request.truncation !== "auto") return { turn: turnOf(items), keptTokens };
  return { turn: turnOf(await truncateHistory(items, counts, limit, pause)), keptTokens };
}
