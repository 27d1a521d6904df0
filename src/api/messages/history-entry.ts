/** The entries of a history: items, and the parts of assistant messages as the client sent them. */
import type {
  CallItem,
  FoundItem,
  Item,
  KeptCallItem,
  McpCallItem,
  ReasoningItem,
} from "../turn/history.ts";

export type HistoryEntry =
  | Extract<Item, { readonly type: "instructions" | "user" | "summary" | "result" | "found" }>
  /** A tool that is offered from here on: its index in {@link History.added}. */
  | { readonly type: "tool"; readonly index: number }
  | AssistantEntry;

export interface AssistantEntry {
  readonly type: "assistant";
  /** Parts in the order the model wrote them. */
  readonly parts: readonly AssistantPart[];
}

/** A part as sent, or restored as reasoning, text or call. */
export type AssistantPart =
  | SealedThinking
  | SealedCall
  | ReasoningItem
  | { readonly type: "text"; readonly text: string }
  | CallItem
  | KeptCallItem
  | FoundItem;

export interface SealedThinking {
  readonly type: "thinking";
  /** Readable text of the encrypted thinking. Often empty. */
  readonly text: string;
  /** The signature, or the data of a redacted block. Empty if there is none. */
  readonly sealed: string;
}

/** A call that the gateway ran for the model. The client's copy does not contain everything that the model saw. */
export interface SealedCall {
  readonly type: "gateway-call";
  /** The encrypted call. Empty: the call is in a thinking block after it, or lost. */
  readonly sealed: string;
  /** The content of the blocks of a call to an MCP server, used if the encrypted call is lost. */
  readonly shown?: McpCallItem;
}

/** The index from which texts belong to the answer: text before a call that the gateway ran is a preamble. */
export function answerFrom(parts: readonly AssistantPart[]): number {
  return parts.findLastIndex(({ type }) => GATEWAY_PARTS.has(type)) + 1;
}

const GATEWAY_PARTS: ReadonlySet<AssistantPart["type"]> = new Set([
  "gateway-call",
  "kept-call",
  "found",
]);
