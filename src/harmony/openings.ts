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
  // Made when asked for: most turns need none, and making them all takes 6 µs.
  return {
    get assistant() {
      return renderer.renderStart("assistant").ids;
    },
    get analysis() {
      return renderer.renderOpening({ channel: "analysis" }).ids;
    },
    get final() {
      return renderer.renderOpening({ channel: "final" }).ids;
    },
    get finalJson() {
      return renderer.renderOpening({ channel: "final", contentType: JSON_CONTENT }).ids;
    },
    call: (name) =>
      renderer.renderOpening({
        channel: "commentary",
        recipient: `functions.${name}`,
        contentType: JSON_CONTENT,
      }).ids,
    get callTo() {
      const recipient = tokenizer.encode(" to=functions");
      return layout === "channel-first"
        ? [CHANNEL, ...tokenizer.encode("commentary"), ...recipient]
        : recipient;
    },
    end: END,
    endOfCall: CALL,
  };
}
