/**
 * The Harmony state machine: markers and ordinary text in, parts out (rules S0 to S9).
 *
 * It knows neither token ids nor how markers are spelled; `parse.ts` puts both forms in front of it.
 * Whatever comes, it goes on: every marker means something in every state, if only that the text
 * before it has to be read differently. Text goes out as soon as it is certain where it belongs and is
 * never taken back; what is not certain waits, and the wait is bounded.
 *
 *     outside ──<|start|>, <|channel|>──▶ header ──<|message|>, or too long──▶ body
 *        ▲                                  │                                   │
 *        └──────────<|end|> and the like────┴───────────────────────────────────┘     … ──▶ ended
 */
import { isHalfHeaderWord, isHalfRole, readCutHeader } from "./cut-header.ts";
import { isHeaderText, isProse, readHeader } from "./header.ts";
import type { Header, HeaderSection, Meaning } from "./header.ts";
import {
  beginsLikeAnalysis,
  beginsLikeHeader,
  createLostHeaderSplitter,
  hasLostHeader,
  LONGEST_LOST_HEADER,
} from "./lost-markers.ts";
import type { LostHeaderSplitter } from "./lost-markers.ts";
import type { Marker } from "./markers.ts";
import { Parts } from "./parts.ts";
import { findName } from "./recipient.ts";
import type { OfferedNames } from "./recipient.ts";
import type { Recovery } from "./recoveries.ts";

export interface MachineLimits {
  /** Characters of a header, or of text outside messages, after which it is taken for a body. */
  readonly maxHeaderLength: number;
  /** Characters of anything else that waits until it is known what it is. */
  readonly maxHeldLength: number;
}

type State = Outside | OpenHeader | Body | Ended;

/** No message is open and no marker of a header has come: header words, or text that has no header. */
interface Outside {
  readonly at: "outside";
  /** `prompt`: nothing but text has come since the header that the prompt opened. */
  readonly opener: "prompt" | "nothing";
  text: string;
  tokens: number;
  /** Characters after which it must be known what the text is. */
  limit: number;
  /** How the last message ended, for what may follow. */
  readonly last: "call" | "return" | "other";
}

interface OpenHeader extends Header {
  readonly at: "header";
  readonly sections: { readonly after: HeaderSection["after"]; text: string }[];
  /** Characters so far; a marker counts as some, so that a flood of them ends as well. */
  length: number;
  tokens: number;
}

interface Body {
  readonly at: "body";
  readonly kind: "part" | "call" | "skipped";
}

/** The turn is over. */
interface Ended {
  readonly at: "ended";
  /** What comes now is no surprise: the end itself was a repair, or something has come before. */
  isExpected: boolean;
}

type Terminator = "end" | "call" | "return" | "endoftext";
/** What closed a message: a terminator, or something else that shows it is over. */
type Closer = Terminator | "next" | "cut";

const MARKER_LENGTH = 8;

export class Machine {
  readonly parts: Parts;
  readonly recoveries = new Map<Recovery, number>();
  readonly #offered: OfferedNames;
  readonly #limits: MachineLimits;
  #state: State;
  /** Reads on where the markers had been stripped. */
  #splitter: LostHeaderSplitter | undefined;
  /** `<|call|>` has ended a call: nothing but further complete calls is the model's to write. */
  #isHandedOver = false;

  constructor(offered: OfferedNames, limits: MachineLimits) {
    this.parts = new Parts(limits.maxHeldLength, (recovery) => this.recover(recovery));
    this.#offered = offered;
    this.#limits = limits;
    this.#state = this.#outside("prompt", "other");
  }

  get isDone(): boolean {
    return this.#state.at === "ended";
  }

  get position(): "between" | "header" | "body" {
    const state = this.#state;
    if (state.at === "outside") return state.opener === "prompt" ? "header" : "between";
    return state.at === "ended" ? "between" : state.at;
  }

  /** Whether ordinary text can be nothing but more of the body. */
  get isFlowing(): boolean {
    return this.#state.at === "body" && this.#splitter === undefined;
  }

  /** Whether a marker here, spelled or real, would be where the first header is expected. */
  get isAtFirstHeader(): boolean {
    const state = this.#state;
    const isOpening = state.at === "outside" && state.opener === "prompt";
    return isOpening && isHeaderText(state.text, this.#offered);
  }

  recover(recovery: Recovery): void {
    this.recoveries.set(recovery, (this.recoveries.get(recovery) ?? 0) + 1);
  }

  /** Ordinary text, and how many tokens it was. */
  text(text: string, tokens: number): void {
    if (this.#splitter === undefined) this.#text(text);
    else this.#splitText(this.#splitter, text);
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
    this.#endSplitting();
    const closer = isCut ? "cut" : "next";
    const state = this.#state;
    if (state.at === "outside") this.#closeOutside(state, closer);
    else if (state.at === "header") this.#closeHeader(state, state.tokens, closer);
    else if (state.at === "body") this.#closeBody(state, closer);
    this.#finish();
  }

  // ---- Markers -----------------------------------------------------------------------------------

  #start(): void {
    const state = this.#state;
    if (state.at === "outside") {
      if (state.last === "return") this.recover("continued-after-return");
      if (state.opener === "prompt" && isRoleAlone(state.text)) this.recover("repeated-start");
      else this.#closeOutside(state, "next");
    } else if (state.at === "header") {
      const [role] = state.sections;
      const isEmpty = state.sections.length === 1 && isRoleAlone(role?.text ?? "");
      if (isEmpty) this.recover("repeated-start");
      else this.#closeHeader(state, state.tokens, "next");
    } else if (state.at === "body") {
      this.recover("implicit-close");
      this.#closeBody(state, "next");
    }
    this.#openHeader("start", "");
  }

  #section(marker: "channel" | "constrain"): void {
    const state = this.#state;
    if (state.at === "outside") {
      const { opener, role } = this.#toRole(state);
      this.#openHeader(opener, role, marker);
    } else if (state.at === "header") {
      this.#nextSection(state, marker);
    } else if (state.at === "body" && marker === "channel") {
      this.recover("implicit-close");
      this.#closeBody(state, "next");
      this.#openHeader("nothing", "", marker);
    } else if (state.at === "body") {
      this.recover("stray-marker");
    }
  }

  #nextSection(state: OpenHeader, marker: "channel" | "constrain"): void {
    if (marker === "channel" && this.#hasBody(state)) {
      this.#closeHeader(state, state.tokens, "next");
      this.#openHeader("nothing", "", marker);
    } else if (state.length + MARKER_LENGTH > this.#limits.maxHeaderLength) {
      this.#overflow(state, state.tokens);
      this.marker(marker);
    } else {
      state.sections.push({ after: marker, text: "" });
      state.length += MARKER_LENGTH;
    }
  }

  #message(): void {
    const state = this.#state;
    if (state.at === "outside") {
      const { opener, role } = this.#toRole(state);
      if (!this.isDone) this.#openBody({ opener, sections: [{ after: "start", text: role }] });
    } else if (state.at === "header") {
      this.#openBody(state);
    } else if (state.at === "body") {
      this.recover("stray-marker");
    }
  }

  #terminator(marker: Terminator): void {
    const state = this.#state;
    if (state.at === "header") {
      this.#closeHeader(state, state.tokens, marker);
    } else if (state.at === "body") {
      this.#closeBody(state, marker);
    } else if (state.at === "outside") {
      const isBlank = state.text.trim() === "";
      if (isBlank) this.recover("stray-terminator");
      else this.#closeOutside(state, marker);
      if (isBlank && marker === "call" && state.last === "call") this.#isHandedOver = true;
      const isComplete = this.parts.hasResult || this.parts.hasOutside;
      if (endsTurn(marker) && isComplete) this.#finish();
    }
  }

  /** Opens a header, with the role's section over already where a marker has shown it. */
  #openHeader(opener: Header["opener"], role: string, marker?: "channel" | "constrain"): void {
    if (this.isDone) return;
    const sections: OpenHeader["sections"] = [{ after: "start", text: role }];
    if (marker !== undefined) sections.push({ after: marker, text: "" });
    const length = role.length + sections.length * MARKER_LENGTH;
    this.#state = { at: "header", opener, sections, length, tokens: 0 };
  }

  /** A marker shows what the text before it was: a role, or text outside messages with one at its end. */
  #toRole(state: Outside): { opener: Header["opener"]; role: string } {
    if (this.#isHandedOver) this.#endAfterCall();
    else if (state.opener === "nothing") this.recover("missing-start");
    if (this.isDone || isHeaderText(state.text, this.#offered)) {
      return { opener: state.opener, role: state.text };
    }
    const [, text = state.text, role = ""] = /^(.*\s)(assistant\s*)$/s.exec(state.text) ?? [];
    this.#closeOutside({ ...state, text }, "next");
    return { opener: "nothing", role };
  }

  /** Whether a header without `<|message|>` has run into a body: there is more than odd header words. */
  #hasBody(state: OpenHeader): boolean {
    const { meaning, body } = readCutHeader(state, this.#offered);
    if (meaning?.kind === "tool-call") return body !== "";
    return isProse(body) && !/to\s*=/i.test(body) && findName(body, this.#offered) === undefined;
  }

  // ---- Text --------------------------------------------------------------------------------------

  #text(text: string): void {
    let rest = text;
    while (rest !== "") {
      const state = this.#state;
      if (state.at === "body") {
        if (state.kind !== "skipped") this.parts.write(rest);
        return;
      }
      if (state.at === "ended") return this.#ignore(state);
      rest = state.at === "header" ? this.#headerText(state, rest) : this.#outsideText(state, rest);
    }
  }

  #headerText(state: OpenHeader, text: string): string {
    const { taken, rest, isFull } = take(text, this.#limits.maxHeaderLength - state.length);
    const section = state.sections.at(-1);
    if (section !== undefined) section.text += taken;
    state.length += taken.length;
    if (isFull) this.#overflow(state, state.tokens);
    return rest;
  }

  #outsideText(state: Outside, text: string): string {
    if (this.#isHandedOver) {
      if (text.trim() !== "") this.#endAfterCall();
      return "";
    }
    const searched = Math.max(0, state.text.length - LONGEST_LOST_HEADER);
    const { taken, rest, isFull } = take(text, state.limit - state.text.length);
    state.text += taken;
    const looksStripped = state.opener === "prompt" && beginsLikeHeader(state.text);
    if (looksStripped && hasLostHeader(state.text.slice(searched))) this.#readStripped(state);
    else if (isFull) this.#decideOutside(state, looksStripped);
    if (this.#splitter === undefined) return rest;
    this.#splitText(this.#splitter, rest);
    return "";
  }

  /** The text has reached its limit: it must be known now what it is. */
  #decideOutside(state: Outside, looksStripped: boolean): void {
    const { maxHeldLength } = this.#limits;
    if (state.text.trim() === "") state.text = "";
    else if (looksStripped && state.limit < maxHeldLength) state.limit = maxHeldLength;
    else if (looksStripped && beginsLikeAnalysis(state.text)) this.#readStripped(state);
    else this.#overflow(toHeader(state), state.tokens);
  }

  /** A header, or text outside messages, has grown too long to be one: its body has begun. */
  #overflow(header: Header, tokens: number): void {
    if (this.#isHandedOver) return this.#endAfterCall();
    const { meaning, body, recoveries } = readCutHeader(header, this.#offered);
    for (const recovery of recoveries) this.recover(recovery);
    this.recover(meaning === undefined ? "text-outside" : "long-header");
    // A name and no arguments after all these words: they are no call.
    const isNoCall = meaning?.kind === "tool-call" && body === "";
    this.#begin(isNoCall ? { kind: "reasoning" } : (meaning ?? { kind: "content" }), tokens);
    this.#text(body);
  }

  #count(tokens: number): void {
    const state = this.#state;
    if (state.at === "body") this.parts.count(tokens);
    else if (state.at !== "ended") state.tokens += tokens;
  }

  // ---- Text whose markers were stripped ----------------------------------------------------------

  #readStripped(state: Outside): void {
    this.recover("lost-markers");
    this.#openHeader("prompt", "", "channel");
    this.#splitter = createLostHeaderSplitter();
    this.#splitText(this.#splitter, state.text.replace(/^\s*(?:assistant\s*)?/, ""));
    this.#count(state.tokens);
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
  }

  #endSplitting(): void {
    const waiting = this.#splitter?.end() ?? "";
    this.#splitter = undefined;
    this.#text(waiting);
  }

  // ---- Messages ----------------------------------------------------------------------------------

  /** `<|message|>` has closed this header. */
  #openBody(header: Header): void {
    const { meaning, recoveries } = readHeader(header, this.#offered);
    const role = header.sections[0]?.text ?? "";
    const isOwnCall =
      meaning.kind === "tool-call" && header.opener === "start" && /^\s*assistant/.test(role);
    if (this.#isHandedOver && !isOwnCall) return this.#endAfterCall();
    for (const recovery of recoveries) this.recover(recovery);
    this.#begin(meaning, 0);
  }

  /** Opens a message. `tokens`: how many of its body the header had swallowed. */
  #begin(meaning: Meaning, tokens: number): void {
    switch (meaning.kind) {
      case "other-role":
        this.recover("imagined-turn");
        this.#finish(true);
        break;
      case "tool-result":
        this.recover("imagined-tool-result");
        this.#state = { at: "body", kind: "skipped" };
        break;
      case "tool-call":
        this.#state = { at: "body", kind: "call" };
        this.parts.start(
          { type: "part-start", part: "tool-call", name: meaning.name },
          this.#isHandedOver,
        );
        this.parts.count(tokens);
        break;
      case "reasoning":
      case "preamble":
      case "content":
        this.#state = { at: "body", kind: "part" };
        this.parts.start({ type: "part-start", part: meaning.kind }, false);
        this.parts.count(tokens);
        break;
    }
  }

  #closeBody(state: Body, closer: Closer): void {
    const isCall = state.kind === "call";
    const isResult = state.kind !== "skipped" && this.parts.end(closer === "cut");
    const last = isCall ? "call" : endsTurn(closer) ? "return" : "other";
    this.#state = this.#outside("nothing", last);
    if (isCall && closer === "call") this.#isHandedOver = true;
    if (isResult && endsTurn(closer)) this.#finish();
  }

  /** A header has ended without `<|message|>`: with a body, with nothing, or as text outside messages. */
  #closeHeader(header: Header, tokens: number, closer: Closer): void {
    if (this.#isHandedOver) return this.#endAfterCall();
    this.#state = this.#outside("nothing", "other");
    const { meaning, body, recoveries } = readCutHeader(header, this.#offered);
    for (const recovery of recoveries) this.recover(recovery);
    const isHalf = closer === "cut" && (isHalfHeaderWord(body) || isHalfRole(body));
    // A lone `final` between messages is a header; where nothing came before, it is the answer.
    const isHeader =
      meaning === undefined && header.opener !== "prompt" && isHeaderText(body, this.#offered);
    if (meaning?.kind === "other-role") {
      this.#begin(meaning, 0);
    } else if (meaning?.kind === "tool-result") {
      this.recover("imagined-tool-result");
    } else if (body.trim() === "" || isHalf || isHeader) {
      this.recover("header-without-body");
    } else if (meaning === undefined) {
      this.parts.addOutside(body, tokens);
      if (endsTurn(closer)) this.#finish();
    } else {
      this.recover("missing-message");
      this.#begin(meaning, tokens);
      this.#text(body);
      this.#closeOpenBody(closer);
    }
  }

  #closeOpenBody(closer: Closer): void {
    if (this.#state.at === "body") this.#closeBody(this.#state, closer);
  }

  /** Text outside messages is over: it was header words and nothing else, or it was said. */
  #closeOutside(state: Outside, closer: Closer): void {
    const { text, tokens, opener, last } = state;
    this.#state = this.#outside("nothing", last);
    if (text.trim() === "") return;
    const header = toHeader(state);
    const isCutOpening = opener === "prompt" && closer === "cut" && !isHalfRole(text);
    if (!isCutOpening) {
      this.#closeHeader(header, tokens, closer);
    } else if (
      beginsLikeAnalysis(text) &&
      readCutHeader(header, this.#offered).meaning === undefined
    ) {
      this.recover("lost-markers");
      this.#begin({ kind: "reasoning" }, tokens);
      this.#text(text.replace(/^\s*(?:assistant\s*)?analysis/, ""));
      this.#closeOpenBody(closer);
    } else {
      // No header was begun: even a word that could begin one is the answer.
      this.#closeHeader(header, tokens, "next");
    }
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

  #outside(opener: Outside["opener"], last: Outside["last"]): Outside {
    const limit = this.#limits.maxHeaderLength;
    return { at: "outside", opener, text: "", tokens: 0, limit, last };
  }
}

function endsTurn(closer: Closer): boolean {
  return closer === "return" || closer === "endoftext";
}

function isRoleAlone(text: string): boolean {
  return /^\s*(?:assistant\s*)?$/i.test(text);
}

function toHeader({ opener, text }: Outside): Header {
  return { opener, sections: [{ after: "start", text }] };
}

/** At most `room` characters of the text, never half of a surrogate pair. */
function take(text: string, room: number): { taken: string; rest: string; isFull: boolean } {
  if (text.length < room) return { taken: text, rest: "", isFull: false };
  const most = Math.max(0, room);
  const last = text.charCodeAt(most - 1);
  const length = last >= 0xd800 && last <= 0xdbff ? most - 1 : most;
  return { taken: text.slice(0, length), rest: text.slice(length), isFull: true };
}
