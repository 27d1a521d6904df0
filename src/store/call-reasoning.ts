/** The chain of thought around the calls of a tool loop: the stored form for the next request, and the form in a history. */
import * as z from "zod";
import { lazy } from "../lazy.ts";
import { type KeptCall, readKeptCall } from "./kept-call.ts";

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

const keptCall = lazy(() => z.custom<KeptCall>((value) => readKeptCall(value) !== undefined));

/** The stored entry of a call: the reasoning around it, the calls that the gateway ran before it, and its exact ids. */
export const keptReasoning = z.lazy(() =>
  z.object({
    before: z.array(z.array(z.string())),
    after: z.array(z.string()),
    tools: z.array(z.object({ list: z.int(), at: z.int(), call: keptCall() })).optional(),
    /** The sampled step that ends with the call; see `stored-step.ts`. */
    sampled: z.string().optional(),
  }),
);

export type KeptReasoning = z.input<typeof keptReasoning>;

/** Separates several analysis messages for APIs that show them as one text. */
export const REASONING_SEPARATOR = "\n\n";

/** Reasoning whose position between texts is unknown precedes all of them. */
export function beforeAllTexts(texts: readonly string[]): CallReasoning {
  return { before: [texts], after: [] };
}

export function toTexts(reasoning: readonly CallReasoning[]): string[] {
  return reasoning.flatMap(({ before, after }) => [...before.flat(), ...after]);
}
