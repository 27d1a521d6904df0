/**
 * Everything the model has been shown and has written in this turn: the prompt, then what was sampled and
 * what was forced, in order. It only grows, so that every engine call begins with all of the one before
 * and the engine's prefix cache is hit.
 */
import type { Capabilities, EngineTokens, Prompt } from "../engines/engine.ts";
import { createMarkerScanner, idOfMarker, isHalfMarker } from "../harmony/markers.ts";
import { toPromptText } from "../harmony/prompt-text.ts";
import { CALL, END, END_OF_TEXT, RETURN, START } from "../harmony/tokens.ts";
import { isSpecial, type TokenId, type Tokenizer } from "../tokenizer/index.ts";

export interface Transcript {
  appendIds(ids: readonly TokenId[]): void;
  append(tokens: EngineTokens): void;
  /**
   * Ends the message that is open, with `<|end|>` unless told otherwise. A `<|return|>` or `<|endoftext|>` at the end is replaced, as in
   * any history: the model wrote it as the last token, so no engine has continued from it. Where nothing is
   * written of it, it stays open: see `atMessageStart`.
   */
  closeMessage(terminator?: TokenId): void;
  /** Begins another with these ids, which are those the prompt ends with: `<|start|>assistant`. */
  openMessage(start: readonly TokenId[]): void;
  /** Nothing has been written behind the `<|start|>assistant` at the end. */
  readonly atMessageStart: boolean;
  /** As it stands now. */
  prompt(): CountedPrompt;
}

export interface CountedPrompt extends Prompt {
  /** Number of ids; cheap, unlike `ids.length` on a prompt whose ids nobody has asked for. */
  readonly length: number;
  /** Tokens of `text()`, in which broken spellings take more of them than the ids they came from. */
  textLength(): number;
  append(ids: readonly TokenId[]): CountedPrompt;
}

/** Tokens of the prompt in the form that the engine is sent. */
export function sentLength(prompt: CountedPrompt, { idsIn }: Capabilities): number {
  return idsIn ? prompt.length : prompt.textLength();
}

export function createTranscript(base: CountedPrompt, tokenizer: Tokenizer): Transcript {
  /** Runs of ids, and runs of text where an engine gave no ids. Each form is made of them when asked for. */
  const runs: (TokenId[] | string)[] = [];
  let atMessageStart = true;
  /** Finds the markers that an engine spells out. They are kept as ids, like those of any other engine. */
  const scanner = createMarkerScanner();

  function appendIds(ids: readonly TokenId[]): void {
    appendText(scanner.end());
    pushIds(ids);
  }

  function pushIds(ids: readonly TokenId[]): void {
    if (ids.length > 0) atMessageStart = false;
    const last = runs.at(-1);
    if (typeof last === "object") for (const id of ids) last.push(id);
    else runs.push([...ids]);
  }

  function appendSpelled(text: string): void {
    for (const item of scanner.push(text)) {
      if (item.type === "marker") pushIds([idOfMarker(item.marker)]);
      else appendText(item.type === "text" ? item.text : item.spelling);
    }
  }

  function appendText(text: string): void {
    if (text === "") return;
    atMessageStart = false;
    const last = runs.at(-1);
    if (typeof last === "string") runs[runs.length - 1] = last + text;
    else runs.push(text);
  }

  /** Whether nothing is written of the last message but `<|start|>assistant`. */
  function endsWithStart(): boolean {
    let header = "";
    for (const run of runs.toReversed()) {
      if (typeof run === "string") {
        header = run.slice(-ROLE.length - 1) + header;
      } else {
        for (const id of run.toReversed()) {
          if (id === START) return header === ROLE;
          if (isSpecial(id) || header.length > ROLE.length) return false;
          header = tokenizer.decode([id]) + header;
        }
      }
    }
    return header === "";
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
          return appendSpelled(tokens.text);
        default:
          tokens satisfies never;
      }
    },
    closeMessage(terminator = END) {
      const waiting = scanner.end();
      // Half a marker is none, and what follows would be read as its other half.
      if (!isHalfMarker(waiting)) appendText(waiting);
      const ids = runs.at(-1);
      const last = lastIdOf(ids);
      if (typeof ids === "object" && (last === RETURN || last === END_OF_TEXT)) ids.pop();
      if (endsWithStart()) atMessageStart = true;
      else if (last !== END && last !== CALL) appendIds([terminator]);
    },
    openMessage(start) {
      appendIds(start);
      atMessageStart = true;
    },
    get atMessageStart() {
      return atMessageStart;
    },
    prompt: () => {
      appendText(scanner.end());
      return runs.length === 0 ? base : withRuns(base, runs, tokenizer);
    },
  };
}

const ROLE = "assistant";

function lastIdOf(run: readonly TokenId[] | string | undefined): TokenId | undefined {
  return typeof run === "object" ? run.at(-1) : undefined;
}

/** A snapshot: later runs do not change it. */
function withRuns(
  base: CountedPrompt,
  runs: readonly (readonly TokenId[] | string)[],
  tokenizer: Tokenizer,
): CountedPrompt {
  const appended = runs.map((run) => (typeof run === "string" ? run : run.slice()));
  let known: TokenId[] | undefined;
  let spelled: readonly { readonly text: string; readonly tokens: number }[] | undefined;
  const ids = () =>
    (known ??= appended.flatMap((run) => (typeof run === "string" ? tokenizer.encode(run) : run)));
  const texts = () =>
    (spelled ??= appended.map((run) =>
      // Text that an engine gave is text it has read already. Ids may spell a control token in ordinary ones.
      typeof run === "string"
        ? { text: run, tokens: tokenizer.encode(run).length }
        : toPromptText(run, { tokenizer }),
    ));
  return {
    get length() {
      return base.length + ids().length;
    },
    textLength: () => texts().reduce((sum, { tokens }) => sum + tokens, base.textLength()),
    get ids() {
      return [...base.ids, ...ids()];
    },
    idsJson: () => `${base.idsJson()},${ids().join(",")}`,
    text: () => texts().reduce((all, { text }) => all + text, base.text()),
    append: (more) => withRuns(base, [...appended, more], tokenizer),
  };
}
