/**
 * Emits the parser's parts, in order and as soon as they are certain.
 *
 * Three things are held back: text outside messages, because only later input shows whether it is reasoning or the
 * answer (rule S4); a call after a call, until it is complete (S6); and the end of arguments (R5).
 */
import { ArgumentsFilter } from "./arguments.ts";
import { CallDoubt, type CallProof } from "./call-doubt.ts";
import type { PartHeader } from "./call-form.ts";
import type { Recovery } from "./recoveries.ts";

/** The kind of a message. Each message is one part. */
export type PartKind = "reasoning" | "preamble" | "content" | "tool-call" | "builtin-call";

/** Parts never overlap: `part-start`, any number of `part-delta`, `part-end`. No delta is empty. */
export type ParseEvent =
  | {
      readonly type: "part-start";
      readonly part: "reasoning" | "preamble" | "content";
      readonly header?: PartHeader;
    }
  /** `name` is without `functions.`; the deltas are the arguments. */
  | {
      readonly type: "part-start";
      readonly part: "tool-call";
      readonly name: string;
      readonly header?: PartHeader;
    }
  /**
   * A tool offered in the system message. `name`: `python`, `browser.search`. The deltas are arguments, or code
   * exactly as written.
   */
  | {
      readonly type: "part-start";
      readonly part: "builtin-call";
      readonly name: string;
      readonly rawBody: boolean;
      readonly header?: PartHeader;
    }
  /** Text of the open part. */
  | { readonly type: "part-delta"; readonly text: string }
  | { readonly type: "part-end" };

/** Ordinary tokens in bodies, by kind of part. */
export interface BodyTokens {
  readonly reasoning: number;
  readonly preamble: number;
  readonly content: number;
  readonly toolCall: number;
  readonly builtinCall: number;
}

export type PartStart = Extract<ParseEvent, { type: "part-start" }>;

interface Outside {
  readonly type: "outside";
  readonly text: string;
  readonly tokens: number;
}

interface OpenPart {
  readonly start: PartStart;
  /** Whether text other than white space has been read. */
  isVisible: boolean;
  /** Repairs JSON arguments. */
  readonly filter: ArgumentsFilter | undefined;
  /** The text so far, while the part may still be discarded. */
  withheld: string | undefined;
}

export class Parts {
  readonly tokens = { reasoning: 0, preamble: 0, content: 0, toolCall: 0, builtinCall: 0 };
  readonly #maxHeldLength: number;
  readonly #recover: (recovery: Recovery) => void;
  #events: ParseEvent[] = [];
  /** Text of the open part that is not in `#events` yet, so that one push gives one delta. */
  #delta = "";
  #open: OpenPart | undefined;
  #doubt: CallDoubt<PartStart> | undefined;
  /** Text outside messages, and the reasoning after it, which keeps its position. */
  #held: (Outside | ParseEvent)[] = [];
  #heldLength = 0;
  #hasResult = false;

  constructor(maxHeldLength: number, recover: (recovery: Recovery) => void) {
    this.#maxHeldLength = maxHeldLength;
    this.#recover = recover;
  }

  /** The open part, as seen by the consumer of the events. */
  get open(): PartKind | undefined {
    return this.#open?.withheld === undefined ? this.#open?.start.part : undefined;
  }

  /** Whether an answer or a call has been completed. */
  get hasResult(): boolean {
    return this.#hasResult;
  }

  get hasOutside(): boolean {
    return this.#held.length > 0;
  }

  get isCall(): boolean {
    const part = this.#open?.start.part;
    return part === "tool-call" || part === "builtin-call";
  }

  /** Whether text of the open part becomes its next delta at once. */
  get isPassedOn(): boolean {
    return (
      this.#held.length === 0 && this.#doubt === undefined && this.#open?.withheld === undefined
    );
  }

  /**
   * Opens a part. `isTentative`: a call that is emitted only if it is complete. `isText`: a call whose body is not
   * JSON.
   */
  start(start: PartStart, isTentative: boolean, isText = false): void {
    if (start.part !== "reasoning" && !isTentative) this.#showHeld("reasoning");
    const filter = !isText && hasArguments(start) ? new ArgumentsFilter() : undefined;
    this.#open = { start, filter, isVisible: false, withheld: isTentative ? "" : undefined };
    if (!isTentative) this.#emit(start);
  }

  /** Opens a part that is a call only if its body proves it. `toStart` creates its start. */
  startInDoubt(proof: CallProof, toStart: (isCall: boolean) => PartStart): void {
    this.#doubt = new CallDoubt(proof, this.#maxHeldLength, toStart);
  }

  /** Decides about a part in doubt whose body is complete. */
  settle(): void {
    const doubt = this.#doubt;
    if (doubt !== undefined) this.#settle(doubt, doubt.end());
  }

  /** Adds text to the open part. */
  write(text: string): void {
    const open = this.#open;
    if (open === undefined) {
      const isCall = this.#doubt?.push(text);
      if (this.#doubt && isCall !== undefined) this.#settle(this.#doubt, isCall);
      return;
    }
    const proven = open.filter === undefined ? text : open.filter.push(text);
    open.isVisible ||= /\S/.test(proven);
    if (open.withheld === undefined) {
      this.#delta += proven;
      return;
    }
    open.withheld += proven;
    // The text is too long to hold back and is emitted, complete or not.
    if (open.withheld.length > this.#maxHeldLength) this.#release(open);
  }

  count(tokens: number): void {
    if (this.#doubt !== undefined) this.#doubt.tokens += tokens;
    const part = this.#open?.start.part;
    if (part !== undefined) this.tokens[COUNTED_AS[part]] += tokens;
  }

  /**
   * Closes the open part. Returns whether it was an answer or a call. `isCut`: the model had not finished it.
   */
  end(isCut: boolean): boolean {
    const open = this.#open;
    if (open === undefined) return false;
    const { filter } = open;
    if (open.withheld !== undefined) {
      if (isCut && filter?.isComplete !== true) {
        this.#open = undefined;
        this.#recover("after-call");
        return false;
      }
      this.#release(open);
    }
    // Truncated arguments may not be empty.
    if (filter?.isEmpty === true && !isCut) this.#delta += "{}";
    if (filter?.hasExtraBrackets === true) this.#recover("extra-brackets");
    this.#emit({ type: "part-end" });
    this.#open = undefined;
    const { part } = open.start;
    const isResult =
      part === "tool-call" || part === "builtin-call" || (part === "content" && open.isVisible);
    this.#hasResult ||= isResult;
    return isResult;
  }

  /** Adds text outside messages. */
  addOutside(text: string, tokens: number): void {
    this.#recover("text-outside");
    this.#flush();
    this.#held.push({ type: "outside", text, tokens });
    this.#hold(text.length);
  }

  /** Ends the turn: text outside messages was the answer. */
  finish(): void {
    this.#showHeld("content");
  }

  /** Returns and removes the events since the last call. */
  drain(): ParseEvent[] {
    this.#flush();
    const events = this.#events;
    this.#events = [];
    return events;
  }

  #settle({ toStart, text, tokens }: CallDoubt<PartStart>, isCall: boolean): void {
    this.#doubt = undefined;
    this.start(toStart(isCall), false);
    this.count(tokens);
    this.write(text);
  }

  #hold(length: number): void {
    this.#heldLength += length;
    if (this.#heldLength > this.#maxHeldLength) this.#showHeld("reasoning");
  }

  /** Emits the held text outside messages as this kind of part. */
  #showHeld(part: "reasoning" | "content"): void {
    this.#flush();
    const held = this.#held;
    this.#held = [];
    this.#heldLength = 0;
    for (const each of held) {
      if (each.type === "outside") this.#put(part, each);
      else if (each.type === "part-delta") this.#delta += each.text;
      else this.#emit(each);
    }
    this.#flush();
  }

  #put(part: "reasoning" | "content", { text, tokens }: Outside): void {
    this.#emit({ type: "part-start", part });
    this.#delta += part === "reasoning" ? text.trim() : text;
    this.#emit({ type: "part-end" });
    this.tokens[part] += tokens;
  }

  #release(open: OpenPart): void {
    this.#showHeld("reasoning");
    this.#emit(open.start);
    this.#delta += open.withheld ?? "";
    open.withheld = undefined;
  }

  #emit(event: ParseEvent): void {
    this.#flush();
    if (this.#held.length === 0) this.#events.push(event);
    else this.#held.push(event);
  }

  #flush(): void {
    if (this.#delta === "") return;
    const delta = { type: "part-delta", text: this.#delta } as const;
    this.#delta = "";
    if (this.#held.length === 0) {
      this.#events.push(delta);
    } else {
      this.#held.push(delta);
      this.#hold(delta.text.length);
    }
  }
}

const COUNTED_AS = {
  reasoning: "reasoning",
  preamble: "preamble",
  content: "content",
  "tool-call": "toolCall",
  "builtin-call": "builtinCall",
} as const satisfies Record<PartKind, keyof BodyTokens>;

function hasArguments(start: PartStart): boolean {
  return start.part === "tool-call" || (start.part === "builtin-call" && !start.rawBody);
}
