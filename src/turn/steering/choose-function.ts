/** Lets the model choose the function of a forced call among several. Only a function name is accepted. */
import type { EngineTokens } from "../../engines/engine.ts";
import type { StreamingDecoder } from "../../tokenizer/index.ts";
import { callEngine } from "../sampling/engine-call.ts";
import type { Outcome } from "./decision.ts";
import { oneByOne } from "../reading/token-units.ts";
import type { TurnTools } from "../turn-tools.ts";
import type { TurnState } from "../turn-state.ts";

/** A longer text is not a function name. */
const MAX_NAME_TOKENS = 48;

/**
 * Expects a transcript that ends with `<|start|>assistant`. Samples after ` to=functions`, or another namespace if all
 * the functions share it, or else after ` to`, until the model has named a function. Does not change the transcript: the
 * caller appends the whole header.
 */
export async function chooseFunction(state: TurnState, names: readonly string[]): Promise<Outcome> {
  const { engine, turn, tools, tokenizer, prefixes } = state;
  const decoder = tokenizer.createDecoder();
  const { namespace, spellings } = toSpellings(tools, names);
  let text = "";

  const end = await callEngine(
    state,
    {
      prompt: state.transcript.prompt().append(prefixes.callTo(namespace)),
      maxTokens: MAX_NAME_TOKENS,
      sampling: turn.sampling,
      stopIds: [],
      ...(engine.capabilities.constraints.includes("choice") && {
        constraint: { type: "choice", options: [...spellings.keys()] },
      }),
    },
    {
      take(tokens) {
        state.onFact?.(tokens);
        // Tokens after the name are ignored, however the engine groups its tokens.
        for (const unit of oneByOne(tokens)) {
          if (isOver(text)) return false;
          state.usage.add(unit);
          text += toText(unit, decoder);
        }
        return !isOver(text);
      },
    },
  );
  switch (end.type) {
    case "no-tokens-left":
      return { type: "out-of-tokens" };
    case "finished":
      state.nativeReason = end.nativeReason;
      if (end.reason === "length" && end.isTurnLimit) return { type: "out-of-tokens" };
      return toOutcome(spellings, text + decoder.end());
    case "cut":
      return toOutcome(spellings, text);
    default:
      return end satisfies never;
  }
}

function toText(unit: EngineTokens, decoder: StreamingDecoder): string {
  switch (unit.type) {
    case "ids":
      return unit.ids.map((id) => decoder.push(id)).join("");
    case "pieces":
      // A control token ends the name; `<|` stands for it.
      return unit.pieces.map((piece) => ("text" in piece ? piece.text : "<|")).join("");
    case "text":
      return unit.text;
    default:
      return unit satisfies never;
  }
}

/** The text by which the model chooses each function, after the namespace that the gateway writes. */
function toSpellings(tools: TurnTools, names: readonly string[]) {
  const recipients = names.map((name) => [tools.recipientOf(name), name] as const);
  const namespaces = new Set(recipients.map(([recipient]) => namespaceOf(recipient)));
  const [first] = namespaces;
  const namespace = namespaces.size === 1 ? first : undefined;
  return {
    namespace,
    spellings: new Map(
      recipients.map(([recipient, name]) => [
        namespace === undefined ? `=${recipient}` : recipient.slice(namespace.length),
        name,
      ]),
    ),
  };
}

/** Undefined for a recipient without a dot. */
function namespaceOf(recipient: string): string | undefined {
  const dot = recipient.indexOf(".");
  return dot < 0 ? undefined : recipient.slice(0, dot);
}

/** The name ends at the first character that cannot be part of a name. */
function isOver(text: string): boolean {
  return /[^\w.=-]/.test(text);
}

/** Chooses the longest name that the text begins with. */
function toOutcome(spellings: ReadonlyMap<string, string>, text: string): Outcome {
  const [spelling] = [...spellings.keys()]
    .filter((each) => text.startsWith(each))
    .toSorted((a, b) => b.length - a.length);
  const name = spelling === undefined ? undefined : spellings.get(spelling);
  return { type: "function-chosen", name };
}
