/** The ids that the model read and wrote up to a client's call, and their reuse in later prompts. */
import type { IdsDigest } from "./ids-digest.ts";
import type { Piece } from "./pieces.ts";
import type { TokenId } from "../tokenizer/index.ts";

/** A position in the engine's input: the number and the digest of the ids before it. */
export type IdsMark = Pick<IdsDigest, "length" | "low" | "high">;

export interface SampledStep {
  /** The position before the first message of the step: after the previous call, or at the prompt's end. */
  readonly start: IdsMark;
  /** The position after the call. */
  readonly end: IdsMark;
  /** The messages that the parser read without a repair, the call among them, in order. */
  readonly spans: readonly SampledSpan[];
  /** Whether the engine returns text, so that the ids are from the gateway's tokenizer. */
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
 * - `damaged`: the stored step cannot be read
 * - `arguments`, `reasoning`, `text`: the client has sent another text than it received
 * - `repaired`: the model's output had to be repaired
 * - `steered`: the gateway rejected an attempt, or wrote text in between
 * - `edited`: the history before the step has changed
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

/** The sampled form of a message in a history, or the reason why it is not used. */
export interface Sampled {
  /** Absent: the message is rendered from the client's text. */
  readonly pieces?: readonly Piece[];
  /** Ids between the start of the step and the message, when it was sampled. */
  readonly at?: number;
  readonly because?: RenderedBecause;
  /** The step, for the call that ends it. */
  readonly step?: SampledStep | undefined;
  /** Whether the header of the call has the form that its id names. */
  readonly hasForm?: boolean;
}

export function isSameMark(left: IdsMark, right: IdsMark): boolean {
  return left.length === right.length && left.low === right.low && left.high === right.high;
}
