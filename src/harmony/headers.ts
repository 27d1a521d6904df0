/**
 * The ids that open and close an assistant message, for a turn that decides what comes next.
 *
 * Each header continues a prompt that ends with `<|start|>assistant`, in the words and the pieces in
 * which the renderer writes it, so that a forced message looks like one from the history.
 */
import type { TokenId, Tokenizer } from "../tokenizer/tokenizer.ts";
import type { Layout } from "./render.ts";
import { CALL, CHANNEL, CONSTRAIN, END, MESSAGE, START } from "./tokens.ts";

export interface Headers {
  /** `<|start|>assistant`: another message begins. */
  readonly assistant: readonly TokenId[];
  readonly analysis: readonly TokenId[];
  readonly final: readonly TokenId[];
  /** An answer that is a JSON document. */
  readonly finalJson: readonly TokenId[];
  /** A call whose function the model has yet to name. In the channel-first layout too, the name comes next. */
  readonly callTo: readonly TokenId[];
  /** What follows the name after `callTo`. */
  readonly afterCallTo: readonly TokenId[];
  call(name: string): readonly TokenId[];
  readonly end: TokenId;
  readonly endOfCall: TokenId;
}

export function createHeaders(tokenizer: Tokenizer, layout: Layout): Headers {
  const words = (text: string) => tokenizer.encode(text);
  const channel = (name: string) => [CHANNEL, ...words(name)];
  const constrainedJson = [...words(" "), CONSTRAIN, ...words("json"), MESSAGE];
  const commentary = channel("commentary");
  const channelFirst = layout === "channel-first";
  const beforeRecipient = channelFirst ? commentary : [];
  const afterRecipient = [...(channelFirst ? [] : commentary), ...constrainedJson];

  return {
    assistant: [START, ...words("assistant")],
    analysis: [...channel("analysis"), MESSAGE],
    final: [...channel("final"), MESSAGE],
    finalJson: [...channel("final"), ...constrainedJson],
    callTo: [...beforeRecipient, ...words(" to=functions.")],
    afterCallTo: afterRecipient,
    call: (name) => [...beforeRecipient, ...words(` to=functions.${name}`), ...afterRecipient],
    end: END,
    endOfCall: CALL,
  };
}
