/**
 * What is collected of a turn while it runs. Per token it costs two array entries: everything else is made from it when
 * somebody reads the record (`to-record.ts`).
 */
import type { CompletionRequest, EngineFinish, EngineTokens } from "../../engines/engine.ts";
import type { InputEnd } from "../../harmony/parse.ts";
import type { TokenId } from "../../tokenizer/index.ts";
import type { TurnFact, TurnRendered } from "../../turn/facts.ts";
import type { Decision, Outcome, Stage } from "../../turn/next-step.ts";
import type { BuiltinCallResult, Part, TurnEnd, TurnEvent } from "../../turn/turn.ts";
import type { RecordBudget } from "./limits.ts";

export interface DecisionNote {
  readonly ms: number;
  readonly decision: Decision;
  readonly outcome: Outcome;
}

export interface CallNote {
  /** Index in the decisions. */
  readonly decision: number;
  readonly stage: Stage;
  readonly request: CompletionRequest;
  readonly asked: number;
  readonly attempts: { readonly ms: number; readonly backend: string; error?: unknown }[];
  /** Parallel to `reads`. */
  readonly times: number[];
  /** A single plain id, as most reads are, or what came. */
  readonly reads: (TokenId | EngineTokens)[];
  engine: string | undefined;
  backend: string | undefined;
  opened: number | undefined;
  firstToken: number | undefined;
  ended: number | undefined;
  /** Units that the turn has used. */
  used: number;
  finish: EngineFinish | undefined;
  cachedTokens: number | undefined;
  error: unknown;
  /** The bound has been reached: further reads are left out. */
  isFull: boolean;
}

export type ParserNote =
  | { readonly type: "read"; readonly call: number; units: number }
  | { readonly type: "header"; readonly ids: readonly TokenId[] }
  | { readonly type: "end"; readonly reason: InputEnd }
  | { readonly type: "restart" }
  | { readonly type: "markers"; readonly markers: "shown" | "hidden" };

export interface EmittedNote {
  readonly part: Part;
  readonly started: number;
  ended: number | undefined;
}

export interface ResultNote {
  readonly ms: number;
  readonly result: BuiltinCallResult;
}

/** The outcome of a turn that did not end by itself. */
export interface Failure {
  readonly outcome: "failed" | "cancelled";
  readonly error: unknown;
}

/** Estimated bytes of a read that is a plain id, and of one that is not, without its ids or text. */
const ID_BYTES = 24;
const READ_BYTES = 160;
const TOKEN_BYTES = 12;

export class TurnRecording {
  rendered: TurnRendered | undefined;
  readonly decisions: DecisionNote[] = [];
  readonly calls: CallNote[] = [];
  readonly parser: ParserNote[] = [];
  readonly emitted: EmittedNote[] = [];
  readonly results: ResultNote[] = [];
  end: TurnEnd | undefined;
  failure: Failure | undefined;
  ended: number | undefined;
  readonly #now: () => number;
  readonly #budget: RecordBudget;

  /** @param now milliseconds since the request was accepted. */
  constructor(budget: RecordBudget, now: () => number) {
    this.#budget = budget;
    this.#now = now;
  }

  /** Called for every fact of the turn, each read included. Never throws. */
  readonly note = (fact: TurnFact): void => {
    const call = this.calls.at(-1);
    switch (fact.type) {
      case "ids":
      case "pieces":
      case "text":
        return call && this.#read(call, fact);
      case "parsed":
        return call && this.#parsed(call, unitsOf(fact.tokens));
      case "open":
        if (call === undefined) return;
        call.opened ??= this.#now();
        call.engine = fact.engine?.name ?? call.engine;
        return;
      case "finish":
        if (call === undefined) return;
        call.finish = fact;
        call.ended = this.#now();
        return;
      case "called":
        return this.#called(fact.stage, fact.request);
      case "attempt":
        call?.attempts.push({ ms: this.#now(), backend: fact.backend });
        if (call) call.backend = fact.backend;
        return;
      case "attempt-failed": {
        const last = call?.attempts.at(-1);
        if (last) last.error = fact.error;
        return;
      }
      case "call-failed":
        if (call === undefined) return;
        call.error = fact.error;
        call.ended = this.#now();
        return;
      case "rendered":
        if (this.#budget.take(fact.prompt.length * TOKEN_BYTES, "prompt", fact.prompt.length)) {
          this.rendered = fact;
        }
        return;
      case "decided":
        return this.#decided(fact.decision, fact.outcome);
      case "parsed-header":
        return this.#parser({ type: "header", ids: fact.ids }, fact.ids.length * TOKEN_BYTES);
      case "message-ended":
        return this.#parser({ type: "end", reason: fact.reason });
      case "restarted":
        return this.#parser({ type: "restart" });
      case "read-as":
        return this.#parser({ type: "markers", markers: fact.markers });
      default:
        fact satisfies never;
    }
  };

  /** Called for every event of the turn. */
  readonly noteEvent = (event: TurnEvent): void => {
    switch (event.type) {
      case "part-start":
        if (this.#budget.take(READ_BYTES, "parts", 1)) {
          this.emitted.push({ part: event.part, started: this.#now(), ended: undefined });
        }
        return;
      case "part-end": {
        const last = this.emitted.at(-1);
        if (last) last.ended = this.#now();
        return;
      }
      case "builtin-result": {
        const bytes = event.messages.reduce((sum, { content }) => sum + content.length * 2, 0);
        if (this.#budget.take(READ_BYTES + bytes, "tool results", 1)) {
          this.results.push({ ms: this.#now(), result: event });
        }
        return;
      }
      case "end":
        this.end = event;
        this.ended = this.#now();
        return;
      case "start":
      case "part-delta":
        return;
      default:
        event satisfies never;
    }
  };

  noteFailure(failure: Failure): void {
    if (this.end !== undefined) return;
    this.failure = failure;
    this.ended = this.#now();
    const call = this.calls.at(-1);
    if (call) call.ended ??= this.ended;
  }

  #read(call: CallNote, tokens: EngineTokens): void {
    const ms = this.#now();
    call.firstToken ??= ms;
    if (tokens.type === "ids" && tokens.cachedTokens !== undefined) {
      call.cachedTokens = tokens.cachedTokens;
    }
    if (call.isFull) return this.#budget.leaveOut("reads", unitsOf(tokens));
    // What was parsed of a read that is missing could not be placed: once one is left out, the rest is.
    call.isFull = !this.#budget.take(sizeOf(tokens), "reads", unitsOf(tokens));
    if (call.isFull) return;
    call.times.push(ms);
    call.reads.push(plainId(tokens) ?? tokens);
  }

  #parsed(call: CallNote, units: number): void {
    call.used += units;
    const index = this.calls.length - 1;
    const last = this.parser.at(-1);
    if (last?.type === "read" && last.call === index) last.units += units;
    else this.#parser({ type: "read", call: index, units });
  }

  #parser(note: ParserNote, bytes = 0): void {
    if (this.#budget.take(ID_BYTES + bytes, "parsing", 1)) this.parser.push(note);
  }

  #decided(decision: Decision, outcome: Outcome): void {
    const call = this.calls.at(-1);
    // A call that is cut has no finish: the next decision comes directly after it.
    if (call) call.ended ??= this.#now();
    if (this.#budget.take(READ_BYTES, "decisions", 1)) {
      this.decisions.push({ ms: this.#now(), decision, outcome });
    }
  }

  #called(stage: Stage, request: CompletionRequest): void {
    const ms = this.#now();
    const before = this.calls.at(-1);
    if (before) before.ended ??= ms;
    if (!this.#budget.take(READ_BYTES * 4, "calls", 1)) return;
    this.calls.push({
      decision: this.decisions.length - 1,
      stage,
      request,
      asked: ms,
      attempts: [],
      times: [],
      reads: [],
      engine: undefined,
      backend: undefined,
      opened: undefined,
      firstToken: undefined,
      ended: undefined,
      used: 0,
      finish: undefined,
      cachedTokens: undefined,
      error: undefined,
      isFull: false,
    });
  }
}

/** In what a call is counted: ids, pieces or characters. */
export function unitsOf(tokens: EngineTokens): number {
  switch (tokens.type) {
    case "ids":
      return tokens.ids.length;
    case "pieces":
      return tokens.pieces.length;
    case "text":
      return tokens.text.length;
    default:
      return tokens satisfies never;
  }
}

function plainId(tokens: EngineTokens): TokenId | undefined {
  if (tokens.type !== "ids" || tokens.ids.length !== 1 || tokens.logprobs) return undefined;
  return tokens.ids[0];
}

function sizeOf(tokens: EngineTokens): number {
  switch (tokens.type) {
    case "ids": {
      const { ids, logprobs = [] } = tokens;
      if (ids.length === 1 && logprobs.length === 0) return ID_BYTES;
      let bytes = READ_BYTES + ids.length * TOKEN_BYTES;
      for (const { top } of logprobs) bytes += READ_BYTES + top.length * READ_BYTES;
      return bytes;
    }
    case "pieces":
      return tokens.pieces.reduce(
        (sum, piece) => sum + READ_BYTES + ("text" in piece ? piece.text.length * 2 : 0),
        READ_BYTES,
      );
    case "text":
      return READ_BYTES + tokens.text.length * 2;
    default:
      return tokens satisfies never;
  }
}
