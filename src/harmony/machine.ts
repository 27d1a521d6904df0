/**
 * The Harmony state machine: markers and ordinary text in, parts out (rules S0 to S9).
 *
 * It knows neither token ids nor how markers are spelled; `parse.ts` puts both forms in front of it.
 * Whatever comes, it goes on: every marker means something in every state, if only that the text
 * before it has to be read differently. Text goes out as soon as it is certain where it belongs and is
 * never taken back; what is not certain waits, and the wait is bounded.
 */
import { isHalfHeaderWord, isHalfRole, readCutHeader } from "./cut-header.ts";
import { isHeaderText, isProse, readHeader } from "./header.ts";
import type { Header, Meaning } from "./header.ts";
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
import { between, firstHeader, positionOf, toHeader } from "./machine-state.ts";
import type { Between, Body, Ended, FirstHeader, OpenHeader, State } from "./machine-state.ts";
import type { Marker } from "./markers.ts";
import { type PartHeader, Parts } from "./parts.ts";
import { findName } from "./recipient.ts";
import type { OfferedNames } from "./recipient.ts";
import type { Recovery } from "./recoveries.ts";
import { readWrittenHeader } from "./transcript-header.ts";

export interface MachineOptions {
  readonly offered: OfferedNames;
  /** Characters of a header, or of text outside messages, after which it is taken for a body. */
  readonly maxHeaderLength: number;
  /** Characters of anything else that waits until it is known what it is. */
  readonly maxHeldLength: number;
  /** Text comes without its markers: the words of headers are headers wherever they stand. */
  readonly hidesMarkers: boolean;
}

type Terminator = "end" | "call" | "return" | "endoftext";
/** What closed a message: a terminator, or something else that shows it is over. */
type Closer = Terminator | "next" | "cut";

const MARKER_LENGTH = 8;

export class Machine {
  readonly parts: Parts;
  readonly recoveries = new Map<Recovery, number>();
  readonly #options: MachineOptions;
  #state: State;

  constructor(options: MachineOptions) {
    this.parts = new Parts(options.maxHeldLength, (recovery) => this.recover(recovery));
    this.#options = options;
    this.#state = firstHeader(options.maxHeaderLength);
  }

  get isDone(): boolean {
    return this.#state.at === "ended";
  }

  get position(): "between" | "header" | "body" {
    return positionOf(this.#state);
  }

  /** Whether ordinary text can be nothing but more of the body. */
  get isFlowing(): boolean {
    return this.#state.at === "body";
  }

  /** Whether a marker here, spelled or real, would be where the first header is expected. */
  get isAtFirstHeader(): boolean {
    const state = this.#state;
    return state.at === "first-header" && isHeaderText(state.text, this.#options.offered);
  }

  recover(recovery: Recovery): void {
    this.recoveries.set(recovery, (this.recoveries.get(recovery) ?? 0) + 1);
  }

  /** Ordinary text, and how many tokens it was. */
  text(text: string, tokens: number): void {
    if (this.#options.hidesMarkers) this.#expectHidden();
    this.#text(text);
    this.#count(tokens);
  }

  marker(marker: Marker): void {
    this.#endSplitting();
    if (this.#state.at === "ended") return this.#ignore(this.#state);
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

  /** Nothing more comes. `isCut`: the engine stopped the model, not the model itself. */
  end(isCut: boolean): void {
    if (this.#state.at === "first-header" && this.#isLostHeader(this.#state)) {
      this.#readStripped(this.#state);
    }
    this.#endSplitting();
    const closer = isCut ? "cut" : "next";
    const state = this.#state;
    if (state.at === "first-header" || state.at === "between") this.#closeText(state, closer);
    else if (state.at === "header") this.#closeHeader(state, state, closer);
    else if (state.at === "body") this.#closeBody(state, closer);
    this.#finish();
  }

  // ---- Markers -----------------------------------------------------------------------------------

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
        else this.#closeHeader(state, state, "next");
        break;
      }
      case "body":
        this.recover("implicit-close");
        this.#closeBody(state, "next");
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
        this.recover("implicit-close");
        this.#closeBody(state, "next");
        return this.#openHeader("nothing", "", marker);
      case "stripped":
      case "ended":
        return;
    }
  }

  #nextSection(state: OpenHeader, marker: "channel" | "constrain"): void {
    if (marker === "channel" && this.#hasBody(state)) {
      this.#closeHeader(state, state, "next");
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

  /** Opens a header, with the role's section over already where a marker has shown it. */
  #openHeader(opener: Header["opener"], role: string, marker?: "channel" | "constrain"): void {
    if (this.isDone) return;
    const isAfterCall = this.#isAfterCall;
    const sections: OpenHeader["sections"] = [{ after: "start", text: role }];
    if (marker !== undefined) sections.push({ after: marker, text: "" });
    const length = role.length + sections.length * MARKER_LENGTH;
    this.#state = { at: "header", opener, sections, length, tokens: 0, isAfterCall };
  }

  get #isAfterCall(): boolean {
    const state = this.#state;
    return state.at === "after-call" || (state.at === "header" && state.isAfterCall);
  }

  /** A marker shows what the text before it was: a role, or text outside messages with one at its end. */
  #toRole(state: FirstHeader | Between): { opener: Header["opener"]; role: string } {
    if (state.at === "between") this.recover("missing-start");
    if (isHeaderText(state.text, this.#options.offered)) {
      return { opener: toHeader(state).opener, role: state.text };
    }
    const [, text = state.text, role = ""] = /^(.*\s)(assistant\s*)$/s.exec(state.text) ?? [];
    this.#closeText({ ...state, text }, "next");
    return { opener: "nothing", role };
  }

  /** Whether a header without `<|message|>` has run into a body: there is more than odd header words. */
  #hasBody(state: OpenHeader): boolean {
    const { offered } = this.#options;
    const { meaning, body } = readCutHeader(state, offered);
    if (meaning?.kind === "tool-call") return body !== "";
    return isProse(body) && !/to\s*=/i.test(body) && findName(body, offered) === undefined;
  }

  // ---- Text --------------------------------------------------------------------------------------

  #text(text: string): void {
    let rest = text;
    while (rest !== "") {
      const state = this.#state;
      switch (state.at) {
        case "body":
          if (state.kind !== "skipped") this.parts.write(rest);
          return;
        case "header":
          rest = this.#headerText(state, rest);
          break;
        case "first-header":
        case "between":
          rest = this.#undecidedText(state, rest);
          break;
        case "after-call":
          if (rest.trim() !== "") this.#endAfterCall();
          return;
        case "stripped":
          this.#state = state.inner;
          return this.#splitText(state.splitter, rest);
        case "ended":
          return this.#ignore(state);
      }
    }
  }

  #headerText(state: OpenHeader, text: string): string {
    const { taken, rest, isFull } = take(text, this.#options.maxHeaderLength - state.length);
    const section = state.sections.at(-1);
    if (section !== undefined) section.text += taken;
    state.length += taken.length;
    if (isFull) this.#overflow(state, state);
    return rest;
  }

  #undecidedText(state: FirstHeader | Between, text: string): string {
    const searched = Math.max(0, state.text.length - LONGEST_LOST_HEADER);
    const { taken, rest, isFull } = take(text, state.limit - state.text.length);
    state.text += taken;
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

  /** Text that begins like a header has reached its limit. */
  #decideFirstHeader(state: FirstHeader): void {
    const { maxHeldLength } = this.#options;
    if (state.limit < maxHeldLength) state.limit = maxHeldLength;
    else if (beginsLikeAnalysis(state.text) || beginsWithGluedHeader(state.text)) {
      this.#readStripped(state);
    } else this.#decideText(state);
  }

  /** The text has reached its limit: it must be known now what it is. */
  #decideText(state: FirstHeader | Between): void {
    if (state.text.trim() === "") state.text = "";
    else this.#overflow(toHeader(state), { tokens: state.tokens, isAfterCall: false });
  }

  /** A header, or text outside messages, has grown too long to be one: its body has begun. */
  #overflow(
    header: Header,
    { tokens, isAfterCall }: Pick<OpenHeader, "tokens" | "isAfterCall">,
  ): void {
    if (isAfterCall) return this.#endAfterCall();
    const { meaning, body, recoveries } = readCutHeader(header, this.#options.offered);
    for (const recovery of recoveries) this.recover(recovery);
    this.recover(meaning === undefined ? "text-outside" : "long-header");
    // A name and no arguments after all these words: they are no call.
    const isNoCall = meaning?.kind === "tool-call" && body === "";
    this.#begin(isNoCall ? { kind: "reasoning" } : (meaning ?? { kind: "content" }), tokens, false);
    this.#text(body);
  }

  #count(tokens: number): void {
    const state = this.#state.at === "stripped" ? this.#state.inner : this.#state;
    if (state.at === "body") this.parts.count(tokens);
    else if ("tokens" in state) state.tokens += tokens;
  }

  // ---- Text whose markers were stripped ----------------------------------------------------------

  #readStripped(state: FirstHeader): void {
    this.recover("lost-markers");
    this.#openHeader("prompt", "", "channel");
    // Before the text is split: a split may open further messages, which these tokens are not part of.
    this.#count(state.tokens);
    this.#splitText(createLostHeaderSplitter(), state.text.replace(/^\s*(?:assistant\s*)?/, ""));
  }

  #splitText(splitter: LostHeaderSplitter, text: string): void {
    const [first, ...messages] = splitter.push(text);
    this.#text(first);
    for (const message of messages) {
      this.#start();
      this.#text("assistant");
      this.#section("channel");
      this.#text(message);
    }
    this.#strip(splitter);
  }

  #strip(splitter: LostHeaderSplitter): void {
    const inner = this.#state;
    if (inner.at === "header" || inner.at === "body") {
      this.#state = { at: "stripped", splitter, inner };
    }
  }

  #endSplitting(): void {
    const state = this.#state;
    if (state.at !== "stripped") return;
    this.#state = state.inner;
    this.#text(state.splitter.end());
  }

  /** A header or body that the gateway opened goes on without markers. */
  #expectHidden(): void {
    const { at } = this.#state;
    if (at === "body" || at === "header") this.#strip(createLostHeaderSplitter());
  }

  /** Where markers are known to be hidden, a header's words are a header, also when one stands alone. */
  #isHiddenHeader(state: FirstHeader | Between): state is FirstHeader {
    return this.#options.hidesMarkers && state.at === "first-header" && isHiddenHeader(state.text);
  }

  /** At its end, text without any marker is a header whose markers are lost. */
  #isLostHeader(state: FirstHeader): boolean {
    return beginsWithGluedHeader(state.text) || this.#isHiddenHeader(state);
  }

  // ---- Messages ----------------------------------------------------------------------------------

  /** `<|message|>` has closed this header. */
  #openBody(header: Header, isAfterCall: boolean): void {
    const { meaning, recoveries } = readHeader(header, this.#options.offered);
    const role = header.sections[0]?.text ?? "";
    const isOwnCall =
      meaning.kind === "tool-call" && header.opener === "start" && /^\s*assistant/.test(role);
    if (isAfterCall && !isOwnCall) return this.#endAfterCall();
    for (const recovery of recoveries) this.recover(recovery);
    this.#begin(meaning, 0, isAfterCall, toPartHeader(header));
  }

  /** Opens a message. `tokens`: how many of its body the header had swallowed. */
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
      case "tool-call":
        this.#state = { at: "body", kind: "call", isAfterCall };
        this.parts.start(
          { type: "part-start", part: "tool-call", name: meaning.name, ...said },
          isAfterCall,
        );
        this.parts.count(tokens);
        break;
      case "reasoning":
      case "preamble":
      case "content":
        this.#state = { at: "body", kind: "part", isAfterCall };
        this.parts.start({ type: "part-start", part: meaning.kind, ...said }, false);
        this.parts.count(tokens);
        break;
    }
  }

  #closeBody(state: Body, closer: Closer): void {
    const isCall = state.kind === "call";
    const isResult = state.kind !== "skipped" && this.parts.end(closer === "cut");
    if (state.isAfterCall || (isCall && closer === "call")) this.#state = { at: "after-call" };
    else this.#between(isCall ? "call" : endsTurn(closer) ? "return" : "other");
    if (isResult && endsTurn(closer)) this.#finish();
  }

  /** A header has ended without `<|message|>`: with a body, with nothing, or as text outside messages. */
  #closeHeader(
    header: Header,
    { tokens, isAfterCall }: Pick<OpenHeader, "tokens" | "isAfterCall">,
    closer: Closer,
  ): void {
    if (isAfterCall) return this.#endAfterCall();
    this.#between("other");
    const { offered } = this.#options;
    const { meaning, body, recoveries } = readCutHeader(header, offered);
    for (const recovery of recoveries) this.recover(recovery);
    const isHalf = closer === "cut" && (isHalfHeaderWord(body) || isHalfRole(body));
    // A lone `final` between messages is a header; where nothing came before, it is the answer.
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
      this.#begin(meaning, tokens, false);
      this.#text(body);
      this.#closeOpenBody(closer);
    }
  }

  #closeOpenBody(closer: Closer): void {
    if (this.#state.at === "body") this.#closeBody(this.#state, closer);
  }

  /** Text without a marker is over: it was header words and nothing else, or it was said. */
  #closeText(state: FirstHeader | Between, closer: Closer): void {
    const { text, tokens } = state;
    this.#between(state.at === "between" ? state.last : "other");
    if (text.trim() === "") return;
    const header = toHeader(state);
    const open = { tokens, isAfterCall: false };
    const isCutOpening = state.at === "first-header" && closer === "cut" && !isHalfRole(text);
    if (!isCutOpening) {
      this.#closeHeader(header, open, closer);
    } else if (
      beginsLikeAnalysis(text) &&
      readCutHeader(header, this.#options.offered).meaning === undefined
    ) {
      this.recover("lost-markers");
      this.#begin({ kind: "reasoning" }, tokens, false);
      this.#text(text.replace(/^\s*(?:assistant\s*)?analysis/, ""));
      this.#closeOpenBody(closer);
    } else {
      // No header was begun: even a word that could begin one is the answer.
      this.#closeHeader(header, open, "next");
    }
  }

  #between(last: Between["last"]): void {
    this.#state = between(last, this.#options.maxHeaderLength);
  }

  // ---- The end -----------------------------------------------------------------------------------

  /** Something came after `<|call|>` that is no further call: the model imagines how it goes on. */
  #endAfterCall(): void {
    this.recover("after-call");
    this.#finish(true);
  }

  #finish(isRepair = false): void {
    this.parts.finish();
    this.#state = { at: "ended", isExpected: isRepair };
  }

  /** What comes after the end counts once, however long it is. */
  #ignore(state: Ended): void {
    if (!state.isExpected) this.recover("after-end");
    state.isExpected = true;
  }
}

function toPartHeader({ sections }: Header): PartHeader {
  const { channel, recipient, contentType } = readWrittenHeader(sections, "assistant");
  return {
    ...(channel !== undefined && { channel }),
    ...(recipient !== undefined && { recipient }),
    ...(contentType !== undefined && { contentType }),
  };
}

function endsTurn(closer: Closer): boolean {
  return closer === "return" || closer === "endoftext";
}

function isRoleAlone(text: string): boolean {
  return /^\s*(?:assistant\s*)?$/i.test(text);
}

/** At most `room` characters of the text, never half of a surrogate pair. */
function take(text: string, room: number): { taken: string; rest: string; isFull: boolean } {
  if (text.length < room) return { taken: text, rest: "", isFull: false };
  const most = Math.max(0, room);
  const last = text.charCodeAt(most - 1);
  const length = last >= 0xd800 && last <= 0xdbff ? most - 1 : most;
  return { taken: text.slice(0, length), rest: text.slice(length), isFull: true };
}
