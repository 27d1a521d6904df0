/** The chain of thought around the calls of a tool loop: the stored form for the next request, and the form in a history. */
import type { KeptCall } from "./kept-call.ts";

/** The model's output between two tool results, as in a history: reasoning, then calls. */
export interface LoopStep {
  /** Readable reasoning from the client. It takes precedence if present. */
  readonly sent: readonly string[];
  /** Encrypted reasoning from the client. Entries that cannot be decrypted are ignored. */
  readonly sealed: readonly string[];
  /** Ids of the calls. Undefined: a call without an id, as in the legacy form. */
  readonly callIds: readonly (string | undefined)[];
}

/** The reasoning around a call, one text per analysis message. */
export interface CallReasoning {
  /**
   * Reasoning since the previous call: one list before each text that the model wrote for the user, and the last list directly
   * before the call. A single list precedes everything.
   */
  readonly before: readonly (readonly string[])[];
  /** Reasoning after the last call of a step. */
  readonly after: readonly string[];
  /** Calls that the gateway ran between the analysis messages of `before`. */
  readonly tools?: readonly PlacedCall[] | undefined;
}

/** A call that the gateway ran. Its position is the list of this index, before the analysis message of this index. */
export interface PlacedCall {
  readonly list: number;
  readonly at: number;
  readonly call: KeptCall;
}

/** Separates several analysis messages for APIs that show them as one text. */
export const REASONING_SEPARATOR = "\n\n";

/** Reasoning whose position between texts is unknown precedes all of them. */
export function beforeAllTexts(texts: readonly string[]): CallReasoning {
  return { before: [texts], after: [] };
}

export function toTexts(reasoning: readonly CallReasoning[]): string[] {
  return reasoning.flatMap(({ before, after }) => [...before.flat(), ...after]);
}
