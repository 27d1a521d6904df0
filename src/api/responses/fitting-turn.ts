/** Makes a turn whose prompt and answer fit into the model's context. */
import type { Message } from "../../harmony/conversation.ts";
import { userMessage } from "../../harmony/messages.ts";
import type { Model } from "../../models/models.ts";
import type { Pause } from "../../streams/slices.ts";
import type { Turn } from "../../turn/turn.ts";
import { TurnError } from "../../turn/turn-error.ts";
import type { HistoryItem } from "./history-item.ts";
import type { ResponsesRequest } from "./request.ts";
import { sinceSummary } from "./since-summary.ts";
import { toHistory } from "./to-messages.ts";
import type { PromptContext } from "./to-turn.ts";
import { type TokenCounts, truncateHistory } from "./truncate.ts";

/** Tokens kept free for the answer when a history is truncated and the request sets no limit. */
const DEFAULT_ROOM = 4096;

export interface FittingOptions {
  readonly turnOf: (history: readonly HistoryItem[]) => Turn;
  readonly history: readonly HistoryItem[];
  readonly prompt: PromptContext;
}

/**
 * With `truncation: "auto"`, shortens the history until prompt and answer fit.
 *
 * @param pause called between slices of long work.
 */
export async function toFittingTurn(
  request: ResponsesRequest,
  model: Model,
  { turnOf, history, prompt }: FittingOptions,
  pause: Pause,
): Promise<Turn> {
  const { contextLength } = model;
  if (request.truncation !== "auto" || contextLength === undefined) return turnOf(history);
  const room = Math.min(request.max_output_tokens ?? DEFAULT_ROOM, Math.floor(contextLength / 4));
  const count = async (messages: readonly Message[]) => {
    try {
      return await model.countPromptTokens(messages, prompt.tenant);
    } catch (error) {
      // Counting stopped early: far over the context length.
      if (error instanceof TurnError && error.kind === "context-length") return Infinity;
      throw error;
    }
  };
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
  const whole = sinceSummary(history);
  return turnOf(await truncateHistory(whole, counts, contextLength - room, pause));
}
