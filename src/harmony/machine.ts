/**
 * The Harmony state machine: markers and ordinary text in, parts out (rules S0 to S9).
 *
 * It is independent of token ids and of how markers are spelled; `parse.ts` translates both. It accepts any input:
 * every marker has a meaning in every state, at least for the interpretation of the text before it. Text is emitted as
 * soon as its part is certain and is never withdrawn. Until then it is held back, up to a limit.
 *
 * The states are in `machine-state.ts`.
 */
import { type PartHeader, toPartHeader } from "./call-form.ts";
import { isHalfHeaderWord, isHalfRole, readCutHeader } from "./cut-header.ts";
import { isHeaderText, isProse, readHeader } from "./header.ts";
import type { Header, Meaning, MessageMeaning } from "./header.ts";
import {
  beginsLikeAnalysis,
  beginsLikeHeader,
  beginsWithGluedHeader,
  createLostHeaderSplitter,
  hasLostHeader,
  isHiddenHeader,
  LONGEST_LOST_HEADER,
} from "./lost-markers.ts";
import type { LostHeaderSplitter } from "./lost-markers.ts";
import { between, firstHeader, MARKER_LENGTH, positionOf, toHeader } from "./machine-state.ts";
import type { Between, Body, Ended, FirstHeader, OpenHeader, State } from "./machine-state.ts";
import type { Marker } from "./markers.ts";
import type { OfferedNames } from "./offered-names.ts";
import { Parts, type PartStart } from "./parts.ts";
import { findName } from "./recipient.ts";
import type { Recovery } from "./recoveries.ts";

export interface MachineOptions {
  readonly offered: OfferedNames;
  /** Offered names whose calls have any text as body. */
  readonly textTools: ReadonlySet<string>;
  /** Characters of a header, or of text outside messages, after which it is read as a body. */
  readonly maxHeaderLength: number;
  /** Characters of any other text that is held back until its meaning is known. */
  readonly maxHeldLength: number;
  /** Whether the engine omits markers from its text, so that header words are headers at any position. */
  readonly hidesMarkers: boolean;
}

type Terminator = "end" | "call" | "return" | "endoftext";
/** The end of a message: a terminator, the beginning of another part, or an engine that stopped early. */
type Closer = Terminator | "next" | "cut";

/** A body's beginning, found in its header: tokens already read, and whether a complete call came before. */
type Carried = Pick<OpenHeader, "tokens" | "isAfterCall">;

/** Shared map, since most completions need no repair. */
const NONE: ReadonlyMap<Recovery, number> = new Map();

export class Machine {
  readonly #options: MachineOptions;
  readonly parts: Parts;
  #state: State;
  #recoveries: Map<Recovery, number> | undefined;

  constructor(options: MachineOptions) {
    this.#options = options;
    this.parts = new Parts(options.maxHeldLength, (recovery) => this.recover(recovery));
    this.#state = firstHeader(options.maxHeaderLength);
  }

  get recoveries(): ReadonlyMap<Recovery, number> {
    return this.#recoveries ?? NONE;
  }

  recover(recovery: Recovery): void {
    this.#recoveries ??= new Map();
    this.#recoveries.set(recovery, (this.#recoveries.get(recovery) ?? 0) + 1);
  }

  get isDone(): boolean {
    return this.#state.at === "ended";
  }

  get position(): "between" | "header" | "body" {
    return positionOf(this.#state);
  }

  /** Whether ordinary text can only continue the open body. */
  get isFlowing(): boolean {
    return this.#state.at === "body";
  }

  /** Whether ordinary text can only be the next delta of the open part, or is dropped because the body is skipped. */
  get isPlainBody(): boolean {
    return this.isFlowing && !this.#options.hidesMarkers && this.parts.isPassedOn;
  }

  /** Whether the first header is expected here, so that a spelled marker may be a real one. */
  get isAtFirstHeader(): boolean {
    const state = this.#state;
    return state.at === "first-header" && isHeaderText(state.text, this.#options.offered);
  }

  /** Reads ordinary text that `tokens` tokens were decoded to. */
  text(text: string, tokens: number): void {
    if (this.#options.hidesMarkers) this.#expectHidden();
    this.#read(text);
    this.#count(tokens);
  }

  marker(marker: Marker): void {
    this.#endSplitting();
    const state = this.#state;
    if (state.at === "ended") return this.#ignore(state);
    switch (marker) {
      case "start":
        return this.#start();
      case "channel":
      case "constrain":
        return this.#section(marker);
      case "message":
        return this.#message();
      case "end":
      case "call":
      case "return":
      case "endoftext":
        return this.#terminator(marker);
      case "startoftext":
        return this.recover("stray-marker");
    }
  }

  /** Ends the input. `isCut`: the engine stopped at a limit, not the model itself. */
  end(isCut: boolean): void {
    this.#endText();
    const closer = isCut ? "cut" : "next";
    const state = this.#state;
    if (state.at === "first-header" || state.at === "between") this.#closeText(state, closer);
    else if (state.at === "header") this.#closeHeader(state, state, closer);
    else if (state.at === "body") this.#closeBody(state, closer);
    this.#finish();
  }

  // ---- Markers ------------------------------------------------------------------------------------------

  #start(): void {
    const state = this.#state;
    switch (state.at) {
      case "first-header":
        if (isRoleAlone(state.text)) this.recover("repeated-start");
        else this.#closeText(state, "next");
        break;
      case "between":
        if (state.last === "return") this.recover("continued-after-return");
        this.#closeText(state, "next");
        break;
      case "header": {
        const [role] = state.sections;
        const isEmpty = state.sections.length === 1 && isRoleAlone(role?.text ?? "");
        if (isEmpty) this.recover("repeated-start");
        else this.#closeForNext();
        break;
      }
      case "body":
        this.#closeForNext();
        break;
      case "after-call":
      case "stripped":
      case "ended":
        break;
    }
    this.#openHeader("start", "");
  }

  #section(marker: "channel" | "constrain"): void {
    const state = this.#state;
    switch (state.at) {
      case "first-header":
      case "between": {
        const { opener, role } = this.#toRole(state);
        return this.#openHeader(opener, role, marker);
      }
      case "after-call":
        return this.#endAfterCall();
      case "header":
        return this.#nextSection(state, marker);
      case "body":
        if (marker === "constrain") return this.recover("stray-marker");
        this.#closeForNext();
        return this.#openHeader("nothing", "", marker);
      case "stripped":
      case "ended":
        return;
    }
  }

  #nextSection(state: OpenHeader, marker: "channel" | "constrain"): void {
    if (marker === "channel" && this.#hasBody(state)) {
      this.#closeForNext();
      this.#openHeader("nothing", "", marker);
    } else if (state.length + MARKER_LENGTH > this.#options.maxHeaderLength) {
      this.#overflow(state, state);
      this.marker(marker);
    } else {
      state.sections.push({ after: marker, text: "" });
      state.length += MARKER_LENGTH;
    }
  }

  #message(): void {
    const state = this.#state;
    switch (state.at) {
      case "first-header":
      case "between": {
        const { opener, role } = this.#toRole(state);
        if (this.isDone) return;
        return this.#openBody({ opener, sections: [{ after: "start", text: role }] }, false);
      }
      case "after-call":
        return this.#endAfterCall();
      case "header":
        return this.#openBody(state, state.isAfterCall);
      case "body":
        return this.recover("stray-marker");
      case "stripped":
      case "ended":
        return;
    }
  }

  #terminator(marker: Terminator): void {
    const state = this.#state;
    switch (state.at) {
      case "header":
        return this.#closeHeader(state, state, marker);
      case "body":
        return this.#closeBody(state, marker);
      case "first-header":
      case "between":
        if (state.text.trim() !== "") {
          this.#closeText(state, marker);
        } else {
          this.recover("stray-terminator");
          const endsCall = marker === "call" && state.at === "between" && state.last === "call";
          if (endsCall) this.#state = { at: "after-call" };
        }
        break;
      case "after-call":
        this.recover("stray-terminator");
        break;
      case "stripped":
      case "ended":
        return;
    }
    const isComplete = this.parts.hasResult || this.parts.hasOutside;
    if (endsTurn(marker) && isComplete) this.#finish();
  }

  /** Reads the text before a marker as a role, or as text outside messages that may end with a role. */
  #toRole(state: FirstHeader | Between): { opener: Header["opener"]; role: string } {
    if (state.at === "between") this.recover("missing-start");
    if (isHeaderText(state.text, this.#options.offered)) {
      return { opener: toHeader(state).opener, role: state.text };
    }
    const [, text = state.text, role = ""] = /^(.*\s)(assistant\s*)$/s.exec(state.text) ?? [];
    this.#closeText({ ...state, text }, "next");
    return { opener: "nothing", role };
  }

  // ---- Messages -----------------------------------------------------------------------------------------

  /** Opens a header. `marker`: the role's section is over, because this marker has followed it. */
  #openHeader(opener: Header["opener"], role: string, marker?: "channel" | "constrain"): void {
    const state = this.#state;
    if (state.at === "ended") return;
    const isAfterCall = state.at === "after-call" || (state.at === "header" && state.isAfterCall);
    const sections: OpenHeader["sections"] = [{ after: "start", text: role }];
    if (marker !== undefined) sections.push({ after: marker, text: "" });
    const length = role.length + sections.length * MARKER_LENGTH;
    this.#state = { at: "header", opener, sections, length, tokens: 0, isAfterCall };
  }

  /** Opens the body of a header that `<|message|>` has closed. */
  #openBody(header: Header, isAfterCall: boolean): void {
    const { meaning, recoveries, doubt } = readHeader(header, this.#options.offered);
    const role = header.sections[0]?.text ?? "";
    const isOwnCall =
      meaning.kind === "tool-call" && header.opener === "start" && /^\s*assistant/.test(role);
    if (isAfterCall && (!isOwnCall || doubt !== undefined)) return this.#endAfterCall();
    if (doubt === undefined || (doubt.proof === "beginning" && this.#isText(meaning))) {
      this.#recoverAll(recoveries);
      this.#begin(meaning, 0, isAfterCall, toPartHeader(header.sections));
      return;
    }
    const said = { header: toPartHeader(header.sections) };
    this.#state = { at: "body", kind: "part", isAfterCall };
    this.parts.startInDoubt(doubt.proof, (isCall) => {
      this.#recoverAll(isCall ? recoveries : doubt.recoveries);
      return toPartStart(isCall ? meaning : doubt.otherwise, said);
    });
  }

  /** Handles a header, or text outside messages, that is too long to be one: its body has begun. */
  #overflow(header: Header, { tokens, isAfterCall }: Carried): void {
    if (isAfterCall) return this.#endAfterCall();
    const { meaning, body, recoveries } = readCutHeader(header, this.#options.offered);
    this.#recoverAll(recoveries);
    this.recover(meaning === undefined ? "text-outside" : "long-header");
    // A function name with no arguments after this much text is not a call.
    const isNoCall = meansCall(meaning) && body === "";
    this.#begin(isNoCall ? { kind: "reasoning" } : (meaning ?? { kind: "content" }), tokens, false);
    this.#write(body);
  }

  /** Closes the open header or body because the next message has begun without a terminator. */
  #closeForNext(): void {
    const state = this.#state;
    if (state.at === "header") {
      this.#closeHeader(state, state, "next");
    } else if (state.at === "body") {
      this.recover("implicit-close");
      this.#closeBody(state, "next");
    }
  }

  #closeBody(state: Body, closer: Closer): void {
    this.parts.settle();
    const isCall = this.parts.isCall;
    const isResult = state.kind !== "skipped" && this.parts.end(closer === "cut");
    if (state.isAfterCall || (isCall && closer === "call")) this.#state = { at: "after-call" };
    else this.#between(isCall ? "call" : endsTurn(closer) ? "return" : "other");
    if (isResult && endsTurn(closer)) this.#finish();
  }

  /** Closes a header without `<|message|>`: it has a body, has none, or is text outside messages. */
  #closeHeader(header: Header, { tokens, isAfterCall }: Carried, closer: Closer): void {
    if (isAfterCall) return this.#endAfterCall();
    this.#between("other");
    const { offered } = this.#options;
    const { meaning, body, recoveries } = readCutHeader(header, offered);
    this.#recoverAll(recoveries);
    const isHalf = closer === "cut" && (isHalfHeaderWord(body) || isHalfRole(body));
    // `final` alone is a header between messages, but the answer if there is no other text.
    const isHeader =
      meaning === undefined && header.opener !== "prompt" && isHeaderText(body, offered);
    if (meaning?.kind === "other-role") {
      this.#begin(meaning, 0, false);
    } else if (meaning?.kind === "tool-result") {
      this.recover("imagined-tool-result");
    } else if (body.trim() === "" || isHalf || isHeader) {
      this.recover("header-without-body");
    } else if (meaning === undefined) {
      this.parts.addOutside(body, tokens);
      if (endsTurn(closer)) this.#finish();
    } else {
      this.recover("missing-message");
      this.#addWhole(meaning, body, tokens, closer);
    }
  }

  /** Closes text without markers: a header without a body, or text outside messages. */
  #closeText(state: FirstHeader | Between, closer: Closer): void {
    const { text, tokens } = state;
    this.#between(state.at === "between" ? state.last : "other");
    if (text.trim() === "") return;
    const header = toHeader(state);
    const carried = { tokens, isAfterCall: false };
    const isCutOpening = state.at === "first-header" && closer === "cut" && !isHalfRole(text);
    if (!isCutOpening) {
      this.#closeHeader(header, carried, closer);
    } else if (
      beginsLikeAnalysis(text) &&
      readCutHeader(header, this.#options.offered).meaning === undefined
    ) {
      this.recover("lost-markers");
      const body = text.replace(/^\s*(?:assistant\s*)?analysis/, "");
      this.#addWhole({ kind: "reasoning" }, body, tokens, closer);
    } else {
      // No header was begun, so even half a header word belongs to the answer.
      this.#closeHeader(header, carried, "next");
    }
  }

  /** Whether a header without `<|message|>` already contains body text, not only misplaced header words. */
  #hasBody(state: OpenHeader): boolean {
    const { offered } = this.#options;
    const { opener, sections } = state;
    // The common case: `<|start|>assistant`.
    if (opener === "start" && sections.length === 1 && sections[0]?.text === "assistant")
      return false;
    const { meaning, body } = readCutHeader(state, offered);
    if (meansCall(meaning)) return body !== "";
    return isProse(body) && !/to\s*=/i.test(body) && findName(body, offered) === undefined;
  }

  /** Ends the turn because something other than a complete call followed `<|call|>`. */
  #endAfterCall(): void {
    this.recover("after-call");
    this.#finish(true);
  }

  /** `isRepair`: the model may have continued, so later output is not counted as a further recovery. */
  #finish(isRepair = false): void {
    this.parts.finish();
    this.#state = { at: "ended", isExpected: isRepair };
  }

  /**
   * Begins a message. `tokens`: number of the body's tokens that were read as part of the header. `header`: absent if
   * no `<|message|>` closed one.
   */
  #begin(meaning: Meaning, tokens: number, isAfterCall: boolean, header?: PartHeader): void {
    const said = header === undefined ? {} : { header };
    switch (meaning.kind) {
      case "other-role":
        this.recover("imagined-turn");
        this.#finish(true);
        break;
      case "tool-result":
        this.recover("imagined-tool-result");
        this.#state = { at: "body", kind: "skipped", isAfterCall };
        break;
      default:
        this.#state = { at: "body", kind: "part", isAfterCall };
        this.parts.start(toPartStart(meaning, said), isAfterCall, this.#isText(meaning));
        this.parts.count(tokens);
    }
  }

  #isText(meaning: Meaning): boolean {
    return meaning.kind === "tool-call" && this.#options.textTools.has(meaning.name);
  }

  #recoverAll(recoveries: readonly Recovery[]): void {
    for (const recovery of recoveries) this.recover(recovery);
  }

  /** Adds a message whose text is complete. */
  #addWhole(meaning: Meaning, body: string, tokens: number, closer: Closer): void {
    this.#begin(meaning, tokens, false);
    this.#write(body);
    if (this.#state.at === "body") this.#closeBody(this.#state, closer);
  }

  #write(body: string): void {
    if (this.#state.at === "body" && this.#state.kind !== "skipped") this.parts.write(body);
  }

  #between(last: Between["last"]): void {
    this.#state = between(last, this.#options.maxHeaderLength);
  }

  // ---- Ordinary text ------------------------------------------------------------------------------------

  // Text in a body is passed on at once. In a header, or outside messages, text is held back until its meaning is
  // known, up to a limit (rules S2, S3, S7 and S9). If an engine has removed the markers, text is split at the
  // remaining header words.

  /** Reads the text that is still held back. The state is never `stripped` afterwards. */
  #endText(): void {
    const state = this.#state;
    if (state.at === "first-header" && this.#isLostHeader(state)) this.#readStripped(state);
    this.#endSplitting();
  }

  /** At a marker or the end, text held back as a possible lost header is not one. */
  #endSplitting(): void {
    const state = this.#state;
    if (state.at !== "stripped") return;
    this.#state = state.inner;
    this.#read(state.splitter.end());
  }

  /** Records output after the end of the turn; once, however long it is. */
  #ignore(state: Ended): void {
    if (!state.isExpected) this.recover("after-end");
    state.isExpected = true;
  }

  #read(text: string): void {
    let rest = text;
    while (rest !== "") {
      const state = this.#state;
      switch (state.at) {
        case "body":
          if (state.kind !== "skipped") this.parts.write(rest);
          return;
        case "header":
          rest = this.#readHeader(state, rest);
          break;
        case "first-header":
        case "between":
          rest = this.#readUndecided(state, rest);
          break;
        case "after-call":
          if (rest.trim() !== "") this.#endAfterCall();
          return;
        case "stripped":
          this.#state = state.inner;
          return this.#split(state.splitter, rest);
        case "ended":
          return this.#ignore(state);
      }
    }
  }

  #count(tokens: number): void {
    const current = this.#state;
    const state = current.at === "stripped" ? current.inner : current;
    if (state.at === "body") this.parts.count(tokens);
    else if ("tokens" in state) state.tokens += tokens;
  }

  /** Adds text to the open header. Returns the rest that did not fit. */
  #readHeader(state: OpenHeader, text: string): string {
    const room = this.#options.maxHeaderLength - state.length;
    const { head, rest, isFull } = splitAt(text, room);
    const section = state.sections.at(-1);
    if (section !== undefined) section.text += head;
    state.length += head.length;
    if (isFull) this.#overflow(state, state);
    return rest;
  }

  /** Adds text to the text held back without a header. Returns the rest that did not fit. */
  #readUndecided(state: FirstHeader | Between, text: string): string {
    const searched = Math.max(0, state.text.length - LONGEST_LOST_HEADER);
    const { head, rest, isFull } = splitAt(text, state.limit - state.text.length);
    state.text += head;
    if (state.text.length > LONGEST_LOST_HEADER && this.#isHiddenHeader(state)) {
      this.#readStripped(state);
    } else if (state.at === "first-header" && beginsLikeHeader(state.text)) {
      if (hasLostHeader(state.text.slice(searched))) this.#readStripped(state);
      else if (isFull) this.#decideFirstHeader(state);
    } else if (isFull) {
      this.#decideText(state);
    }
    return rest;
  }

  /** Handles text that begins like a header and has reached its limit: extends the limit once, then decides. */
  #decideFirstHeader(state: FirstHeader): void {
    const { maxHeldLength } = this.#options;
    if (state.limit < maxHeldLength) state.limit = maxHeldLength;
    else if (beginsLikeAnalysis(state.text) || beginsWithGluedHeader(state.text)) {
      this.#readStripped(state);
    } else this.#decideText(state);
  }

  /** Handles text without a header that has reached its limit: white space is dropped, other text is a body. */
  #decideText(state: FirstHeader | Between): void {
    if (state.text.trim() === "") state.text = "";
    else this.#overflow(toHeader(state), { tokens: state.tokens, isAfterCall: false });
  }

  #readStripped(state: FirstHeader): void {
    this.recover("lost-markers");
    this.#openHeader("prompt", "", "channel");
    // The tokens are counted before the text is split: a split may open further messages, to which they do not belong.
    this.#count(state.tokens);
    this.#split(createLostHeaderSplitter(), state.text.replace(/^\s*(?:assistant\s*)?/, ""));
  }

  #split(splitter: LostHeaderSplitter, text: string): void {
    const [first, ...others] = splitter.push(text);
    this.#read(first);
    for (const message of others) {
      this.#closeForNext();
      this.#openHeader("start", "assistant", "channel");
      this.#read(message);
    }
    this.#expectStripped(splitter);
  }

  #expectStripped(splitter: LostHeaderSplitter): void {
    const inner = this.#state;
    if (inner.at === "header" || inner.at === "body") {
      this.#state = { at: "stripped", splitter, inner };
    }
  }

  /** Expects text without markers after a marker that the gateway wrote. */
  #expectHidden(): void {
    const { at } = this.#state;
    if (at === "body" || at === "header") this.#expectStripped(createLostHeaderSplitter());
  }

  /** Whether the text begins with header words and markers are known to be hidden, so that they are a header. */
  #isHiddenHeader(state: FirstHeader | Between): state is FirstHeader {
    const { hidesMarkers } = this.#options;
    return hidesMarkers && state.at === "first-header" && isHiddenHeader(state.text);
  }

  /** Whether a completion that has ended without any marker began with a header. */
  #isLostHeader(state: FirstHeader): boolean {
    return beginsWithGluedHeader(state.text) || this.#isHiddenHeader(state);
  }
}

function meansCall(meaning: Meaning | undefined): boolean {
  return meaning?.kind === "tool-call" || meaning?.kind === "builtin-call";
}

/** Whether a closer ends the turn, not only a message. */
function endsTurn(closer: Closer): boolean {
  return closer === "return" || closer === "endoftext";
}

function toPartStart(meaning: MessageMeaning, said: { readonly header?: PartHeader }): PartStart {
  switch (meaning.kind) {
    case "tool-call":
      return { type: "part-start", part: "tool-call", name: meaning.name, ...said };
    case "builtin-call": {
      const { name, rawBody } = meaning;
      return { type: "part-start", part: "builtin-call", name, rawBody, ...said };
    }
    default:
      return { type: "part-start", part: meaning.kind, ...said };
  }
}

function isRoleAlone(text: string): boolean {
  return /^\s*(?:assistant\s*)?$/i.test(text);
}

/** Splits text after at most `room` characters, never within a surrogate pair. */
function splitAt(text: string, room: number): { head: string; rest: string; isFull: boolean } {
  if (text.length < room) return { head: text, rest: "", isFull: false };
  const most = Math.max(0, room);
  const last = text.charCodeAt(most - 1);
  const length = last >= 0xd800 && last <= 0xdbff ? most - 1 : most;
  return { head: text.slice(0, length), rest: text.slice(length), isFull: true };
}
