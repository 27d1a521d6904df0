/**
 * Parses transcripts incrementally, as ids or text, to the messages of all authors, without repairs. The completion
 * parser (`parse.ts`), in contrast, repairs the model's output.
 */
import {
  isSpecial,
  o200kHarmony,
  specialTokenName,
  type TokenId,
  type Tokenizer,
} from "../tokenizer/index.ts";
import type { Role } from "./conversation.ts";
import { MarkerScanner, idOfMarker, type Marker, markerOf } from "./markers.ts";
import { TranscriptError, type TranscriptErrorCode } from "./transcript-error.ts";
import {
  HeaderError,
  isRole,
  readReferenceHeader,
  readWrittenHeader,
  splitReference,
  type TranscriptHeader,
  type TranscriptSection,
} from "./transcript-header.ts";
import type { MessageEnd, TranscriptMessage } from "./transcript-message.ts";

export interface TranscriptOptions {
  /**
   * - `strict`, the default: like openai/harmony 0.0.8, which fails at the first unexpected token
   * - `lax`: like its non-strict mode, which accepts a header without `<|message|>`
   * - `lenient`: reads all output of the renderer, never throws, and lists the problems found
   */
  readonly mode?: "strict" | "lax" | "lenient";
  /** The role, if the transcript begins after `<|start|>` and the role, like a completion. */
  readonly role?: Role;
  readonly tokenizer?: Tokenizer;
}

/** A problem found in lenient mode. */
export interface TranscriptProblem {
  readonly code:
    | "text-outside"
    | "stray-marker"
    | "missing-end"
    | "missing-message"
    | "repeated-section"
    | "unknown-id"
    | "cut-header";
  /** The position, as in {@link TranscriptError}. */
  readonly at: number;
}

/** Returns each message when it is complete, with its body as text. */
export interface TranscriptParser {
  /** Throws a {@link TranscriptError} in strict and lax mode. */
  pushIds(ids: readonly TokenId[]): TranscriptMessage[];
  pushText(text: string): TranscriptMessage[];
  /** Ends the input. */
  end(): TranscriptMessage[];
  readonly problems: readonly TranscriptProblem[];
  readonly opened: Role | undefined;
}

/**
 * @example
 * ```ts
 * import { createTranscriptParser } from "harmony-gateway/harmony";
 *
 * const parser = createTranscriptParser({ mode: "lenient" });
 * parser.pushText("<|start|>user<|mess"); // => []
 * parser.pushText("age|>Hi<|end|>"); // => [{ message: { role: "user", content: "Hi" }, end: "end" }]
 * ```
 */
export function createTranscriptParser(options: TranscriptOptions = {}): TranscriptParser {
  return new Reader(options);
}

type State =
  | { readonly at: "between" }
  | {
      readonly at: "header";
      readonly role: Role | undefined;
      readonly sections: { readonly after: TranscriptSection["after"]; text: string }[];
      /** The text of the header, with markers spelled out. */
      text: string;
    }
  | {
      readonly at: "body";
      readonly header: TranscriptHeader;
      text: string;
      /** Whether the rest is ignored: the reference reads nothing after an unknown id. */
      isLost: boolean;
    };

class Reader implements TranscriptParser {
  readonly problems: TranscriptProblem[] = [];
  readonly #mode: NonNullable<TranscriptOptions["mode"]>;
  readonly #tokenizer: Tokenizer;
  readonly #scanner = new MarkerScanner();
  #state: State = { at: "between" };
  /** Ordinary ids not decoded yet: a character may take several. */
  #ids: TokenId[] = [];
  #messages: TranscriptMessage[] = [];
  #count = 0;
  #at = 0;

  constructor({ mode = "strict", role, tokenizer = o200kHarmony() }: TranscriptOptions) {
    this.#mode = mode;
    this.#tokenizer = tokenizer;
    if (role !== undefined) this.#openHeader(role);
  }

  get opened(): Role | undefined {
    const state = this.#state;
    if (this.#mode !== "lenient" || state.at !== "header") return undefined;
    return readWrittenHeader(state.sections, state.role).role;
  }

  pushIds(ids: readonly TokenId[]): TranscriptMessage[] {
    for (const id of ids) {
      if (isSpecial(id)) this.#special(id);
      else if (id >= 0 && id < idOfMarker("startoftext")) this.#ordinary(id);
      else this.#unknown();
      this.#at++;
    }
    return this.#drain();
  }

  pushText(text: string): TranscriptMessage[] {
    this.#flush();
    for (const item of this.#scanner.push(text)) {
      if (item.type === "marker") {
        this.#marker(item.marker, item.spelling, idOfMarker(item.marker));
        this.#at += item.spelling.length;
      } else {
        const each = item.type === "text" ? item.text : item.spelling;
        this.#text(each);
        this.#at += each.length;
      }
    }
    return this.#drain();
  }

  end(): TranscriptMessage[] {
    this.#flush();
    const rest = this.#scanner.end();
    this.#text(rest);
    this.#at += rest.length;
    const state = this.#state;
    if (state.at === "body") {
      if (this.#mode === "lenient") this.#report("missing-end");
      this.#close(state, "cut");
    } else if (state.at === "header") this.#endInHeader(state);
    return this.#drain();
  }

  #drain(): TranscriptMessage[] {
    const messages = this.#messages;
    this.#messages = [];
    return messages;
  }

  #ordinary(id: TokenId): void {
    if (this.#state.at === "between" && this.#mode !== "lenient") throw this.#unexpected(id);
    this.#ids.push(id);
  }

  #special(id: TokenId): void {
    this.#flush();
    const name = specialTokenName(id) ?? "";
    const marker = markerOf(id);
    if (marker !== undefined) this.#marker(marker, name, id);
    else if (this.#state.at !== "between") this.#text(name);
    else if (this.#mode === "lenient") this.#report("stray-marker");
    else throw this.#unexpected(id);
  }

  #unknown(): void {
    this.#flush();
    if (this.#mode === "lenient") this.#report("unknown-id");
    this.#text("\uFFFD");
    if (this.#state.at === "body" && this.#mode !== "lenient") this.#state.isLost = true;
  }

  #flush(): void {
    if (this.#ids.length === 0) return;
    const text = this.#tokenizer.decode(this.#ids);
    this.#ids = [];
    this.#text(text);
  }

  #text(text: string): void {
    if (text === "") return;
    const state = this.#state;
    switch (state.at) {
      case "between":
        if (this.#mode !== "lenient") throw this.#unexpected(this.#tokenizer.encode(text)[0] ?? 0);
        if (text.trim() !== "") this.#report("text-outside");
        return;
      case "header": {
        const section = state.sections.at(-1);
        if (section !== undefined) section.text += text;
        state.text += text;
        return;
      }
      case "body":
        if (!state.isLost) state.text += text;
        return;
      default:
        state satisfies never;
    }
  }

  #marker(marker: Marker, spelling: string, id: TokenId): void {
    const state = this.#state;
    switch (state.at) {
      case "between":
        if (marker === "start") this.#openHeader(undefined);
        else if (this.#mode !== "lenient") throw this.#unexpected(id);
        // Padding is not part of any conversation.
        else if (marker !== "endoftext" && marker !== "startoftext") this.#report("stray-marker");
        return;
      case "header":
        return this.#headerMarker(state, marker, spelling);
      case "body":
        if (marker === "end" || marker === "call" || marker === "return") {
          return this.#close(state, marker);
        }
        if (this.#mode === "lenient")
          this.#report(marker === "start" ? "missing-end" : "stray-marker");
        if (this.#mode === "lenient" && marker === "start") {
          this.#close(state, "cut");
          return this.#openHeader(undefined);
        }
        return this.#text(spelling);
      default:
        state satisfies never;
    }
  }

  #headerMarker(state: Extract<State, { at: "header" }>, marker: Marker, spelling: string): void {
    switch (marker) {
      case "message":
        this.#state = { at: "body", header: this.#readHeader(state), text: "", isLost: false };
        return;
      case "end":
      case "call":
      case "return":
        if (this.#mode !== "strict") return this.#endWithoutBody(state, marker);
        break;
      case "start":
        if (this.#mode !== "lenient") break;
        this.#report("missing-message");
        return this.#openHeader(undefined);
      case "channel":
      case "constrain":
        if (state.sections.some(({ after }) => after === marker)) {
          if (this.#mode === "lenient") this.#report("repeated-section");
          state.sections.push({ after: "other", text: "" });
        } else {
          state.sections.push({ after: marker, text: "" });
        }
        state.text += spelling;
        return;
      case "startoftext":
      case "endoftext":
        if (this.#mode !== "lenient") break;
        return this.#report("stray-marker");
      default:
        marker satisfies never;
    }
    this.#text(spelling);
  }

  #readHeader({ sections, text, role }: Extract<State, { at: "header" }>): TranscriptHeader {
    if (this.#mode === "lenient") return readWrittenHeader(sections, role);
    try {
      return readReferenceHeader(text, role);
    } catch (error) {
      if (error instanceof HeaderError) throw this.#error(error.code, error.message);
      throw error;
    }
  }

  /** A terminator in a header: its words are the body. The reference accepts this only in the first message. */
  #endWithoutBody(state: Extract<State, { at: "header" }>, end: MessageEnd): void {
    if (this.#mode === "lenient") this.#report("missing-message");
    this.#state = { at: "between" };
    if (this.#mode === "lax" && this.#count > 0) return;
    const { channel, words } = this.#split(state.text);
    const role = state.role ?? "assistant";
    if (words[0] === role) words.shift();
    if (channel === undefined && words.length === 0) return;
    const message = { role, ...(channel !== undefined && { channel }), content: words.join(" ") };
    this.#messages.push({ message, end });
    this.#count++;
  }

  #split(text: string): ReturnType<typeof splitReference> {
    try {
      return splitReference(text);
    } catch (error) {
      if (!(error instanceof HeaderError)) throw error;
      if (this.#mode === "lenient") return { channel: undefined, words: [] };
      throw this.#error(error.code, error.message);
    }
  }

  #endInHeader(state: Extract<State, { at: "header" }>): void {
    if (this.#mode !== "lenient") {
      const problem = "EOS: Unexpected EOS while waiting for message header to complete";
      throw this.#error("eos_in_header", problem);
    }
    // A prompt ends with the role of the next message.
    const isOpened = state.role === undefined ? isRole(state.text) : state.text === "";
    if (!isOpened) this.#report("cut-header");
  }

  #openHeader(role: Role | undefined): void {
    this.#state = { at: "header", role, sections: [{ after: "start", text: "" }], text: "" };
  }

  #close({ header, text }: Extract<State, { at: "body" }>, end: MessageEnd): void {
    const { role, recipient } = header;
    // `all` makes a message a call, but is not written.
    const isForAll =
      this.#mode === "lenient" && end === "call" && role === "assistant" && recipient === undefined;
    const message = { ...header, ...(isForAll && { recipient: "all" }), content: text };
    this.#messages.push({ message, end });
    this.#count++;
    this.#state = { at: "between" };
  }

  #report(code: TranscriptProblem["code"]): void {
    this.problems.push({ code, at: this.#at });
  }

  #unexpected(id: TokenId): TranscriptError {
    const start = idOfMarker("start");
    const problem = `Unexpected token ${id} while expecting start token ${start}`;
    return this.#error("unexpected_token", problem);
  }

  #error(code: TranscriptErrorCode, message: string): TranscriptError {
    return new TranscriptError(code, message, { at: this.#at, messages: this.#drain() });
  }
}
