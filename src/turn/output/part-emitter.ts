/**
 * Converts parser events to turn events.
 *
 * Assigns call ids, ends the answer at a stop string, and holds parts back until they have been checked.
 */
import type { TokenLogprob } from "../../engines/engine.ts";
import { type CallHeader, formOf } from "../../harmony/call-form.ts";
import type { ParseEvent } from "../../harmony/parse.ts";
import { isBuiltInTool } from "../../harmony/recipient.ts";
import { FIRST_SPECIAL_ID } from "../../tokenizer/index.ts";
import { type CitationFilter, type CitedText, createCitationFilter } from "./citations.ts";
import { HeldEvents, type HeldPart } from "./held-events.ts";
import {
  type EmittedBuiltins,
  OpenCall,
  toBuiltinPart,
  type WrittenCall,
} from "../steering/open-call.ts";
import { PartStops } from "./part-stops.ts";
import type { ApprovedCall, Part, TurnEvent } from "../turn.ts";

type PartKind = Part["kind"];
type PartStart = Extract<ParseEvent, { type: "part-start" }>;

export interface PartEmitter {
  /** Returns the turn events for these parser events. `logprobs` belong to the tokens of these events. */
  push(events: readonly ParseEvent[], logprobs?: readonly TokenLogprob[]): TurnEvent[];
  /**
   * The event of text that only continues the open part. Undefined, with nothing done, where more may have to be: then
   * {@link push} it.
   */
  continuePart(text: string): TurnEvent | undefined;
  /** Adds text that only continues the open part and has been emitted, where {@link continuePart} has made an event before. */
  addEmitted(text: string): void;
  /** Holds further parts of these kinds, and no others. Parts already held stay held. */
  setHeld(kinds: readonly PartKind[]): void;
  /** Returns all held events and stops holding. */
  release(): TurnEvent[];
  /** The held parts of this kind, with their text so far. */
  held(kind: PartKind): readonly HeldPart[];
  /**
   * Discards the held parts of these kinds as if the model had never written them. Further parts are still
   * held.
   */
  discard(...kinds: readonly PartKind[]): void;
  holds(kind: PartKind): boolean;
  /** Name of a call that is not allowed. Set until the message it is in ends. */
  readonly refused: string | undefined;
  /** The call that comes next is one the client has approved. */
  approved: ApprovedCall | undefined;
  /** Whether the model chooses how headers are written, as it does unless the gateway or a constraint writes them. */
  choosesHeaders: boolean;
  /** A call is complete that the gateway runs. */
  readonly hasBuiltinCall: boolean;
  /** The same call, once. */
  takeBuiltinCall(): WrittenCall | undefined;
  /** The open part. */
  readonly part: Part | undefined;
  /** The open part, or else the last one. */
  readonly last: Part | undefined;
  /** Text of `last` so far, emitted or held. */
  readonly text: string;
  /** Characters of white space at its end. */
  readonly blankTail: number;
  /** Text of the open answer part, or else the last one. */
  readonly answerText: string;
  /** Number of parts begun. Discarded parts and calls cut before their arguments are not counted. */
  count(kind: PartKind): number;
  /** The stop string that was found. All text after it is ignored. */
  readonly stopSequence: string | undefined;
}

interface PartEmitterOptions {
  readonly stop: readonly string[];
  /** Text between preamble and answer, for clients that read both as one text. */
  readonly textSeparator: string | undefined;
  readonly newCallId: () => string;
  /**
   * Emit preambles as reasoning. Next to an answer that must be a JSON document, visible text would make the
   * whole invalid.
   */
  readonly foldPreambles: boolean;
  /** Parts of these kinds are dropped. */
  readonly omits: readonly PartKind[];
  /** Whether a call is not allowed. Such calls are dropped and reported in `refused`. */
  readonly refuses: (name: string) => boolean;
  /** Whether the arguments of a call are checked. Only such calls are held. */
  readonly checks: (name: string) => boolean;
  /** Absent: the gateway runs no tools. */
  readonly builtins?: EmittedBuiltins;
}

export function createPartEmitter(options: PartEmitterOptions): PartEmitter {
  return new Emitter(options);
}

class Emitter implements PartEmitter {
  part: Part | undefined;
  last: Part | undefined;
  refused: string | undefined;
  stopSequence: string | undefined;
  approved: ApprovedCall | undefined;
  choosesHeaders = true;
  readonly #options: PartEmitterOptions;
  text = "";
  blankTail = 0;
  readonly #counts: Record<PartKind, number> = {
    reasoning: 0,
    preamble: 0,
    content: 0,
    "tool-call": 0,
    "builtin-call": 0,
  };
  /** Parts already emitted, which cannot be discarded. */
  readonly #emitted: Record<PartKind, number> = {
    reasoning: 0,
    preamble: 0,
    content: 0,
    "tool-call": 0,
    "builtin-call": 0,
  };
  /** Text of the last answer part, if other parts have begun since. */
  #answerBefore = "";
  /** The parser's open part is being dropped. */
  #omitting = false;
  /** The start of the open part has been emitted. */
  #started = false;
  #citations: CitationFilter | undefined;
  /** Found behind the last text that was given out. */
  #waitingCitations: CitedText["citations"] = [];
  #call: OpenCall | undefined;
  #completeCall: WrittenCall | undefined;
  #waitingLogprobs: TokenLogprob[] = [];
  readonly #stops: PartStops;
  readonly #held = new HeldEvents();

  constructor(options: PartEmitterOptions) {
    this.#options = options;
    this.#stops = new PartStops(options);
  }

  push(events: readonly ParseEvent[], logprobs?: readonly TokenLogprob[]): TurnEvent[] {
    // Tokens of the header come before the part opens; the terminator is a special token.
    if (logprobs && this.part?.kind === "content") {
      this.#waitingLogprobs.push(...logprobs.filter((each) => each.id < FIRST_SPECIAL_ID));
    }
    const out: TurnEvent[] = [];
    for (const event of events) {
      if (this.stopSequence !== undefined) break;
      switch (event.type) {
        case "part-start":
          this.#start(event);
          break;
        case "part-delta":
          if (!this.#omitting) this.#write(this.#stops.push(event.text), out);
          break;
        case "part-end":
          this.#end(out);
          break;
        default:
          event satisfies never;
      }
    }
    if (this.part?.kind !== "content") this.#waitingLogprobs = [];
    return out;
  }

  continuePart(text: string): TurnEvent | undefined {
    const { part } = this;
    const isPlain =
      part !== undefined &&
      this.#started &&
      !this.#omitting &&
      this.stopSequence === undefined &&
      this.#citations === undefined &&
      this.#call === undefined &&
      this.#waitingLogprobs.length === 0 &&
      !this.#stops.isWatching &&
      !this.#isHeld(part);
    if (!isPlain) return undefined;
    this.addEmitted(text);
    return { type: "part-delta", text };
  }

  addEmitted(text: string): void {
    this.text += text;
    const written = text.trimEnd().length;
    this.blankTail = text.length - written + (written === 0 ? this.blankTail : 0);
  }

  setHeld(kinds: readonly PartKind[]): void {
    this.#held.hold(kinds);
  }

  holds(kind: PartKind): boolean {
    return this.#held.holds(kind);
  }

  release(): TurnEvent[] {
    const released = this.#held.release();
    for (const event of released) {
      if (event.type === "part-start") this.#emitted[event.part.kind]++;
    }
    return released;
  }

  held(kind: PartKind): readonly HeldPart[] {
    return this.#held.parts(kind);
  }

  discard(...kinds: readonly PartKind[]): void {
    this.#held.discard(kinds);
    for (const kind of kinds) {
      if (!this.#held.holds(kind)) continue;
      this.#counts[kind] = this.#emitted[kind];
      if (kind === "content") this.#forgetStop();
    }
  }

  get answerText(): string {
    return this.last?.kind === "content" ? this.text : this.#answerBefore;
  }

  count(kind: PartKind): number {
    return this.#counts[kind];
  }

  get hasBuiltinCall(): boolean {
    return this.#completeCall !== undefined;
  }

  takeBuiltinCall(): WrittenCall | undefined {
    const call = this.#completeCall;
    this.#completeCall = undefined;
    return call;
  }

  #start(event: PartStart): void {
    const isClients =
      event.part === "tool-call" && this.#options.builtins?.recipientOf(event.name) === undefined;
    if (isClients && this.#options.refuses(event.name)) this.refused = event.name;
    const part = this.#toPart(event);
    this.#omitting = this.refused !== undefined || this.#options.omits.includes(event.part);
    if (this.#omitting) return;
    this.#answerBefore = this.answerText;
    this.part = part;
    this.last = part;
    this.text = "";
    this.blankTail = 0;
    this.#counts[part.kind]++;
    this.#stops.start(part.kind, this.#counts.content > 0);
    this.#citations = part.kind === "content" ? this.#createCitations() : undefined;
    this.#call = part.kind === "builtin-call" ? new OpenCall(event) : undefined;
    this.#started = false;
  }

  /** The answer that contained the stop string has been discarded. */
  #forgetStop(): void {
    if (this.stopSequence === undefined) return;
    this.#stops.forget();
    this.stopSequence = undefined;
    this.part = undefined;
  }

  #toPart(event: PartStart): Part {
    if (event.part === "tool-call") {
      const { name } = event;
      const id = this.#options.newCallId();
      const recipient = this.#options.builtins?.recipientOf(name);
      return recipient === undefined
        ? { kind: "tool-call", id, name, ...sampledHeader(event), ...this.#formOf(event) }
        : this.#toBuiltinCall({ id, name: recipient }, event);
    }
    if (event.part === "builtin-call") {
      return this.#toBuiltinCall({ id: this.#options.newCallId(), name: event.name }, event);
    }
    const folded = event.part === "preamble" && this.#options.foldPreambles;
    return { kind: folded ? "reasoning" : event.part };
  }

  #toBuiltinCall(call: { readonly id: string; readonly name: string }, event: PartStart): Part {
    const { builtins } = this.#options;
    return { ...toBuiltinPart(call, builtins, this.approved), ...this.#formOf(event) };
  }

  #formOf({ header }: PartStart): { readonly form?: string } {
    return this.choosesHeaders ? { form: formOf(header)?.name ?? "other" } : {};
  }

  #createCitations(): CitationFilter | undefined {
    const { builtins } = this.#options;
    this.#waitingCitations = [];
    return builtins && createCitationFilter(builtins.citations, builtins.cite);
  }

  #write(text: string, out: TurnEvent[]): void {
    if (text !== "") {
      this.#stops.remember(this.part?.kind, text);
      if (this.#citations) this.#writeCited(this.#citations.push(text), out);
      else if (this.#call) this.#writeCall(this.#call.push(text), out);
      else this.#show(text, out);
    }
    const { found } = this.#stops;
    if (found !== undefined && this.stopSequence === undefined) {
      this.stopSequence = found;
      if (this.#citations) this.#writeCited(this.#citations.end(), out);
      this.#showWaitingCitations(out);
      if (this.#started) this.#emit({ type: "part-end" }, out);
    }
  }

  #writeCited({ text, citations }: CitedText, out: TurnEvent[]): void {
    if (citations.length > 0) this.#waitingCitations = [...this.#waitingCitations, ...citations];
    if (text !== "") this.#show(text, out);
  }

  /** @param proven the text of a call that is certain. */
  #writeCall(proven: string, out: TurnEvent[]): void {
    if (proven !== "") this.#show(proven, out);
  }

  #show(text: string, out: TurnEvent[]): void {
    // A message without text, such as an empty analysis message or a call cut before its arguments, is nothing to show.
    if (!this.#started && this.part) this.#emit({ type: "part-start", part: this.part }, out);
    this.#started = true;
    this.addEmitted(text);
    this.#emit(
      { type: "part-delta", text, ...this.#drainLogprobs(), ...this.#takeCitations() },
      out,
    );
  }

  #takeCitations(): { readonly citations?: CitedText["citations"] } | undefined {
    if (this.#waitingCitations.length === 0) return undefined;
    const citations = this.#waitingCitations;
    this.#waitingCitations = [];
    return { citations };
  }

  /** Cut markers at the end of the answer have left no text to go with. */
  #showWaitingCitations(out: TurnEvent[]): void {
    if (this.#waitingCitations.length > 0) this.#show("", out);
  }

  #drainLogprobs(): { readonly logprobs?: readonly TokenLogprob[] } | undefined {
    if (this.part?.kind !== "content" || this.#waitingLogprobs.length === 0) return undefined;
    const logprobs = this.#waitingLogprobs;
    this.#waitingLogprobs = [];
    return { logprobs };
  }

  #end(out: TurnEvent[]): void {
    if (!this.#omitting) {
      this.#write(this.#stops.end(), out);
      if (this.#citations) this.#writeCited(this.#citations.end(), out);
      this.#showWaitingCitations(out);
      if (this.#call) this.#endCall(this.#call, out);
      if (this.#started) this.#emit({ type: "part-end" }, out);
      // It was cut before its arguments began: a complete call without any has `{}`.
      else if (this.part?.kind === "tool-call") this.#counts["tool-call"]--;
    }
    this.part = undefined;
    this.refused = undefined;
    this.#omitting = false;
  }

  #endCall(call: OpenCall, out: TurnEvent[]): void {
    const { part } = this;
    const rest = call.end();
    if (call.wasWrapped) this.#options.builtins?.onWrappedCode();
    // Also a call without a body is shown, because it will be run: not where it is held, and will be forgotten.
    const isRun = part !== undefined && !this.#isHeld(part);
    if (rest !== "" || (isRun && !this.#started)) this.#show(rest, out);
    if (part?.kind === "builtin-call") this.#completeCall = call.toWritten(part, this.text);
    this.#call = undefined;
  }

  #emit(event: TurnEvent, out: TurnEvent[]): void {
    const { part } = this;
    if (part && this.#isHeld(part)) {
      this.#held.push(part.kind, event);
    } else {
      if (event.type === "part-start") this.#emitted[event.part.kind]++;
      out.push(event);
    }
  }

  #isHeld(part: Part): boolean {
    if (!this.#held.holds(part.kind)) return false;
    // Calls without a check are not held: parts after them would be emitted first.
    return part.kind !== "tool-call" || this.#options.checks(part.name);
  }
}

/** The client's calls of tools of the model's training are put back into the prompt as they were sampled. */
function sampledHeader({ header, ...event }: PartStart): { readonly header?: CallHeader } {
  if (event.part !== "tool-call" || header?.order === undefined) return {};
  const { recipient, ...written } = header;
  return recipient === event.name && isBuiltInTool(event.name) ? { header: written } : {};
}
