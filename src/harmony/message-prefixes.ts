/**
 * The ids that open and close an assistant message when the gateway chooses the model's next message.
 *
 * Each prefix continues a prompt that ends with `<|start|>assistant`, with exactly the ids that the renderer would
 * write, so that a forced message equals one from the history.
 */
import type { TokenId, Tokenizer } from "../tokenizer/tokenizer.ts";
import { isTrainedTool } from "./recipient.ts";
import type { Renderer } from "./render.ts";
import type { Layout, Opening } from "./message-layout.ts";
import { CALL, CHANNEL, END } from "./tokens.ts";

const JSON_CONTENT = "<|constrain|>json";

/** Each prefix is rendered on first use, since most turns need none. */
export class MessagePrefixes {
  readonly end = END;
  readonly endOfCall = CALL;
  readonly #renderer: Renderer;
  readonly #tokenizer: Tokenizer;
  readonly #layout: Layout;

  constructor(renderer: Renderer, tokenizer: Tokenizer, layout: Layout) {
    this.#renderer = renderer;
    this.#tokenizer = tokenizer;
    this.#layout = layout;
  }

  /** `<|start|>assistant`: begins another message. */
  get assistant(): readonly TokenId[] {
    return this.#renderer.renderStart("assistant").ids;
  }

  get analysis(): readonly TokenId[] {
    return this.#open({ channel: "analysis" });
  }

  get final(): readonly TokenId[] {
    return this.#open({ channel: "final" });
  }

  /** An answer that is a JSON document. */
  get finalJson(): readonly TokenId[] {
    return this.#open({ channel: "final", contentType: JSON_CONTENT });
  }

  /** A call to this recipient, such as `functions.get_weather`. */
  call(recipient: string, form: "json" | "raw" = "json"): readonly TokenId[] {
    const contentType = form === "json" ? { contentType: JSON_CONTENT } : {};
    return this.#open({ channel: "commentary", recipient, ...contentType });
  }

  /** A call to a tool that the gateway runs: `browser.search`, `python`, or a function such as `label.tool`. */
  builtinCall(recipient: string): readonly TokenId[] {
    return isTrainedTool(recipient)
      ? this.#open({ channel: "analysis", recipient, contentType: "code" })
      : this.call(recipient);
  }

  /**
   * The beginning of a call whose recipient the model writes: ` to=functions` for a recipient of that namespace,
   * otherwise ` to`. The text after either begins another token: the vocabulary has `.get` and `=m`.
   */
  callTo(namespace: string | undefined): readonly TokenId[] {
    const recipient = this.#tokenizer.encode(namespace === undefined ? " to" : ` to=${namespace}`);
    return this.#layout === "reference"
      ? recipient
      : [CHANNEL, ...this.#tokenizer.encode("commentary"), ...recipient];
  }

  #open(opening: Opening): readonly TokenId[] {
    return this.#renderer.renderOpening(opening).ids;
  }
}
