/** What the model read and wrote up to a call of the client's, as token ids, and which messages are written with them again. */
import type { IdsDigest } from "./ids-digest.ts";
import type { Piece } from "./pieces.ts";
import type { TokenId } from "../tokenizer/index.ts";

/** A place in what the engine has read: how many ids, and which. */
export type IdsMark = Pick<IdsDigest, "length" | "low" | "high">;

export interface SampledStep {
  /** Before the first message of the step, which is behind the call before it or at the prompt's end. */
  readonly start: IdsMark;
  /** Behind the call. */
  readonly end: IdsMark;
  /** The messages that the parser read without a repair, the call among them, in order. */
  readonly spans: readonly SampledSpan[];
  /** The engine returns text: the ids are those of our tokenizer. */
  readonly isText: boolean;
}

/** The ids of a message, from `<|start|>` to the token that ends it. */
export interface SampledSpan {
  /** Ids between the start of the step and the message. */
  readonly at: number;
  readonly ids: readonly TokenId[];
}

/**
 * - `not-found`: nothing is stored for the call
 * - `damaged`: what is stored cannot be read
 * - `arguments`, `reasoning`, `text`: the client sent another text than it was given
 * - `repaired`: the model's output had to be repaired
 * - `steered`: the gateway rejected an attempt, or wrote something between
 * - `edited`: something before the step is not as it was
 */
export type RenderedBecause =
  | "not-found"
  | "damaged"
  | "arguments"
  | "reasoning"
  | "text"
  | "repaired"
  | "steered"
  | "edited";

/** How a message of a history is written: as it was sampled, or why not. */
export interface Sampled {
  /** Absent: the message is rendered from the client's text. */
  readonly pieces?: readonly Piece[];
  /** Ids between the start of the step and the message, when it was sampled. */
  readonly at?: number;
  readonly because?: RenderedBecause;
  /** Of the call that ends a step. */
  readonly step?: SampledStep | undefined;
  /** The header of the call is in the form that its id names. */
  readonly hasForm?: boolean;
}

export function isSameMark(left: IdsMark, right: IdsMark): boolean {
  return left.length === right.length && left.low === right.low && left.high === right.high;
}
