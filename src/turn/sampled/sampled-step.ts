/** What the model read and wrote up to a call of the client's, as token ids. */
import { digestOf, type IdsDigest, joinDigests, NO_IDS } from "../../harmony/ids-digest.ts";
import type { RenderedPrompt } from "../../harmony/prompt.ts";
import type { TokenId } from "../../tokenizer/index.ts";

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

/** The messages of a prompt, without the header that the model continues. */
export function digestOfMessages({ segments }: RenderedPrompt): IdsDigest {
  let digest = NO_IDS;
  for (const segment of segments) {
    if (segment.type === "rendered" && segment.message === undefined) break;
    if (segment.type === "appended") digest = joinDigests(digest, digestOf(segment.ids));
    else for (const piece of segment.pieces) digest = joinDigests(digest, piece.digest());
  }
  return digest;
}

export function isSameMark(left: IdsMark, right: IdsMark): boolean {
  return left.length === right.length && left.low === right.low && left.high === right.high;
}
