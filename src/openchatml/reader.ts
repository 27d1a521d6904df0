/**
 * Reads OpenChatML in pieces of any size. Text of a body is emitted as soon as it is certain that it is text.
 *
 *     header ──▶ between ──<|start|>──▶ frame ──<|message|>──▶ body ──<|end|> and the like──▶ between
 *                                                               ▲ │ <|literal|>
 *                                                               │ ▼
 *                                                              literal
 */
import { Calls } from "./calls.ts";
import type { CallRules } from "./calls.ts";
import { checkBody, checkHeader, checkTerminator } from "./checks.ts";
import { certainUpTo, type ControlToken, type Found, findControl } from "./control-tokens.ts";
import { hasHarmonyProfile, isCall } from "./document.ts";
import type { DocumentHeader, Message, Terminator } from "./document.ts";
import { OpenChatMLError } from "./errors.ts";
import type { ErrorCode, Warning, WarningCode } from "./errors.ts";
import { FrameError, type FrameSections, readFrame } from "./frame.ts";
import { readDocumentHeader } from "./header.ts";
import type { ArgumentCheck } from "./tool-schemas.ts";
import { ByteOffsets } from "./utf8.ts";

export interface ReaderOptions {
  /** Whether Harmony's rules apply regardless of the header. */
  readonly hip1: boolean;
  /** Whether calls and replies without ids are accepted. */
  readonly lenient: boolean;
  readonly requireHeader: boolean;
  readonly checkArguments: ArgumentCheck | undefined;
  /** Ids that must not be generated. */
  readonly reservedIds: ReadonlySet<string>;
}

/** A message without its body and end. */
export type MessageStart = Omit<Message, "content" | "end">;

/** Receives the messages in order. */
export interface ReaderSink {
  header(header: DocumentHeader | null): void;
  start(message: MessageStart): void;
  text(text: string): void;
  /** `content`: the whole body. */
  end(end: Terminator, content: string): void;
}

type State =
  | { readonly at: "header" }
  /** `swallowsEnd`: an `<|end|>` may follow the token that closed the last message. */
  | { readonly at: "between"; readonly swallowsEnd: boolean }
  | { readonly at: "frame"; readonly sections: Sections; length: number }
  | {
      readonly at: "body";
      readonly message: MessageStart;
      readonly body: string[];
      isLiteral: boolean;
    };

/** The sections of a frame's header so far; text is added to the last one. */
type Sections = { start: string; channel?: string; constrain?: string };

const START = "<|start|>";
const END = "<|end|>";
/** Longer headers are rejected, because a header is buffered until its end. */
const MAX_FRAME_HEADER = 16_384;
const MAX_DOCUMENT_HEADER = 262_144;

export class Reader {
  readonly warnings: Warning[] = [];
  readonly calls = new Calls();
  readonly #options: ReaderOptions;
  readonly #sink: ReaderSink;
  #state: State = { at: "header" };
  #buffer = "";
  /** The read position in the buffer. */
  #at = 0;
  /** Bytes consumed before the buffer. */
  #bytes = 0;
  #offsets = new ByteOffsets();
  #messages = 0;
  #lastEnd: Terminator | undefined;
  #hip1: boolean;
  #makesIds: boolean;

  constructor(options: ReaderOptions, sink: ReaderSink) {
    this.#options = options;
    this.#sink = sink;
    this.#hip1 = options.hip1;
    this.#makesIds = options.hip1 || options.lenient;
  }

  /** The terminator of the last complete message. */
  get lastEnd(): Terminator | undefined {
    return this.#lastEnd;
  }

  /** Starts the input after `<|start|>` and this text. */
  openFrame(start: string): void {
    this.#sink.header(null);
    this.#state = { at: "frame", sections: { start }, length: 0 };
  }

  push(text: string): void {
    this.#buffer += text;
    this.#run(false);
  }

  /** Ends the input. */
  finish(): void {
    this.#run(true);
    if (this.#state.at === "frame" || this.#state.at === "body") {
      const where = this.#state.at === "frame" ? "a header" : "a body";
      throw this.#error(
        `the input ends inside ${where}`,
        this.#buffer.length,
        "E-STREAM-TRUNCATED",
      );
    }
  }

  warn(code: WarningCode, at: number): void {
    this.warnings.push({ code, offset: this.#offset(at), messageIndex: this.#messages });
  }

  #run(isFinal: boolean): void {
    let goesOn = true;
    while (goesOn) goesOn = this.#step(isFinal);
    this.#bytes = this.#offset(this.#at);
    this.#offsets = new ByteOffsets();
    this.#buffer = this.#buffer.slice(this.#at);
    this.#at = 0;
  }

  /** Reads one step. Returns false if more input is needed. */
  #step(isFinal: boolean): boolean {
    const state = this.#state;
    switch (state.at) {
      case "header":
        return this.#documentHeader(isFinal);
      case "between":
        return this.#between(state.swallowsEnd, isFinal);
      case "frame":
        return this.#frame(state, isFinal);
      case "body":
        return state.isLiteral ? this.#literal(state, isFinal) : this.#body(state, isFinal);
      default:
        return state satisfies never;
    }
  }

  #documentHeader(isFinal: boolean): boolean {
    const found = readDocumentHeader(this.#buffer, isFinal);
    switch (found.type) {
      case "unfinished":
        if (this.#buffer.length <= MAX_DOCUMENT_HEADER) return false;
        throw this.#error("the document header is too long", 0);
      case "wrong":
        throw this.#error(found.problem, found.at);
      case "none":
        if (this.#options.requireHeader) throw this.#error("the document header is missing", 0);
        this.warn("W-NO-HEADER", 0);
        this.#sink.header(null);
        break;
      case "header":
        if (found.isNewer) this.warn("W-NEWER-VERSION", 0);
        this.#hip1 ||= hasHarmonyProfile(found.header);
        this.#makesIds ||= this.#hip1 || found.isLegacy;
        this.#sink.header(found.header);
        break;
      default:
        return found satisfies never;
    }
    this.#at = found.end;
    this.#state = { at: "between", swallowsEnd: false };
    return true;
  }

  #between(swallowsEnd: boolean, isFinal: boolean): boolean {
    while (/[ \t\r\n]/.test(this.#buffer.charAt(this.#at))) this.#at++;
    const rest = this.#buffer.slice(this.#at, this.#at + START.length);
    if (rest === START) {
      this.#at += START.length;
      this.#state = { at: "frame", sections: { start: "" }, length: 0 };
      return true;
    }
    if (swallowsEnd && rest.startsWith(END)) {
      this.#at += END.length;
      this.#state = { at: "between", swallowsEnd: false };
      return true;
    }
    if (rest === "") return false;
    const mayBegin = START.startsWith(rest) || (swallowsEnd && END.startsWith(rest));
    if (mayBegin && !isFinal) return false;
    throw this.#error("text outside messages", this.#at);
  }

  #frame(state: Extract<State, { at: "frame" }>, isFinal: boolean): boolean {
    const found = findControl(this.#buffer, this.#at);
    const upTo = found?.start ?? this.#certain(isFinal);
    const text = this.#buffer.slice(this.#at, upTo) + (found?.type === "escape" ? found.text : "");
    appendText(state.sections, text);
    state.length += text.length;
    if (state.length > MAX_FRAME_HEADER) throw this.#error("the header is too long", upTo);
    const at = upTo;
    this.#at = found?.end ?? upTo;
    if (found?.type === "token") this.#headerToken(state.sections, found.token, at);
    return found !== undefined;
  }

  #headerToken(sections: Sections, token: ControlToken, at: number): void {
    const { channel, constrain } = sections;
    if (token === "channel" && channel === undefined && constrain === undefined) {
      sections.channel = "";
    } else if (token === "constrain" && constrain === undefined) {
      sections.constrain = "";
    } else if (token === "message") {
      this.#openBody(sections, at);
    } else {
      throw this.#error(`<|${token}|> is not allowed inside a header`, at);
    }
  }

  #openBody(sections: FrameSections, at: number): void {
    const message = this.#checked(at, () => {
      const { header, warnings } = readFrame(sections);
      checkHeader(header, { hip1: this.#hip1 });
      for (const code of warnings) this.warn(code, at);
      const { channel, callId, ...rest } = header;
      const id = this.#callId({ ...rest, ...(callId !== undefined && { callId }) }, at);
      return {
        ...rest,
        ...(id !== undefined && { callId: id }),
        channel: channel ?? ("final" as const),
        ...(channel === undefined && { implicitChannel: true as const }),
      };
    });
    this.#sink.start(message);
    this.#state = { at: "body", message, body: [], isLiteral: false };
  }

  #callId(header: Omit<MessageStart, "channel">, at: number): string | undefined {
    const rules: CallRules = { makesIds: this.#makesIds, reserved: this.#options.reservedIds };
    if (isCall(header)) return this.calls.add(header.to ?? "", header.callId, rules);
    if (header.role !== "tool") return header.callId;
    const { id, warning } = this.calls.answer(header.name ?? "", header.callId, rules);
    if (warning !== undefined) this.warn(warning, at);
    return id;
  }

  #body(state: Extract<State, { at: "body" }>, isFinal: boolean): boolean {
    const found = findControl(this.#buffer, this.#at);
    const upTo = found?.start ?? this.#certain(isFinal);
    this.#give(state.body, this.#buffer.slice(this.#at, upTo));
    this.#at = found?.end ?? upTo;
    if (found?.type === "escape") this.#give(state.body, found.text);
    else if (found !== undefined) this.#bodyToken(state, found);
    return found !== undefined;
  }

  #bodyToken(
    state: Extract<State, { at: "body" }>,
    { token, start }: Extract<Found, { type: "token" }>,
  ): void {
    switch (token) {
      case "literal":
        state.isLiteral = true;
        return;
      case "end":
      case "call":
      case "return":
        this.#endMessage(state, token, start);
        return;
      default:
        throw this.#error(
          `<|${token}|> inside a body: to write it as text, escape it as <<|${token}|>`,
          start,
        );
    }
  }

  #endMessage(
    { message, body }: Extract<State, { at: "body" }>,
    end: Terminator,
    at: number,
  ): void {
    const content = body.join("");
    this.#checked(at, () => {
      for (const code of checkTerminator(message, end)) this.warn(code, at);
      checkBody({ ...message, content }, this.#options.checkArguments);
    });
    this.#sink.end(end, content);
    this.#messages++;
    this.#lastEnd = end;
    this.#state = { at: "between", swallowsEnd: end !== "end" };
  }

  #literal(state: Extract<State, { at: "body" }>, isFinal: boolean): boolean {
    const closer = "<|endliteral|>";
    const end = this.#buffer.indexOf(closer, this.#at);
    const upTo = end < 0 ? this.#certain(isFinal) : end;
    this.#give(state.body, this.#buffer.slice(this.#at, upTo));
    this.#at = end < 0 ? upTo : end + closer.length;
    if (end >= 0) state.isLiteral = false;
    return end >= 0;
  }

  #give(body: string[], text: string): void {
    if (text === "") return;
    body.push(text);
    this.#sink.text(text);
  }

  #certain(isFinal: boolean): number {
    return isFinal ? this.#buffer.length : certainUpTo(this.#buffer, this.#at);
  }

  #checked<T>(at: number, check: () => T): T {
    try {
      return check();
    } catch (error) {
      if (error instanceof FrameError) throw this.#error(error.message, at, error.code);
      throw error;
    }
  }

  #offset(at: number): number {
    return this.#bytes + this.#offsets.of(this.#buffer, at);
  }

  #error(problem: string, at: number, code: ErrorCode = "E-PARSE-HEADER"): OpenChatMLError {
    const place = { offset: this.#offset(at), messageIndex: this.#messages };
    return new OpenChatMLError(code, problem, place);
  }
}

function appendText(sections: Sections, text: string): void {
  if (sections.constrain !== undefined) sections.constrain += text;
  else if (sections.channel !== undefined) sections.channel += text;
  else sections.start += text;
}
