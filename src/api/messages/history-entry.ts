/** The entries of a history: what a request's messages say, without the wire format. */
import type { KeptCall } from "../../store/kept-call.ts";

export type HistoryEntry =
  | { readonly type: "instructions"; readonly text: string }
  /** A tool that is offered from here on: its place among {@link History.added}. */
  | { readonly type: "tool"; readonly index: number }
  | { readonly type: "user"; readonly text: string }
  /** Of everything before it. */
  | { readonly type: "summary"; readonly text: string }
  | {
      readonly type: "result";
      readonly toolUseId: string;
      readonly text: string;
      readonly param: string;
    }
  | AssistantEntry;

export interface AssistantEntry {
  readonly type: "assistant";
  /** In the order the model wrote them. */
  readonly parts: readonly AssistantPart[];
}

export type AssistantPart =
  | ThinkingPart
  | { readonly type: "text"; readonly text: string }
  | ToolUse
  | GatewayCall;

/** A call that the gateway ran for the model. The client's copy does not contain everything that the model saw. */
export interface GatewayCall {
  readonly type: "builtin-call";
  /** The encrypted call. Empty: it is in a thinking block after it, or lost. */
  readonly sealed: string;
  /** Undefined: not restored. */
  readonly call: KeptCall | undefined;
}

/** The index from which texts belong to the answer: text before a call that the gateway ran is a preamble. */
export function answerFrom(parts: readonly AssistantPart[]): number {
  return parts.findLastIndex(({ type }) => type === "builtin-call") + 1;
}

export interface ThinkingPart {
  readonly type: "thinking";
  /** Readable text of the encrypted thinking. Often empty. */
  readonly text: string;
  /** The signature, or the data of a redacted block. Empty if there is none. */
  readonly sealed: string;
}

export interface ToolUse {
  readonly type: "call";
  readonly id: string;
  readonly name: string;
  /** The arguments as JSON text. */
  readonly args: string;
}
