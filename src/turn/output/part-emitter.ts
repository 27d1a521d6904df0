/**
 * Converts parser events to turn events, in steps: parts (`to-part.ts`), their text up to a stop string
 * (`part-stops.ts`), citations and calls in the text, and events (`open-part.ts`), which are held until they have been
 * checked (`event-hold.ts`).
 */
import type { TokenLogprob } from "../../engines/engine.ts";
import type { ParseEvent } from "../../harmony/parse.ts";
import type { PartStart } from "../../harmony/parts.ts";
import { FIRST_SPECIAL_ID } from "../../tokenizer/index.ts";
import type { SampledStep } from "../../harmony/sampled-step.ts";
import type { ApprovedCall, OfferedTool, Part, TurnEvent } from "../turn.ts";
import { createCitationFilter, type TextReader } from "./citations.ts";
import { toClientCalls } from "./client-calls.ts";
import { EventHold, type HeldPart } from "./event-hold.ts";
import { type EmittedGatewayTools, OpenCall, type WrittenCall } from "./open-call.ts";
import { OpenPart } from "./open-part.ts";
import { PartStops, type PartStopsOptions } from "./part-stops.ts";
import { type PartOptions, type PartOrigin, toPart } from "./to-part.ts";

type PartKind = Part["kind"];

export interface PartEmitterOptions extends PartStopsOptions, PartOptions {
  /** Parts of these kinds are dropped. */
  readonly omits: readonly PartKind[];
  /** Whether a call is not allowed. Such calls are dropped and reported in `refused`. */
  readonly refuses: (name: string) => boolean;
  /** Called at the end of a client's call. Returns the step sampled for it. */
  readonly cutStep: () => SampledStep;
  /** Whether the arguments of a call are checked. Only such calls are held. */
  readonly checks: (name: string) => boolean;
  /** Finds the tool of a call that the client knows by another name and other arguments. */
  readonly findMapped: (name: string) => OfferedTool | undefined;
}

export class PartEmitter implements PartOrigin {
  /** The approved call, if the next call is one that the client has approved. */
  approved: ApprovedCall | undefined;
  /** Whether the model chooses the form of headers. False while the gateway or a constraint writes them. */
  choosesHeaders = true;
  readonly #options: PartEmitterOptions;
  /** Absent: nothing ends an answer. */
  readonly #stops: PartStops | undefined;
  readonly #hold: EventHold;
  readonly #counts = new Map<PartKind, number>();
  /** Undefined also while the parser's open part is dropped. */
  #open: OpenPart | undefined;
  /** The open part, or else the last one. */
  #last: OpenPart | undefined;
  #lastAnswer: OpenPart | undefined;
  /** The last part that the model wrote, dropped or not. */
  #lastWritten: PartStart["part"] | undefined;
  #refused: string | undefined;
  #stopSequence: string | undefined;
  /** The open call, if the gateway runs it. */
  #call: OpenCall | undefined;
  #completeCall: WrittenCall | undefined;
  /** Log probabilities of the answer's tokens whose text has not been emitted. */
  #logprobs: TokenLogprob[] = [];

  constructor(options: PartEmitterOptions) {
    this.#options = options;
    if (options.stop.length > 0) this.#stops = new PartStops(options);
    this.#hold = new EventHold(options.checks);
  }

  /** The open part. */
  get part(): Part | undefined {
    return this.#open?.part;
  }

  /** The open part, or else the last one. */
  get last(): Part | undefined {
    return this.#last?.part;
  }

  /** Text of `last` so far, emitted or held. */
  get text(): string {
    return this.#last?.text ?? "";
  }

  /** Characters of white space at the end of the text. */
  get blankTail(): number {
    return this.#last?.blankTail ?? 0;
  }

  /** Whether the last message that the model has begun is a preamble with text. */
  get endsInPreamble(): boolean {
    return this.#lastWritten === "preamble" && this.blankTail < this.text.length;
  }

  /** Text of the open answer part, or else the last one. */
  get answerText(): string {
    return this.#lastAnswer?.text ?? "";
  }

  /** Name of a call that is not allowed. Set until the message it is in ends. */
  get refused(): string | undefined {
    return this.#refused;
  }

  /** The stop string that was found. All text after it is ignored. */
  get stopSequence(): string | undefined {
    return this.#stopSequence;
  }

  /** Returns the turn events for these parser events. `logprobs` belong to the tokens of these events. */
  push(events: readonly ParseEvent[], logprobs?: readonly TokenLogprob[]): TurnEvent[] {
    // Tokens of the header come before the part opens; the terminator is a special token.
    if (logprobs && this.part?.kind === "content") {
      this.#logprobs.push(...logprobs.filter((each) => each.id < FIRST_SPECIAL_ID));
    }
    const out: TurnEvent[] = [];
    for (const event of events) {
      if (this.#stopSequence !== undefined) break;
      switch (event.type) {
        case "part-start":
          this.#start(event);
          break;
        case "part-delta":
          if (this.#open) this.#write(this.#open, this.#stops?.push(event.text) ?? event.text, out);
          break;
        case "part-end":
          this.#end(out);
          break;
        default:
          event satisfies never;
      }
    }
    if (this.part?.kind !== "content") this.#logprobs = [];
    return out;
  }

  /** Whether text that only continues the open part becomes one unchanged delta. Arguments may be repaired. */
  get isPassedOn(): boolean {
    const open = this.#open;
    return (
      open?.isPlain === true &&
      open.part.kind !== "tool-call" &&
      this.#stops === undefined &&
      this.#logprobs.length === 0 &&
      !this.#hold.holdsPart(open.part)
    );
  }

  /** Number of parts begun. Discarded parts, empty answers and calls cut before their arguments are not counted. */
  count(kind: PartKind): number {
    return this.#counts.get(kind) ?? 0;
  }

  /** Whether a gateway call is complete and has not been taken. */
  get hasGatewayCall(): boolean {
    return this.#completeCall !== undefined;
  }

  /** Returns the complete gateway call and forgets it. */
  takeGatewayCall(): WrittenCall | undefined {
    const call = this.#completeCall;
    this.#completeCall = undefined;
    return call;
  }

  /** Holds further parts of these kinds, and no others. Parts already held stay held. */
  setHeld(kinds: readonly PartKind[]): void {
    this.#hold.hold(kinds);
  }

  holds(kind: PartKind): boolean {
    return this.#hold.holds(kind);
  }

  /** The held parts of this kind, with their text so far. */
  held(kind: PartKind): readonly HeldPart[] {
    return this.#hold.parts(kind);
  }

  /**
   * Returns all held events and stops holding.
   * @param isCut there were no more tokens, so the last call may be incomplete
   */
  release(isCut = false): TurnEvent[] {
    const events = this.#hold.release();
    return events.length === 0 ? events : toClientCalls(events, this.#options.findMapped, isCut);
  }

  /**
   * Discards the held parts of these kinds as if the model had never written them. Further parts are still
   * held.
   */
  discard(...kinds: readonly PartKind[]): void {
    this.#hold.discard(kinds);
    for (const kind of kinds) {
      if (!this.#hold.holds(kind)) continue;
      this.#counts.set(kind, this.#hold.emitted(kind));
      if (kind === "content") this.#forgetStop();
    }
  }

  /** Called when the answer that contained the stop string has been discarded. */
  #forgetStop(): void {
    if (this.#stopSequence === undefined) return;
    this.#stops?.forget();
    this.#stopSequence = undefined;
    this.#open = undefined;
  }

  #start(event: PartStart): void {
    const { gatewayTools, omits, refuses } = this.#options;
    const isClients =
      event.part === "tool-call" && gatewayTools?.recipientOf(event.name) === undefined;
    if (isClients && refuses(event.name)) this.#refused = event.name;
    this.#lastWritten = event.part;
    const part = toPart(event, this.#options, this);
    if (this.#refused !== undefined || omits.includes(event.part)) return;
    this.#counts.set(part.kind, this.count(part.kind) + 1);
    this.#stops?.start(part.kind, this.count("content") > 0);
    this.#call = part.kind === "builtin-call" ? new OpenCall(event) : undefined;
    const citations = gatewayTools && toCitationFilter(part.kind, gatewayTools);
    this.#open = new OpenPart(part, citations ?? this.#call);
    this.#last = this.#open;
    if (part.kind === "content") this.#lastAnswer = this.#open;
  }

  #write(open: OpenPart, text: string, out: TurnEvent[]): void {
    const { part } = open;
    if (text !== "") {
      this.#stops?.remember(part.kind, text);
      this.#hold.pass(part, open.write(text, this.#logprobsOf(part)), out);
    }
    const found = this.#stops?.found;
    if (found !== undefined && this.#stopSequence === undefined) {
      this.#stopSequence = found;
      this.#hold.pass(part, open.end(this.#logprobsOf(part)), out);
    }
  }

  #end(out: TurnEvent[]): void {
    const open = this.#open;
    if (open) {
      this.#write(open, this.#stops?.end() ?? "", out);
      this.#endPart(open, out);
    }
    this.#open = undefined;
    this.#refused = undefined;
  }

  #endPart(open: OpenPart, out: TurnEvent[]): void {
    const { part } = open;
    // A call without a body is run too, unless it is held and will be discarded.
    const isRun = this.#call !== undefined && !this.#hold.holdsPart(part);
    const events = open.end(this.#logprobsOf(part), isRun);
    this.#hold.pass(part, this.#withStep(open, events), out);
    if (this.#call?.wasWrapped) this.#options.gatewayTools?.onWrappedCode();
    if (part.kind === "builtin-call") this.#completeCall = this.#call?.toWritten(part, open.text);
    this.#call = undefined;
    // A call without text was cut before its arguments began: a complete call without arguments has `{}`.
    if ((part.kind === "tool-call" || part.kind === "content") && !open.isStarted) {
      this.#counts.set(part.kind, this.count(part.kind) - 1);
    }
  }

  /** Adds the sampled step to the end event of a client's call. */
  #withStep({ part, isStarted }: OpenPart, events: readonly TurnEvent[]): TurnEvent[] {
    if (part.kind !== "tool-call" || !isStarted) return [...events];
    const sampled = this.#options.cutStep();
    return events.map((event) => (event.type === "part-end" ? { ...event, sampled } : event));
  }

  #logprobsOf({ kind }: Part): TokenLogprob[] {
    return kind === "content" ? this.#logprobs : [];
  }
}

/**
 * The filter of an answer creates citations. In a preamble, where the model may also write markers, it only removes
 * them.
 */
function toCitationFilter(
  kind: Part["kind"],
  { citations, cite }: EmittedGatewayTools,
): TextReader | undefined {
  if (kind === "content") return createCitationFilter(citations, cite);
  if (kind !== "preamble" || citations === "raw") return undefined;
  return createCitationFilter("cut", () => undefined);
}
