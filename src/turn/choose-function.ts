/** Which of several functions a forced call goes to: the model is asked, and nothing but a name counts. */
import type { EngineTokens } from "../engines/engine.ts";
import type { StreamingDecoder } from "../tokenizer/index.ts";
import { callEngine } from "./engine-call.ts";
import type { Outcome } from "./next-step.ts";
import { oneByOne } from "./token-units.ts";
import type { TurnState } from "./turn-state.ts";

/** Names are short; what is longer is no name. */
const MAX_NAME_TOKENS = 48;

/**
 * The transcript ends with `<|start|>assistant`. Lets the model go on after ` to=functions` until it has
 * named a function. The transcript is left as it was: the caller writes the whole header.
 */
export async function chooseFunction(state: TurnState, names: readonly string[]): Promise<Outcome> {
  const { engine, turn, tokenizer, prefixes } = state;
  const decoder = tokenizer.createDecoder();
  let text = "";

  const end = await callEngine(
    state,
    {
      prompt: state.transcript.prompt().append(prefixes.callTo),
      maxTokens: MAX_NAME_TOKENS,
      sampling: turn.sampling,
      stopIds: [],
      ...(engine.capabilities.constraints.includes("choice") && {
        constraint: { type: "choice", options: names.map((name) => `.${name}`) },
      }),
    },
    (tokens, count) => {
      // What an engine sends behind the name does not count, in whatever read it comes.
      for (const unit of oneByOne(tokens)) {
        if (isOver(text)) return false;
        count(unit);
        text += toText(unit, decoder);
      }
      return !isOver(text);
    },
  );
  switch (end.type) {
    case "no-tokens-left":
      return { type: "out-of-tokens" };
    case "finished":
      state.nativeReason = end.nativeReason;
      if (end.reason === "length" && end.isTurnLimit) return { type: "out-of-tokens" };
      return toOutcome(names, text + decoder.end());
    case "cut":
      return toOutcome(names, text);
    default:
      return end satisfies never;
  }
}

function toText(unit: EngineTokens, decoder: StreamingDecoder): string {
  switch (unit.type) {
    case "ids":
      return unit.ids.map((id) => decoder.push(id)).join("");
    case "pieces":
      // No name holds the beginning of a control token.
      return unit.pieces.map((piece) => ("text" in piece ? piece.text : "<|")).join("");
    case "text":
      return unit.text;
    default:
      return unit satisfies never;
  }
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
