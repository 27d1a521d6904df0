/**
 * All tokens that the model has read and written in this turn: the prompt, then sampled and forced tokens, in order.
 * The transcript is append-only, so that each engine call extends the previous one and hits the engine's prefix cache.
 */
import type { Capabilities, EngineTokens } from "../../engines/engine.ts";
import { MarkerScanner, idOfMarker, isHalfMarker } from "../../harmony/markers.ts";
import type { RenderedPrompt } from "../../harmony/prompt.ts";
import { CALL, END, END_OF_TEXT, RETURN, START } from "../../harmony/tokens.ts";
import { isSpecial, type TokenId, type Tokenizer } from "../../tokenizer/index.ts";

/** Appended tokens; text is encoded by the gateway's tokenizer. */
interface Appended {
  readonly ids: TokenId[];
  /** The messages that begin in these tokens, in order. */
  readonly starts: readonly MessageStart[];
  /** Whether some of the tokens came as text. */
  readonly isText: boolean;
}

export interface MessageStart {
  /** The index of `<|start|>`. */
  readonly at: number;
  /** The numbers of repairs by the turn's parser when the previous message ended, and when this one began. */
  readonly before: number;
  readonly repairs: number;
}

/** Prompt tokens in the form the engine receives: ids or text. */
export function sentLength(prompt: RenderedPrompt, { idsIn }: Capabilities): number {
  return idsIn ? prompt.length : prompt.textLength();
}

export class Transcript {
  readonly #base: RenderedPrompt;
  readonly #tokenizer: Tokenizer;
  /** Runs of ids, or of text if the engine returned no ids. Converted to the other form on demand. */
  readonly #runs: (TokenId[] | string)[] = [];
  readonly #countRepairs: () => number;
  /** The position of {@link take}, and the messages that have begun after it. */
  #taken = { run: 0, at: 0 };
  #starts: (MessageStart & { readonly run: number })[] = [];
  #atMessageStart = true;
  /** Finds markers spelled in text. They are stored as ids, as for any other engine. */
  readonly #scanner = new MarkerScanner();

  /**
   * @param countRepairs returns the number of repairs by the turn's parser, which has read all appended output of the
   * model.
   */
  constructor(base: RenderedPrompt, tokenizer: Tokenizer, countRepairs: () => number) {
    this.#base = base;
    this.#tokenizer = tokenizer;
    this.#countRepairs = countRepairs;
  }

  appendIds(ids: readonly TokenId[]): void {
    this.#appendText(this.#scanner.end());
    this.#pushIds(ids);
  }

  append(tokens: EngineTokens): void {
    switch (tokens.type) {
      case "ids":
        return this.appendIds(tokens.ids);
      case "pieces":
        for (const piece of tokens.pieces) {
          if ("special" in piece) this.appendIds([piece.special]);
          else this.#appendText(piece.text);
        }
        return;
      case "text":
        return this.#appendSpelled(tokens.text);
      default:
        tokens satisfies never;
    }
  }

  /** Called when the engine was cut: drops a possible beginning of a spelled control token. */
  dropHalfMarker(): void {
    this.#scanner.end();
  }

  /**
   * Closes the open message, with `<|end|>` by default. A trailing `<|return|>` or `<|endoftext|>` is replaced, like in
   * any history: the model sampled it last, so no engine has continued from it. A message without any content stays
   * open; see `isAtMessageStart`.
   */
  closeMessage(terminator: TokenId = END): void {
    const waiting = this.#scanner.end();
    // An incomplete marker is dropped: the following text could complete it.
    if (!isHalfMarker(waiting)) this.#appendText(waiting);
    const ids = this.#runs.at(-1);
    const last = lastIdOf(ids);
    if (typeof ids === "object" && (last === RETURN || last === END_OF_TEXT)) ids.pop();
    if (this.#endsWithStart()) this.#beginAgain();
    else if (last !== END && last !== CALL) this.appendIds([terminator]);
  }

  /** Discards the header that the model has begun. The gateway writes another in its place. */
  #beginAgain(): void {
    this.#atMessageStart = true;
    const start = this.#starts.pop();
    if (start !== undefined) this.#starts.push({ ...start, repairs: this.#countRepairs() });
  }

  /** Begins another message with these ids, which also end the prompt: `<|start|>assistant`. */
  openMessage(start: readonly TokenId[]): void {
    this.appendIds(start);
    this.#atMessageStart = true;
  }

  /** Whether the transcript ends with `<|start|>assistant`. */
  isAtMessageStart(): boolean {
    return this.#atMessageStart;
  }

  /** Returns the tokens appended since the last call, after the ids `before`. */
  take(before: readonly TokenId[] = []): Appended {
    const ids = [...before];
    const starts: MessageStart[] = [];
    let isText = false;
    const { run: first, at: from } = this.#taken;
    for (let run = first; run < this.#runs.length; run++) {
      const each = this.#runs[run] ?? "";
      const rest = run === first ? each.slice(from) : each;
      if (typeof rest === "string") isText ||= rest !== "";
      for (const start of this.#starts) {
        if (start.run !== run) continue;
        const at = ids.length + start.at - (run === first ? from : 0);
        starts.push({ ...start, at });
      }
      for (const id of typeof rest === "string" ? this.#tokenizer.encode(rest) : rest) ids.push(id);
    }
    const last = Math.max(0, this.#runs.length - 1);
    this.#taken = { run: last, at: this.#runs[last]?.length ?? 0 };
    this.#starts = [];
    return { ids, starts, isText };
  }

  /** A snapshot of the transcript. */
  prompt(): RenderedPrompt {
    this.#appendText(this.#scanner.end());
    return this.#base.append(...this.#runs);
  }

  #pushIds(ids: readonly TokenId[]): void {
    if (ids.length > 0) this.#atMessageStart = false;
    let last = this.#runs.at(-1);
    if (typeof last !== "object") this.#runs.push((last = []));
    for (const id of ids) {
      if (id === START) this.#noteStart(last.length);
      last.push(id);
    }
  }

  #noteStart(at: number): void {
    const repairs = this.#countRepairs();
    this.#starts.push({ run: this.#runs.length - 1, at, before: repairs, repairs });
  }

  #appendSpelled(text: string): void {
    for (const item of this.#scanner.push(text)) {
      if (item.type === "marker") this.#pushIds([idOfMarker(item.marker)]);
      else this.#appendText(item.type === "text" ? item.text : item.spelling);
    }
  }

  #appendText(text: string): void {
    if (text === "") return;
    this.#atMessageStart = false;
    const last = this.#runs.at(-1);
    if (typeof last === "string") this.#runs[this.#runs.length - 1] = last + text;
    else this.#runs.push(text);
  }

  /** Whether the last message is only `<|start|>assistant`. */
  #endsWithStart(): boolean {
    let header = "";
    for (const run of this.#runs.toReversed()) {
      if (typeof run === "string") {
        header = run.slice(-ROLE.length - 1) + header;
      } else {
        for (const id of run.toReversed()) {
          if (id === START) return header === ROLE;
          if (isSpecial(id) || header.length > ROLE.length) return false;
          header = this.#tokenizer.decode([id]) + header;
        }
      }
    }
    return header === "";
  }
}

const ROLE = "assistant";

function lastIdOf(run: readonly TokenId[] | string | undefined): TokenId | undefined {
  return typeof run === "object" ? run.at(-1) : undefined;
}
