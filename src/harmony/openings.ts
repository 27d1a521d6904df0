/**
 * The ids that open and close an assistant message, for a turn that decides what comes next.
 *
 * Each opening continues a prompt that ends with `<|start|>assistant`, exactly as the renderer would
 * write it, so that a forced message looks like one from the history.
 */
import type { TokenId, Tokenizer } from "../tokenizer/tokenizer.ts";
import type { Layout, Renderer } from "./render.ts";
import { CALL, CHANNEL, END } from "./tokens.ts";

export interface Openings {
  /** `<|start|>assistant`: another message begins. */
  readonly assistant: readonly TokenId[];
  readonly analysis: readonly TokenId[];
  readonly final: readonly TokenId[];
  /** An answer that is a JSON document. */
  readonly finalJson: readonly TokenId[];
  call(name: string): readonly TokenId[];
  /**
   * The beginning of a call up to where its function is named: ` to=functions`. The dot is left to come
   * with the name, because the vocabulary has tokens such as `.get`.
   */
  readonly callTo: readonly TokenId[];
  readonly end: TokenId;
  readonly endOfCall: TokenId;
}

const JSON_CONTENT = "<|constrain|>json";

export function createOpenings(
  renderer: Renderer,
  tokenizer: Tokenizer,
  layout: Layout = "reference",
): Openings {
  const recipient = tokenizer.encode(" to=functions");
  return {
    assistant: renderer.renderStart("assistant").ids,
    analysis: renderer.renderOpening({ channel: "analysis" }).ids,
    final: renderer.renderOpening({ channel: "final" }).ids,
    finalJson: renderer.renderOpening({ channel: "final", contentType: JSON_CONTENT }).ids,
    call: (name) =>
      renderer.renderOpening({
        channel: "commentary",
        recipient: `functions.${name}`,
        contentType: JSON_CONTENT,
      }).ids,
    callTo:
      layout === "channel-first"
        ? [CHANNEL, ...tokenizer.encode("commentary"), ...recipient]
        : recipient,
    end: END,
    endOfCall: CALL,
  };
}
