/** One case of the search, as plain data: it can be printed, shrunk and run again. */
import type { Constraint } from "../../../src/engines/engine.ts";
import type { Medium } from "./media.ts";
import type { Layout } from "../../../src/harmony/index.ts";

/**
 * The output forms of engines: exact ids; special tokens by id and the rest as text; text with the special tokens
 * spelled out; text without them.
 */
export const WIRES = ["ids", "pieces", "markers", "text"] as const;
export type Wire = (typeof WIRES)[number];

export interface Case {
  /** Seed for the model's output where its plan says nothing. */
  readonly seed: number;
  readonly api: string;
  readonly wire: Wire;
  readonly engine: EngineTraits;
  readonly settings: SearchSettings;
  readonly demands: Demands;
  /** The history, including the last user message. */
  readonly history: readonly HistoryEntry[];
  /** The model's plan, for each of `n` choices. */
  readonly choices: readonly (readonly PlannedMessage[])[];
}

export interface EngineTraits {
  /** The engine is called through the adapter of a real server. */
  readonly isOverHttp?: boolean;
  /** Tokens in each read of the streamed run, repeated. The plain run reads one at a time. */
  readonly batches: readonly number[];
  readonly constraints: readonly Constraint["type"][];
  /** False: constraints are accepted and ignored, as old servers do. */
  readonly honoursConstraints: boolean;
  readonly honoursStopIds: boolean;
  readonly showsStopId: boolean;
  readonly reportsUsage: boolean;
  readonly honoursBias: boolean;
  readonly contextLength?: number;
  /** The first call ends with `length` after this many tokens, whatever was requested. */
  readonly cutAfter?: number;
}

export interface SearchSettings {
  readonly answerReserve: number;
  readonly repetitionGuard: boolean;
  readonly sampleMoreCalls: boolean;
  readonly refuseUnofferedTools: boolean;
  readonly openMissingAnswer: boolean;
  readonly continueAnnouncedCalls: boolean;
  readonly singleCallConstraint: boolean;
  readonly allowHiddenMarkers: boolean;
  readonly layout: Layout;
}

/** The simplest settings and engine, with which a case is easiest to read. */
export const PLAIN_SETTINGS: SearchSettings = {
  answerReserve: 0,
  repetitionGuard: true,
  sampleMoreCalls: false,
  refuseUnofferedTools: false,
  openMissingAnswer: true,
  continueAnnouncedCalls: true,
  singleCallConstraint: false,
  allowHiddenMarkers: false,
  layout: "guide",
};

export const PLAIN_ENGINE: EngineTraits = {
  batches: [1],
  constraints: [],
  honoursConstraints: true,
  honoursStopIds: true,
  showsStopId: true,
  reportsUsage: false,
  honoursBias: true,
};

export interface Demands {
  readonly tools: readonly { readonly name: string; readonly strict: boolean }[];
  readonly toolChoice: RequestedToolChoice;
  readonly parallelToolCalls: boolean;
  readonly format: "text" | "json-object" | "json-schema";
  readonly stop: readonly string[];
  readonly maxTokens?: number;
  readonly effort?: "none" | "low" | "medium" | "high";
  readonly reasoningBudget?: number;
  readonly hidesReasoning: boolean;
  readonly topLogprobs?: number;
  readonly n: number;
  readonly prefill?: string;
}

export type RequestedToolChoice =
  | { readonly type: "auto" | "none" | "required" }
  | { readonly type: "named"; readonly name: string }
  | {
      readonly type: "allowed";
      readonly mode: "auto" | "required";
      readonly names: readonly string[];
    };

export type HistoryEntry =
  | { readonly role: "system"; readonly text: string }
  | { readonly role: "user"; readonly text: string; readonly media?: readonly Medium[] }
  | { readonly role: "assistant"; readonly text: string; readonly reasoning?: string }
  | {
      readonly role: "call";
      readonly id: string;
      readonly name: string;
      readonly args: string;
      readonly reasoning?: string;
      readonly result: string;
      /** Media of the call's result. */
      readonly media?: readonly Medium[];
    };

export type MessageRole = "analysis" | "preamble" | "final" | "call";

/** A message as the model will write it, special tokens spelled out. */
export interface PlannedMessage {
  readonly role: MessageRole;
  /** The text between `<|start|>assistant` and the body. */
  readonly header: string;
  /** Recipient of a call. */
  readonly name?: string;
  readonly body: string;
  /** The body is repeated until something stops it. */
  readonly isEndless?: boolean;
  /** Encode the body character by character, so that words and characters are spread over more tokens. */
  readonly isSplit?: boolean;
  /** The message's end token, and the text before the next message's header. */
  readonly end: string;
  /** The format is broken here: its text may be read as anything, but reasoning must not be shown as an answer. */
  readonly isMalformed?: boolean;
}
