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
  dropOldest,
  fitKeptWords,
  KEPT_SHARE,
  type KeptWords,
  type TokenCounts,
} from "../reply/shorten-history.ts";
import { compactionRule, sinceCompaction, SUMMARY_REQUEST } from "./compaction.ts";
import { toHistory } from "./to-messages.ts";
import type { PromptContext } from "./to-turn.ts";
import { runningLoopStart } from "../../harmony/analysis.ts";

/** Tokens kept free for the answer when a history is truncated and the request sets no limit. */
const DEFAULT_ROOM = 4096;

interface FittingTurn {
  readonly turn: Turn;
  /** Tokens of the user's messages before the last summary. */
  readonly keptTokens: number;
}

interface FittingOptions {
  readonly turnOf: (history: readonly HistoryItem[]) => Turn;
  readonly history: readonly HistoryItem[];
  readonly prompt: PromptContext;
}

/**
 * Shortens the history until prompt and answer fit. Drops the oldest messages of the user before a summary and, with
 * `truncation: "auto"`, the oldest items of all.
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
    prompt: (items) => count(turnOf(items).prompt.messages),
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

/**
 * `truncation: "auto"`: the longest end of the history with which the prompt has at most `limit` tokens.
 *
 * A call is dropped together with its output. System and developer messages, summaries, the last user message, the
 * request for a summary after it, and the reasoning of the running tool loop, which the model needs, are never dropped.
 */
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
  /** The call that an output belongs to, by call id. */
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
        // The found tools are still offered, so the search stays.
        const search = item.callId === undefined ? undefined : calls.get(item.callId);
        if (search !== undefined) kept.add(search);
        break;
      }
      case "result":
        calls.get(item.callId)?.push(index);
        break;
      case "search":
      case "configuration":
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
