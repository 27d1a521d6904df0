/** Collects the facts of a running turn. `to-record.ts` computes the rest when the record is read. */
import type {
  CompletionRequest,
  EngineFinish,
  EngineProgress,
  EngineTokens,
} from "../../engines/engine.ts";
import type { InputEnd } from "../../harmony/parse.ts";
import type { TokenId } from "../../tokenizer/index.ts";
import type { OnFact, TurnCited, TurnFact, TurnRendered } from "../../turn/facts.ts";
import type { Decision, Outcome, Stage } from "../../turn/steering/decision.ts";
import type { GatewayCallResult, Part, TurnEnd } from "../../turn/turn.ts";
import type { RecordBudget } from "./limits.ts";
import { ReadLog, unitsOf } from "./read-log.ts";

export interface DecisionNote {
  readonly ms: number;
  readonly decision: Decision;
  readonly outcome: Outcome;
}

export interface CallNote {
  /** Index of the decision for this call. */
  readonly decision: number;
  readonly stage: Stage;
  readonly request: CompletionRequest;
  readonly asked: number;
  readonly attempts: { readonly ms: number; readonly backend: string; error?: unknown }[];
  readonly reads: ReadLog;
  engine: string | undefined;
  backend: string | undefined;
  opened: number | undefined;
  firstToken: number | undefined;
  /** The latest progress. */
  progress: EngineProgress | undefined;
  ended: number | undefined;
  /** The number of units that the turn has parsed. */
  used: number;
  finish: EngineFinish | undefined;
  cachedTokens: number | undefined;
  error: unknown;
}

export type ParserNote =
  | { readonly type: "read"; readonly call: number; units: number }
  | { readonly type: "header"; readonly ids: readonly TokenId[] }
  | { readonly type: "end"; readonly reason: InputEnd }
  | { readonly type: "restart" }
  | { readonly type: "markers"; readonly markers: "shown" | "hidden" };

interface EmittedNote {
  readonly part: Part;
  readonly started: number;
  ended: number | undefined;
}

interface ResultNote {
  readonly ms: number;
  readonly result: GatewayCallResult;
}

/** The outcome of a turn that did not end normally. */
interface Failure {
  readonly outcome: "failed" | "rejected" | "cancelled";
  /** Undefined: the turn has not failed. */
  readonly error: unknown;
}

/** Estimated size of an object's texts, in bytes. A tool's result may be large. */
function sizeOf(value: object): number {
  let bytes = 0;
  for (const member of Object.values(value) as unknown[]) {
    if (typeof member === "string") bytes += member.length * 2;
    else if (typeof member === "object" && member !== null) bytes += sizeOf(member);
  }
  return bytes;
}

/** The number of tokens, if reported by the engine: otherwise a text counts as one. */
function tokensOf(tokens: EngineTokens): number {
  switch (tokens.type) {
    case "ids":
      return tokens.ids.length;
    case "pieces":
      return tokens.counts.reduce((sum, count) => sum + count, 0);
    case "text":
      return tokens.tokens ?? 1;
    default:
      return tokens satisfies never;
  }
}

type EmittedEvent = Extract<TurnFact, { type: "emitted" }>["event"];

/** Estimated sizes of a note, and of each id in it, in bytes. */
const NOTE_BYTES = 160;
const PARSER_NOTE_BYTES = 24;
const TOKEN_BYTES = 12;

export class TurnRecording {
  rendered: TurnRendered | undefined;
  readonly decisions: DecisionNote[] = [];
  readonly calls: CallNote[] = [];
  readonly parser: ParserNote[] = [];
  readonly emitted: EmittedNote[] = [];
  readonly results: ResultNote[] = [];
  readonly cited: TurnCited[] = [];
  end: TurnEnd | undefined;
  failure: Failure | undefined;
  ended: number | undefined;
  /** Number of tokens that the engine has written so far, kept or not. */
  written = 0;
  readonly #budget: RecordBudget;
  readonly #elapsed: Elapsed;
  #call: CallNote | undefined;
  /** The last note of `parser`, while it counts units of the current call. */
  #parsing: Extract<ParserNote, { type: "read" }> | undefined;

  constructor(budget: RecordBudget, elapsed: Elapsed) {
    this.#budget = budget;
    this.#elapsed = elapsed;
  }

  /** Never throws. */
  readonly onFact: OnFact = (fact) => {
    const call = this.#call;
    switch (fact.type) {
      case "ids":
      case "pieces":
      case "text":
        if (call !== undefined) this.#read(call, fact);
        return;
      case "parsed":
        if (call !== undefined) this.#parsed(call, unitsOf(fact.tokens));
        return;
      case "open":
        if (call === undefined) return;
        call.opened ??= this.#elapsed();
        call.engine = fact.engine?.name ?? call.engine;
        return;
      case "progress":
        if (call !== undefined) call.progress = fact;
        return;
      case "finish":
        if (call === undefined) return;
        call.finish = fact;
        call.ended = this.#elapsed();
        return;
      case "called":
        return this.#called(fact.stage, fact.request);
      case "attempt":
        call?.attempts.push({ ms: this.#elapsed(), backend: fact.backend });
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
        call.ended = this.#elapsed();
        return;
      case "rendered":
        if (this.#budget.take(fact.prompt.length * TOKEN_BYTES, "prompt", fact.prompt.length)) {
          this.rendered = fact;
        }
        return;
      case "decided":
        return this.#decided(fact.decision, fact.outcome);
      case "emitted":
        return this.#emitted(fact.event);
      case "parsed-header":
        this.#parser({ type: "header", ids: fact.ids }, fact.ids.length * TOKEN_BYTES);
        return;
      case "message-ended":
        this.#parser({ type: "end", reason: fact.reason });
        return;
      case "restarted":
        this.#parser({ type: "restart" });
        return;
      case "cited":
        if (this.#budget.take(NOTE_BYTES + sizeOf(fact.source), "citations", 1)) {
          this.cited.push(fact);
        }
        return;
      case "read-as":
        this.#parser({ type: "markers", markers: fact.markers });
        return;
      default:
        fact satisfies never;
    }
  };

  #emitted(event: EmittedEvent): void {
    switch (event.type) {
      case "part-start":
        if (this.#budget.take(NOTE_BYTES, "parts", 1)) {
          this.emitted.push({ part: event.part, started: this.#elapsed(), ended: undefined });
        }
        return;
      case "part-end": {
        const last = this.emitted.at(-1);
        if (last) last.ended = this.#elapsed();
        return;
      }
      case "builtin-result": {
        const bytes = event.messages.reduce((sum, { content }) => sum + content.length * 2, 0);
        if (this.#budget.take(NOTE_BYTES + bytes + sizeOf(event.shown), "tool results", 1)) {
          this.results.push({ ms: this.#elapsed(), result: event });
        }
        return;
      }
      case "end":
        this.end = event;
        this.ended = this.#elapsed();
        return;
      case "start":
      case "prefill":
        return;
      default:
        event satisfies never;
    }
  }

  noteFailure(failure: Failure): void {
    if (this.end !== undefined) return;
    this.failure = failure;
    this.ended = this.#elapsed();
    const call = this.calls.at(-1);
    if (call) call.ended ??= this.ended;
  }

  #read(call: CallNote, tokens: EngineTokens): void {
    const ms = this.#elapsed();
    call.firstToken ??= ms;
    this.written += tokensOf(tokens);
    if (tokens.type === "ids" && tokens.cachedTokens !== undefined) {
      call.cachedTokens = tokens.cachedTokens;
    }
    call.reads.add(tokens, ms);
  }

  #parsed(call: CallNote, units: number): void {
    call.used += units;
    if (this.#parsing !== undefined) {
      this.#parsing.units += units;
      return;
    }
    const note: ParserNote = { type: "read", call: this.calls.length - 1, units };
    if (this.#parser(note)) this.#parsing = note;
  }

  /** Returns false if there is no room for the note. */
  #parser(note: ParserNote, bytes = 0): boolean {
    this.#parsing = undefined;
    const hasRoom = this.#budget.take(PARSER_NOTE_BYTES + bytes, "parsing", 1);
    if (hasRoom) this.parser.push(note);
    return hasRoom;
  }

  #decided(decision: Decision, outcome: Outcome): void {
    const call = this.calls.at(-1);
    // An aborted call has no finish. It ended when the next decision was made.
    if (call) call.ended ??= this.#elapsed();
    if (this.#budget.take(NOTE_BYTES, "decisions", 1)) {
      this.decisions.push({ ms: this.#elapsed(), decision, outcome });
    }
  }

  #called(stage: Stage, request: CompletionRequest): void {
    const ms = this.#elapsed();
    const before = this.calls.at(-1);
    if (before) before.ended ??= ms;
    this.#call = undefined;
    this.#parsing = undefined;
    if (!this.#budget.take(NOTE_BYTES * 4, "calls", 1)) return;
    this.#call = {
      decision: this.decisions.length - 1,
      stage,
      request,
      asked: ms,
      attempts: [],
      reads: new ReadLog(this.#budget),
      engine: undefined,
      backend: undefined,
      opened: undefined,
      firstToken: undefined,
      progress: undefined,
      ended: undefined,
      used: 0,
      finish: undefined,
      cachedTokens: undefined,
      error: undefined,
    };
    this.calls.push(this.#call);
  }
}

/** The time since a request was accepted, in milliseconds to a tenth. */
export type Elapsed = () => number;

/** @param clock monotonic time in milliseconds; only differences are used */
export function startElapsed(clock: () => number): Elapsed {
  const start = clock();
  return () => Math.round((clock() - start) * 10) / 10;
}
