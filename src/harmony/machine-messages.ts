/**
 * Opens and closes headers and messages for the Harmony state machine (rules S1 to S8).
 *
 * The methods here are the transitions between messages. `machine.ts` decides which marker causes which of
 * them, and `machine-text.ts` which text does.
 */
import { type PartHeader, toPartHeader } from "./call-form.ts";
import { isHalfHeaderWord, isHalfRole, readCutHeader } from "./cut-header.ts";
import { isHeaderText, isProse, readHeader } from "./header.ts";
import type { Header, Meaning, MessageMeaning } from "./header.ts";
import { beginsLikeAnalysis } from "./lost-markers.ts";
import { between, firstHeader, MARKER_LENGTH, toHeader } from "./machine-state.ts";
import type { Between, Body, FirstHeader, OpenHeader, State } from "./machine-state.ts";
import { Parts, type PartStart } from "./parts.ts";
import { findName } from "./recipient.ts";
import type { OfferedNames } from "./offered-names.ts";
import type { Recovery } from "./recoveries.ts";

export interface MachineOptions {
  readonly offered: OfferedNames;
  /** Offered names whose calls have any text as body. */
  readonly textTools: ReadonlySet<string>;
  /** Characters of a header, or of text outside messages, after which it is read as a body. */
  readonly maxHeaderLength: number;
  /** Characters of any other text that is held back until its meaning is known. */
  readonly maxHeldLength: number;
  /** The engine omits markers from its text, so header words are headers wherever they stand. */
  readonly hidesMarkers: boolean;
}

export type Terminator = "end" | "call" | "return" | "endoftext";
/** What closed a message: a terminator, the beginning of something else, or the engine stopping early. */
type Closer = Terminator | "next" | "cut";

/** What passes from a header to its body: tokens already read, and whether a complete call came before. */
type Carried = Pick<OpenHeader, "tokens" | "isAfterCall">;

/** Shared: most completions need no repair. */
const NONE: ReadonlyMap<Recovery, number> = new Map();

export class MachineMessages {
  readonly options: MachineOptions;
  readonly parts: Parts;
  state: State;
  #recoveries: Map<Recovery, number> | undefined;

  constructor(options: MachineOptions) {
    this.options = options;
    this.parts = new Parts(options.maxHeldLength, (recovery) => this.recover(recovery));
    this.state = firstHeader(options.maxHeaderLength);
  }

  get recoveries(): ReadonlyMap<Recovery, number> {
    return this.#recoveries ?? NONE;
  }

  recover(recovery: Recovery): void {
    this.#recoveries ??= new Map();
    this.#recoveries.set(recovery, (this.#recoveries.get(recovery) ?? 0) + 1);
  }

  /** Opens a header. `marker`: the role's section is over, because this marker has followed it. */
  openHeader(opener: Header["opener"], role: string, marker?: "channel" | "constrain"): void {
    const { state } = this;
    if (state.at === "ended") return;
    const isAfterCall = state.at === "after-call" || (state.at === "header" && state.isAfterCall);
    const sections: OpenHeader["sections"] = [{ after: "start", text: role }];
    if (marker !== undefined) sections.push({ after: marker, text: "" });
    const length = role.length + sections.length * MARKER_LENGTH;
    this.state = { at: "header", opener, sections, length, tokens: 0, isAfterCall };
  }

  /** Opens the body of a header that `<|message|>` has closed. */
  openBody(header: Header, isAfterCall: boolean): void {
    const { meaning, recoveries, doubt } = readHeader(header, this.options.offered);
    const role = header.sections[0]?.text ?? "";
    const isOwnCall =
      meaning.kind === "tool-call" && header.opener === "start" && /^\s*assistant/.test(role);
    if (isAfterCall && (!isOwnCall || doubt !== undefined)) return this.endAfterCall();
    if (doubt === undefined || (doubt.proof === "beginning" && this.#isText(meaning))) {
      this.#recoverAll(recoveries);
      this.#begin(meaning, 0, isAfterCall, toPartHeader(header.sections));
      return;
    }
    const said = { header: toPartHeader(header.sections) };
    this.state = { at: "body", kind: "part", isAfterCall };
    this.parts.startInDoubt(doubt.proof, (isCall) => {
      this.#recoverAll(isCall ? recoveries : doubt.recoveries);
      return toPartStart(isCall ? meaning : doubt.otherwise, said);
    });
  }

  /** A header, or text outside messages, is too long to be one: its body has begun. */
  overflow(header: Header, { tokens, isAfterCall }: Carried): void {
    if (isAfterCall) return this.endAfterCall();
    const { meaning, body, recoveries } = readCutHeader(header, this.options.offered);
    this.#recoverAll(recoveries);
    this.recover(meaning === undefined ? "text-outside" : "long-header");
    // A function name with no arguments after this much text is not a call.
    const isNoCall = meansCall(meaning) && body === "";
    this.#begin(isNoCall ? { kind: "reasoning" } : (meaning ?? { kind: "content" }), tokens, false);
    this.#write(body);
  }

  /** Closes the open header or body because the next message has begun without a terminator. */
  closeForNext(): void {
    const { state } = this;
    if (state.at === "header") {
      this.closeHeader(state, state, "next");
    } else if (state.at === "body") {
      this.recover("implicit-close");
      this.closeBody(state, "next");
    }
  }

  closeBody(state: Body, closer: Closer): void {
    this.parts.settle();
    const isCall = this.parts.isCall;
    const isResult = state.kind !== "skipped" && this.parts.end(closer === "cut");
    if (state.isAfterCall || (isCall && closer === "call")) this.state = { at: "after-call" };
    else this.#between(isCall ? "call" : endsTurn(closer) ? "return" : "other");
    if (isResult && endsTurn(closer)) this.finish();
  }

  /** Closes a header without `<|message|>`: it has a body, has none, or is text outside messages. */
  closeHeader(header: Header, { tokens, isAfterCall }: Carried, closer: Closer): void {
    if (isAfterCall) return this.endAfterCall();
    this.#between("other");
    const { offered } = this.options;
    const { meaning, body, recoveries } = readCutHeader(header, offered);
    this.#recoverAll(recoveries);
    const isHalf = closer === "cut" && (isHalfHeaderWord(body) || isHalfRole(body));
    // `final` alone is a header between messages, but the answer if it is all there is.
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
      if (endsTurn(closer)) this.finish();
    } else {
      this.recover("missing-message");
      this.#addWhole(meaning, body, tokens, closer);
    }
  }

  /** Closes text without markers: a header without a body, or text outside messages. */
  closeText(state: FirstHeader | Between, closer: Closer): void {
    const { text, tokens } = state;
    this.#between(state.at === "between" ? state.last : "other");
    if (text.trim() === "") return;
    const header = toHeader(state);
    const carried = { tokens, isAfterCall: false };
    const isCutOpening = state.at === "first-header" && closer === "cut" && !isHalfRole(text);
    if (!isCutOpening) {
      this.closeHeader(header, carried, closer);
    } else if (
      beginsLikeAnalysis(text) &&
      readCutHeader(header, this.options.offered).meaning === undefined
    ) {
      this.recover("lost-markers");
      const body = text.replace(/^\s*(?:assistant\s*)?analysis/, "");
      this.#addWhole({ kind: "reasoning" }, body, tokens, closer);
    } else {
      // No header was begun, so even half a header word belongs to the answer.
      this.closeHeader(header, carried, "next");
    }
  }

  /** Whether a header without `<|message|>` already contains body text, not only misplaced header words. */
  hasBody(state: OpenHeader): boolean {
    const { offered } = this.options;
    const { opener, sections } = state;
    // Nearly always: `<|start|>assistant`.
    if (opener === "start" && sections.length === 1 && sections[0]?.text === "assistant")
      return false;
    const { meaning, body } = readCutHeader(state, offered);
    if (meansCall(meaning)) return body !== "";
    return isProse(body) && !/to\s*=/i.test(body) && findName(body, offered) === undefined;
  }

  /** Ends the turn because something other than a complete call followed `<|call|>`. */
  endAfterCall(): void {
    this.recover("after-call");
    this.finish(true);
  }

  /** `isRepair`: the model may have gone on, so later output is not counted as a further recovery. */
  finish(isRepair = false): void {
    this.parts.finish();
    this.state = { at: "ended", isExpected: isRepair };
  }

  /**
   * Begins a message. `tokens`: how many tokens of its body were read as part of the header. `header`: absent where
   * no `<|message|>` closed one.
   */
  #begin(meaning: Meaning, tokens: number, isAfterCall: boolean, header?: PartHeader): void {
    const said = header === undefined ? {} : { header };
    switch (meaning.kind) {
      case "other-role":
        this.recover("imagined-turn");
        this.finish(true);
        break;
      case "tool-result":
        this.recover("imagined-tool-result");
        this.state = { at: "body", kind: "skipped", isAfterCall };
        break;
      default:
        this.state = { at: "body", kind: "part", isAfterCall };
        this.parts.start(toPartStart(meaning, said), isAfterCall, this.#isText(meaning));
        this.parts.count(tokens);
    }
  }

  #isText(meaning: Meaning): boolean {
    return meaning.kind === "tool-call" && this.options.textTools.has(meaning.name);
  }

  #recoverAll(recoveries: readonly Recovery[]): void {
    for (const recovery of recoveries) this.recover(recovery);
  }

  /** Adds a message whose text is complete. */
  #addWhole(meaning: Meaning, body: string, tokens: number, closer: Closer): void {
    this.#begin(meaning, tokens, false);
    this.#write(body);
    if (this.state.at === "body") this.closeBody(this.state, closer);
  }

  #write(body: string): void {
    if (this.state.at === "body" && this.state.kind !== "skipped") this.parts.write(body);
  }

  #between(last: Between["last"]): void {
    this.state = between(last, this.options.maxHeaderLength);
  }
}

function meansCall(meaning: Meaning | undefined): boolean {
  return meaning?.kind === "tool-call" || meaning?.kind === "builtin-call";
}

/** Whether a closer ends the turn, not only a message. */
export function endsTurn(closer: Closer): boolean {
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
