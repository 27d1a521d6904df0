/**
 * Ordinary text in the Harmony state machine: what is held back, for how long, and what it turns out to be
 * (rules S2, S3, S7 and S9).
 *
 * Text in a body is passed on at once. Text in a header, or outside messages, is held back until its meaning is
 * known, up to a limit. Text whose markers an engine has removed is split at the header words that are left.
 */
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
import type { MachineMessages } from "./machine-messages.ts";
import { toHeader } from "./machine-state.ts";
import type { Between, Ended, FirstHeader, OpenHeader } from "./machine-state.ts";

export class MachineText {
  readonly #messages: MachineMessages;

  constructor(messages: MachineMessages) {
    this.#messages = messages;
  }

  /** Reads ordinary text that `tokens` tokens were decoded to. */
  push(text: string, tokens: number): void {
    if (this.#messages.options.hidesMarkers) this.#expectHidden();
    this.#read(text);
    this.#count(tokens);
  }

  /** Reads the text that is still held back. The state is never `stripped` afterwards. */
  end(): void {
    const { state } = this.#messages;
    if (state.at === "first-header" && this.#isLostHeader(state)) this.#readStripped(state);
    this.endSplitting();
  }

  /** A marker has come, or the end: the text held back for the rest of a lost header is not one. */
  endSplitting(): void {
    const { state } = this.#messages;
    if (state.at !== "stripped") return;
    this.#messages.state = state.inner;
    this.#read(state.splitter.end());
  }

  /** Records output after the end of the turn; once, however long it is. */
  ignore(state: Ended): void {
    if (!state.isExpected) this.#messages.recover("after-end");
    state.isExpected = true;
  }

  #read(text: string): void {
    const messages = this.#messages;
    let rest = text;
    while (rest !== "") {
      const { state } = messages;
      switch (state.at) {
        case "body":
          if (state.kind !== "skipped") messages.parts.write(rest);
          return;
        case "header":
          rest = this.#readHeader(state, rest);
          break;
        case "first-header":
        case "between":
          rest = this.#readUndecided(state, rest);
          break;
        case "after-call":
          if (rest.trim() !== "") messages.endAfterCall();
          return;
        case "stripped":
          messages.state = state.inner;
          return this.#split(state.splitter, rest);
        case "ended":
          return this.ignore(state);
      }
    }
  }

  #count(tokens: number): void {
    const { state: current, parts } = this.#messages;
    const state = current.at === "stripped" ? current.inner : current;
    if (state.at === "body") parts.count(tokens);
    else if ("tokens" in state) state.tokens += tokens;
  }

  // ---- Text that is held back ----------------------------------------------------------------------

  /** Adds text to the open header. Returns what did not fit. */
  #readHeader(state: OpenHeader, text: string): string {
    const room = this.#messages.options.maxHeaderLength - state.length;
    const { head, rest, isFull } = splitAt(text, room);
    const section = state.sections.at(-1);
    if (section !== undefined) section.text += head;
    state.length += head.length;
    if (isFull) this.#messages.overflow(state, state);
    return rest;
  }

  /** Adds text to what is held back without a header. Returns what did not fit. */
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

  /** Text that begins like a header has reached its limit: waits longer once, then decides. */
  #decideFirstHeader(state: FirstHeader): void {
    const { maxHeldLength } = this.#messages.options;
    if (state.limit < maxHeldLength) state.limit = maxHeldLength;
    else if (beginsLikeAnalysis(state.text) || beginsWithGluedHeader(state.text)) {
      this.#readStripped(state);
    } else this.#decideText(state);
  }

  /** Text without a header has reached its limit: white space is dropped, anything else is a body. */
  #decideText(state: FirstHeader | Between): void {
    if (state.text.trim() === "") state.text = "";
    else this.#messages.overflow(toHeader(state), { tokens: state.tokens, isAfterCall: false });
  }

  // ---- Text whose markers were removed -------------------------------------------------------------

  #readStripped(state: FirstHeader): void {
    this.#messages.recover("lost-markers");
    this.#messages.openHeader("prompt", "", "channel");
    // Before the text is split: a split may open further messages, which these tokens are not part of.
    this.#count(state.tokens);
    this.#split(createLostHeaderSplitter(), state.text.replace(/^\s*(?:assistant\s*)?/, ""));
  }

  #split(splitter: LostHeaderSplitter, text: string): void {
    const [first, ...others] = splitter.push(text);
    this.#read(first);
    for (const message of others) {
      this.#messages.closeForNext();
      this.#messages.openHeader("start", "assistant", "channel");
      this.#read(message);
    }
    this.#expectStripped(splitter);
  }

  #expectStripped(splitter: LostHeaderSplitter): void {
    const inner = this.#messages.state;
    if (inner.at === "header" || inner.at === "body") {
      this.#messages.state = { at: "stripped", splitter, inner };
    }
  }

  /** A header or body opened by a marker that the gateway wrote continues in text without markers. */
  #expectHidden(): void {
    const { at } = this.#messages.state;
    if (at === "body" || at === "header") this.#expectStripped(createLostHeaderSplitter());
  }

  /** Whether the text begins with header words and markers are known to be hidden, so that they are a header. */
  #isHiddenHeader(state: FirstHeader | Between): state is FirstHeader {
    const { hidesMarkers } = this.#messages.options;
    return hidesMarkers && state.at === "first-header" && isHiddenHeader(state.text);
  }

  /** Whether a completion that has ended without any marker began with a header. */
  #isLostHeader(state: FirstHeader): boolean {
    return beginsWithGluedHeader(state.text) || this.#isHiddenHeader(state);
  }
}

/** Splits text after at most `room` characters, never within a surrogate pair. */
function splitAt(text: string, room: number): { head: string; rest: string; isFull: boolean } {
  if (text.length < room) return { head: text, rest: "", isFull: false };
  const most = Math.max(0, room);
  const last = text.charCodeAt(most - 1);
  const length = last >= 0xd800 && last <= 0xdbff ? most - 1 : most;
  return { head: text.slice(0, length), rest: text.slice(length), isFull: true };
}
