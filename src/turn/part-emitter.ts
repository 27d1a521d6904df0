/**
 * From what the parser proves to what the turn gives out.
 *
 * Calls get their ids here, stop strings are matched here (on the answer only), and here a part can be
 * held until it is known to be right.
 */
import type { TokenLogprob } from "../engines/engine.ts";
import type { ParseEvent } from "../harmony/parse.ts";
import { FIRST_SPECIAL_ID } from "../tokenizer/index.ts";
import { createStopMatcher, type StopMatcher } from "./stop-strings.ts";
import type { Part, TurnEvent } from "./turn.ts";

type PartKind = Part["kind"];
type PartStart = Extract<ParseEvent, { type: "part-start" }>;

export interface PartEmitter {
  /** Events for what the parser has just said. `logprobs` belong to the tokens of these events. */
  push(events: readonly ParseEvent[], logprobs?: readonly TokenLogprob[]): TurnEvent[];
  /** From now on, parts of these kinds are held, and no others. What is held already stays so. */
  setHeld(kinds: readonly PartKind[]): void;
  /** What was held, to be given out; nothing is held any more. */
  release(): TurnEvent[];
  /** The parts of this kind that are held, with their text so far. */
  held(kind: PartKind): readonly HeldPart[];
  /** Forget the parts of these kinds that were held, as if the model had never written them. Holding goes on. */
  discard(...kinds: readonly PartKind[]): void;
  holds(kind: PartKind): boolean;
  /** The name of a call that may not be made, until the message it stood in is over. */
  readonly refused: string | undefined;
  /** The part that is open. */
  readonly part: Part | undefined;
  /** The part that is open, or else was last. */
  readonly last: Part | undefined;
  /** The text given out or held of that part. */
  readonly text: string;
  /** The same of the part of the answer that is open, or else was last. */
  readonly answerText: string;
  /** Parts begun so far. Neither discarded ones are counted nor calls cut before their arguments. */
  count(kind: PartKind): number;
  /** The stop string that was met. Everything after it is ignored. */
  readonly stopSequence: string | undefined;
}

interface HeldPart {
  readonly part: Part;
  readonly text: string;
}

interface PartEmitterOptions {
  readonly stop: readonly string[];
  /** Between preamble and answer, where they are one text to the client. */
  readonly textSeparator: string | undefined;
  readonly newCallId: () => string;
  /**
   * Show preambles as reasoning: beside an answer that must be a document, text for the user would make
   * it none.
   */
  readonly foldPreambles: boolean;
  /** Parts of these kinds are left out as if the model had not written them. */
  readonly omits: readonly PartKind[];
  /** Calls that may not be made: they are left out too, and `refused` says so. */
  readonly refuses: (name: string) => boolean;
  /** Calls whose arguments will be checked: no others are held. */
  readonly checks: (name: string) => boolean;
}

export function createPartEmitter(options: PartEmitterOptions): PartEmitter {
  return new Emitter(options);
}

class Emitter implements PartEmitter {
  part: Part | undefined;
  last: Part | undefined;
  text = "";
  refused: string | undefined;
  stopSequence: string | undefined;
  readonly #options: PartEmitterOptions;
  readonly #counts: Record<PartKind, number> = {
    reasoning: 0,
    preamble: 0,
    content: 0,
    "tool-call": 0,
  };
  /** Parts that were given out, and cannot be discarded. */
  readonly #given: Record<PartKind, number> = {
    reasoning: 0,
    preamble: 0,
    content: 0,
    "tool-call": 0,
  };
  /** The text of the last part of the answer, when others have begun since. */
  #answerBefore = "";
  /** The part that the parser has open is left out. */
  #omitting = false;
  /** The start of the open part has been given out. */
  #shown = false;
  #matcher: StopMatcher | undefined;
  /** The end of the text shown before this part: so much of it as a stop string can begin in. Undefined: none was. */
  #textBefore: string | undefined;
  /** What the matcher was shown of that text, and has not yet given back. */
  #shownBefore = 0;
  /** How a preamble behind an answer begins, until it is known whether a stop string reaches into it. */
  #behindAnswer: string | undefined;
  #waitingLogprobs: TokenLogprob[] = [];
  #holding: ReadonlySet<PartKind> = new Set();
  #held: { readonly kind: PartKind; readonly event: TurnEvent }[] = [];

  constructor(options: PartEmitterOptions) {
    this.#options = options;
  }

  push(events: readonly ParseEvent[], logprobs?: readonly TokenLogprob[]): TurnEvent[] {
    // The header's tokens come before the part is open, the terminator's is special.
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
          if (!this.#omitting) this.#write(this.#beforeStop(event.text), out);
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

  setHeld(kinds: readonly PartKind[]): void {
    this.#holding = new Set(kinds);
  }

  holds(kind: PartKind): boolean {
    return this.#holding.has(kind);
  }

  release(): TurnEvent[] {
    const released = this.#held.map(({ event }) => event);
    for (const event of released) {
      if (event.type === "part-start") this.#given[event.part.kind]++;
    }
    this.#held = [];
    this.#holding = new Set();
    return released;
  }

  held(kind: PartKind): readonly HeldPart[] {
    const parts: { part: Part; text: string }[] = [];
    for (const each of this.#held) {
      if (each.kind !== kind) continue;
      const { event } = each;
      const current = parts.at(-1);
      if (event.type === "part-start") parts.push({ part: event.part, text: "" });
      else if (event.type === "part-delta" && current) current.text += event.text;
    }
    return parts;
  }

  discard(...kinds: readonly PartKind[]): void {
    this.#held = this.#held.filter(({ kind }) => !kinds.includes(kind));
    for (const kind of kinds) {
      if (!this.#holding.has(kind)) continue;
      this.#counts[kind] = this.#given[kind];
      if (kind === "content") this.#forgetStop();
    }
  }

  get answerText(): string {
    return this.last?.kind === "content" ? this.text : this.#answerBefore;
  }

  count(kind: PartKind): number {
    return this.#counts[kind];
  }

  #start(event: PartStart): void {
    if (event.part === "tool-call" && this.#options.refuses(event.name)) this.refused = event.name;
    this.#omitting = this.refused !== undefined || this.#options.omits.includes(event.part);
    if (this.#omitting) return;
    const part = this.#toPart(event);
    this.#answerBefore = this.answerText;
    this.part = part;
    this.last = part;
    this.text = "";
    this.#counts[part.kind]++;
    const stoppable = part.kind === "content" && this.#options.stop.length > 0;
    this.#matcher = stoppable ? this.#createMatcher() : undefined;
    this.#behindAnswer =
      part.kind === "preamble" && this.#counts.content > 0 && this.#textBefore !== undefined
        ? ""
        : undefined;
    this.#shown = false;
  }

  /** It begins with the end of the text before, so that a stop string is found across the separator. */
  #createMatcher(): StopMatcher {
    const { stop, textSeparator } = this.#options;
    const matcher = createStopMatcher(stop);
    this.#shownBefore = 0;
    if (textSeparator !== undefined && this.#textBefore !== undefined) {
      const before = this.#textBefore + textSeparator;
      this.#shownBefore = before.length - matcher.push(before).length;
    }
    return matcher;
  }

  /** What of the text is certainly before any stop string. */
  #beforeStop(text: string): string {
    if (this.#behindAnswer !== undefined) return this.#unlessStopped(text, false);
    if (this.#matcher === undefined) return text;
    return this.#withoutBefore(this.#matcher.push(text));
  }

  /** A stop string that begins in the answer, or right behind it, ends the answer before the preamble is shown. */
  #unlessStopped(text: string, isWhole: boolean): string {
    const begun = (this.#behindAnswer ?? "") + text;
    const { stop, textSeparator = "" } = this.#options;
    const before = (this.#textBefore ?? "") + textSeparator;
    const found = stop.find((each) => each !== "" && isAcross(before, begun, each));
    if (found === undefined && !isWhole && begun.length < longestOf(stop)) {
      this.#behindAnswer = begun;
      return "";
    }
    this.#behindAnswer = undefined;
    this.stopSequence = found;
    return found === undefined ? begun : "";
  }

  #withoutBefore(text: string): string {
    if (this.#shownBefore === 0) return text;
    const before = Math.min(this.#shownBefore, text.length);
    this.#shownBefore -= before;
    return text.slice(before);
  }

  /** The answer in which it was met has been discarded. */
  #forgetStop(): void {
    if (this.stopSequence === undefined) return;
    this.stopSequence = undefined;
    this.part = undefined;
  }

  #toPart(event: PartStart): Part {
    if (event.part === "tool-call") {
      return { kind: "tool-call", id: this.#options.newCallId(), name: event.name };
    }
    const folded = event.part === "preamble" && this.#options.foldPreambles;
    return { kind: folded ? "reasoning" : event.part };
  }

  #write(text: string, out: TurnEvent[]): void {
    if (text !== "") {
      // A message without text, such as an empty thought or a call cut before its arguments, is nothing to show.
      if (!this.#shown && this.part) this.#give({ type: "part-start", part: this.part }, out);
      this.#shown = true;
      this.text += text;
      if (this.#options.textSeparator !== undefined) this.#rememberText(text);
      this.#give({ type: "part-delta", text, ...this.#takeLogprobs() }, out);
    }
    const matched = this.#matcher?.matched;
    if (matched !== undefined && this.stopSequence === undefined) {
      this.stopSequence = matched;
      if (this.#shown) this.#give({ type: "part-end" }, out);
    }
  }

  #rememberText(text: string): void {
    const kind = this.part?.kind;
    const { stop } = this.#options;
    if (stop.length === 0 || (kind !== "preamble" && kind !== "content")) return;
    const whole = (this.#textBefore ?? "") + text;
    this.#textBefore = whole.slice(Math.max(0, whole.length - longestOf(stop) + 1));
  }

  #takeLogprobs(): { readonly logprobs?: readonly TokenLogprob[] } | undefined {
    if (this.part?.kind !== "content" || this.#waitingLogprobs.length === 0) return undefined;
    const logprobs = this.#waitingLogprobs;
    this.#waitingLogprobs = [];
    return { logprobs };
  }

  #end(out: TurnEvent[]): void {
    if (!this.#omitting) {
      this.#write(this.#rest(), out);
      if (this.#shown) this.#give({ type: "part-end" }, out);
      // It was cut before its arguments began: a complete call without any has `{}`.
      else if (this.part?.kind === "tool-call") this.#counts["tool-call"]--;
    }
    this.part = undefined;
    this.refused = undefined;
    this.#omitting = false;
  }

  /** What was held back of the text that is over. */
  #rest(): string {
    if (this.#behindAnswer !== undefined) return this.#unlessStopped("", true);
    return this.#withoutBefore(this.#matcher?.end() ?? "");
  }

  #give(event: TurnEvent, out: TurnEvent[]): void {
    const { part } = this;
    if (part && this.#isHeld(part)) {
      this.#held.push({ kind: part.kind, event });
    } else {
      if (event.type === "part-start") this.#given[event.part.kind]++;
      out.push(event);
    }
  }

  #isHeld(part: Part): boolean {
    if (!this.#holding.has(part.kind)) return false;
    // What follows a call that nothing is checked of would overtake it.
    return part.kind !== "tool-call" || this.#options.checks(part.name);
  }
}

function longestOf(stop: readonly string[]): number {
  return Math.max(...stop.map((each) => each.length));
}

/** Whether the string begins in the first text, and may end in the second. */
function isAcross(first: string, second: string, searched: string): boolean {
  const at = (first + second).indexOf(searched);
  return at >= 0 && at < first.length;
}
