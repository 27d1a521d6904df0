/**
 * Everything the model has been shown and has written in this turn: the prompt, then what was sampled and
 * what was forced, in order. It only grows, so that every engine call begins with all of the one before
 * and the engine's prefix cache is hit.
 */
import type { EngineTokens, Prompt } from "../engines/engine.ts";
import type { TokenId, Tokenizer } from "../tokenizer/index.ts";

export interface Transcript {
  appendIds(ids: readonly TokenId[]): void;
  append(tokens: EngineTokens): void;
  /** As it stands now. */
  prompt(): Prompt;
}

export function createTranscript(base: Prompt, tokenizer: Tokenizer): Transcript {
  /** Runs of ids, and runs of text where an engine gave no ids. Each form is made of them when asked for. */
  const runs: (TokenId[] | string)[] = [];

  function appendIds(ids: readonly TokenId[]): void {
    const last = runs.at(-1);
    if (typeof last === "object") for (const id of ids) last.push(id);
    else runs.push([...ids]);
  }

  function appendText(text: string): void {
    const last = runs.at(-1);
    if (typeof last === "string") runs[runs.length - 1] = last + text;
    else runs.push(text);
  }

  return {
    appendIds,
    append(tokens) {
      switch (tokens.type) {
        case "ids":
          return appendIds(tokens.ids);
        case "pieces":
          for (const piece of tokens.pieces) {
            if ("special" in piece) appendIds([piece.special]);
            else appendText(piece.text);
          }
          return;
        case "text":
          return appendText(tokens.text);
        default:
          tokens satisfies never;
      }
    },
    prompt() {
      if (runs.length === 0) return base;
      const appended = runs.map((run) => (typeof run === "string" ? run : run.slice()));
      const ids = () =>
        appended.flatMap((run) => (typeof run === "string" ? tokenizer.encode(run) : run));
      return {
        get ids() {
          return [...base.ids, ...ids()];
        },
        idsJson: () => `${base.idsJson()},${ids().join(",")}`,
        text: () =>
          base.text() +
          appended.map((run) => (typeof run === "string" ? run : tokenizer.decode(run))).join(""),
      };
    },
  };
}
