/** Which of several functions a forced call goes to: the model is asked, and nothing but a name counts. */
import type { Outcome } from "./next-step.ts";
import { tokensLeft } from "./sample.ts";
import { createTextMeter } from "./text-meter.ts";
import { sentLength } from "./transcript.ts";
import { emitStart, type TurnState } from "./turn-state.ts";

/** Names are short; what is longer is no name. */
const MAX_NAME_TOKENS = 48;

/**
 * The transcript ends with `<|start|>assistant`. Lets the model go on after ` to=functions` until it has
 * named a function. The transcript is left as it was: the caller writes the whole header.
 * Asks for no more tokens than the turn has left.
 */
export async function chooseFunction(state: TurnState, names: readonly string[]): Promise<Outcome> {
  const { engine, turn, usage, tokenizer, prefixes } = state;
  const asked = state.transcript.prompt().append(prefixes.callTo);
  const constraint = engine.capabilities.constraints.includes("choice")
    ? { type: "choice" as const, options: names.map((name) => `.${name}`) }
    : undefined;
  const decoder = tokenizer.createDecoder();
  let text = "";

  const askedLength = sentLength(asked, engine.capabilities);
  const left = tokensLeft(state, askedLength);
  if (left < 1) return { type: "out-of-tokens" };

  const meter = createTextMeter(tokenizer);
  usage.beginCall(askedLength, meter);
  const completion = engine.complete(
    {
      prompt: asked,
      maxTokens: Math.min(MAX_NAME_TOKENS, left),
      sampling: turn.sampling,
      stopIds: [],
      requestId: turn.id,
      tenant: turn.tenant,
      ...(state.cacheSalt !== undefined && { cacheSalt: state.cacheSalt }),
      ...(turn.affinity !== undefined && { affinity: turn.affinity }),
      ...(constraint && { constraint }),
    },
    state.signal,
  );
  for await (const event of completion) {
    switch (event.type) {
      case "open":
        void emitStart(state);
        break;
      case "finish":
        usage.endCall(event.usage);
        state.nativeReason = event.nativeReason;
        if (event.reason === "length" && left <= MAX_NAME_TOKENS) return { type: "out-of-tokens" };
        return toOutcome(names, text + decoder.end());
      case "ids":
        // What an engine sends behind the name does not count, in whatever read it comes.
        for (const id of event.ids) {
          if (isOver(text)) break;
          usage.add(1);
          text += decoder.push(id);
        }
        break;
      case "pieces":
        usage.add(event.tokens);
        for (const piece of event.pieces) text += "text" in piece ? piece.text : "<|";
        break;
      case "text":
        if (event.tokens === undefined) meter.push(event.text);
        else usage.add(event.tokens);
        text += event.text;
        break;
      default:
        event satisfies never;
    }
    if (isOver(text)) return toOutcome(names, text);
  }
  return toOutcome(names, text);
}

/** The name is over where something begins that no name holds. */
function isOver(text: string): boolean {
  return /[^\w.-]/.test(text);
}

/** The longest of the names that the text begins with. */
function toOutcome(names: readonly string[], text: string): Outcome {
  const [, written = ""] = /^\.([\w.-]*)/.exec(text) ?? [];
  const [name] = names
    .filter((each) => written.startsWith(each))
    .toSorted((a, b) => b.length - a.length);
  return { type: "function-chosen", name };
}
