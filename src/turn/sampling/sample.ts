/** Continues the transcript until the model ends, a limit is reached, or enough has been read. */
import type { Constraint, EngineTokens } from "../../engines/engine.ts";
import type { Sampling } from "../../engines/sampling.ts";
import { CALL, END_OF_TEXT, RETURN } from "../../harmony/tokens.ts";
import type { Demand } from "../../streams/push-stream.ts";
import { isSpecial, type TokenId, tokenText } from "../../tokenizer/index.ts";
import { type CallEnd, callEngine, type TokenReader } from "./engine-call.ts";
import type { OnFact } from "../facts.ts";
import { ConsumerStopped, type TurnOutput } from "../output/turn-output.ts";
import { sizeOf, sliceTokens, unitEnd } from "../reading/token-units.ts";
import { TurnError } from "../turn-error.ts";
import type { TurnEvent } from "../turn.ts";
import type { TurnState } from "../turn-state.ts";

export interface SampleOptions<Cut extends string> {
  /** Constraint from the first token on. Set only if the engine supports it. */
  readonly constraint?: Constraint;
  /**
   * Ids that must not be sampled because they would break the current structure. Sent as a logit bias if the
   * engine supports it.
   */
  readonly ban?: readonly TokenId[];
  /** Ids that end this call. For engines that cannot stop at them, `cut` ends the call. */
  readonly stopIds?: readonly TokenId[];
  /**
   * Returns the reason to stop reading, or undefined to continue. Called after each control token, each check of the
   * repetition guard, and each read.
   */
  readonly cut?: () => Cut | undefined;
  /**
   * Whether `cut` is also called after every token of a header, and after `idsUntilCut` ids, for cuts that must be
   * exact.
   */
  readonly cutsAnywhere?: boolean;
  /**
   * The number of ids continuing the open part after which the result of `cut` may change. Default: it does not change.
   */
  readonly idsUntilCut?: () => number;
}

export type SampleEnd<Cut extends string> =
  /** The model ended, or its remaining output would not count. */
  | { readonly why: "stop" }
  /** The request or context limit was reached. */
  | { readonly why: "length" }
  /** A stop string of the client was found. */
  | { readonly why: "stop-sequence" }
  | { readonly why: "cut"; readonly cut: Cut };

export function sample<Cut extends string = never>(
  state: TurnState,
  options: SampleOptions<Cut>,
): Promise<SampleEnd<Cut>> {
  const { turn, engine } = state;
  const sampler = new Sampler(state, options);
  const end = callEngine(
    state,
    {
      prompt: state.transcript.prompt(),
      sampling: withBan(turn.sampling, options.ban, engine.capabilities.sampling),
      stopIds: options.stopIds ?? [],
      ...(options.constraint && { constraint: options.constraint }),
      ...(turn.topLogprobs !== undefined && { topLogprobs: turn.topLogprobs }),
    },
    sampler,
  );
  // Without `await`, because its frame would be retained as long as the model samples.
  return end.then((finish) => sampler.end(finish));
}

/** Maximum number of ids in an open unit. */
const MOST_OPEN = 32;

/**
 * Reads the tokens of one engine call until enough of it has been read. Tokens of any form and number are read in units
 * within which nothing can end the call: up to a control token, a check of the repetition guard or the end of a budget.
 * Counters, parser, transcript and guard read the same units.
 *
 * A unit of ids that only continue the open part stays open for further reads. Its text is passed on at once, and the
 * unit is read when it ends. Between two tokens of a stream, the tokens of all other streams evict its objects from the
 * processor's cache: reading an id touches a dozen objects, adding an id to a unit three (docs/decisions.md, "One
 * reading loop").
 */
class Sampler<Cut extends string> implements TokenReader {
  // The fields needed for each id of an open unit come first.
  #openIds: TokenId[] = [];
  /** Maximum number of ids in the open unit. 0: the open part does not pass on the text of ids unchanged. */
  #openRoom = 0;
  readonly #output: TurnOutput;
  readonly #onFact: OnFact | undefined;
  readonly #state: TurnState;
  readonly #options: SampleOptions<Cut>;
  #end: SampleEnd<Cut> | undefined;
  /**
   * A cut on the last token of a turn waits for the finish event, which carries the engine's own token
   * counts.
   */
  #atLastToken: SampleEnd<Cut> | undefined;

  constructor(state: TurnState, options: SampleOptions<Cut>) {
    this.#output = state.output;
    this.#onFact = state.onFact;
    this.#state = state;
    this.#options = options;
  }

  take(tokens: EngineTokens): Demand {
    const text = this.#extend(tokens);
    if (text === "") {
      this.settle();
      return this.#readUnits(tokens);
    }
    this.#onFact?.(tokens);
    const more = this.#output.emitDelta({ type: "part-delta", text });
    if (this.#openIds.length < this.#openRoom) return more;
    this.settle();
    this.#judge(tokens);
    if (this.#end === undefined) this.#openRoom = this.#unitRoom();
    return this.#end === undefined && more;
  }

  /** Reads the open unit. It has no other events, since its text has been passed on. */
  settle(): void {
    this.#openRoom = 0;
    const ids = this.#openIds;
    if (ids.length === 0) return;
    this.#openIds = [];
    this.#read({ type: "ids", ids });
  }

  /** Adds ids to the open unit, and returns their text. Returns "" without a change if the ids must be read. */
  #extend(tokens: EngineTokens): string {
    if (tokens.type !== "ids" || tokens.logprobs !== undefined) return "";
    const { ids } = tokens;
    const open = this.#openIds;
    if (open.length + ids.length > this.#openRoom) return "";
    const text = ownText(ids) ?? "";
    if (text !== "") for (const id of ids) open.push(id);
    return text;
  }

  #readUnits(tokens: EngineTokens): Demand {
    this.#onFact?.(tokens);
    const size = sizeOf(tokens);
    let events: TurnEvent[] = [];
    for (let at = 0; at < size && !this.#isOver();) {
      const end = unitEnd(tokens, at, this.#room(tokens));
      const unit = sliceTokens(tokens, at, end);
      const read = this.#read(unit);
      if (at === 0) events = read;
      else for (const event of read) events.push(event);
      this.#judge(unit);
      at = end;
    }
    const more = this.#output.emit(events.length > 1 ? joinDeltas(events) : events);
    if (this.#end === undefined && this.#passesOn(tokens)) this.#openRoom = this.#unitRoom();
    return this.#end === undefined && more;
  }

  /** Whether the text of further ids that only continue the open part becomes an unchanged delta. */
  #passesOn(tokens: EngineTokens): boolean {
    if (tokens.type !== "ids" || tokens.logprobs !== undefined) return false;
    const { turn, parser, emitter } = this.#state;
    if (turn.topLogprobs !== undefined || !parser.isInBody || !emitter.isPassedOn) return false;
    const last = tokens.ids.at(-1);
    return last !== undefined && tokenText(last) !== undefined;
  }

  /** The number of ids that may be read at once in the body of a part. */
  #unitRoom(): number {
    const untilCheck = this.#state.repetition?.untilCheck ?? MOST_OPEN;
    return Math.min(MOST_OPEN, untilCheck, this.#options.idsUntilCut?.() ?? MOST_OPEN);
  }

  /** Returns the result at the end of the call. */
  end(finish: CallEnd): SampleEnd<Cut> {
    if (finish.type === "no-tokens-left") return { why: "length" };
    if (this.#end !== undefined) return this.#end;
    if (finish.type === "cut") throw new ConsumerStopped();
    // For a stop string, the native reason would depend on the grouping of tokens.
    if (this.#atLastToken?.why !== "stop-sequence") this.#state.nativeReason = finish.nativeReason;
    return this.#atLastToken ?? { why: finish.reason };
  }

  /** The number of ids or characters that may be read before the next judgement. */
  #room(tokens: EngineTokens): number {
    const { turn, parser, repetition } = this.#state;
    const { cutsAnywhere = false, idsUntilCut } = this.#options;
    // Tokens after a stop string are neither counted nor judged, and each log probability needs its own text.
    if (turn.stop.length > 0 || turn.topLogprobs !== undefined) return 1;
    const untilCheck = repetition?.untilCheck ?? Infinity;
    if (!cutsAnywhere) return untilCheck;
    if (tokens.type !== "ids" || !parser.isInBody) return 1;
    return Math.max(1, Math.min(untilCheck, idsUntilCut?.() ?? Infinity));
  }

  #read(tokens: EngineTokens): TurnEvent[] {
    const { turn, onFact, usage, parser, transcript, repetition, emitter } = this.#state;
    if (turn.topLogprobs !== undefined) expectLogprobs(tokens);
    onFact?.({ type: "parsed", tokens });
    usage.add(tokens);
    const events = parser.push(tokens);
    // The transcript follows the parser, whose repairs belong to the message before a start in these tokens.
    transcript.append(tokens);
    repetition?.push(tokens);
    return emitter.push(events, tokens.type === "ids" ? tokens.logprobs : undefined);
  }

  /** Whether all further output is irrelevant. */
  #isOver(): boolean {
    if (this.#atLastToken || this.#state.parser.done) {
      this.#end ??= this.#atLastToken ?? { why: "stop" };
    }
    return this.#end !== undefined;
  }

  /** Notes whether enough of this call has been read. */
  #judge(tokens: EngineTokens): void {
    const cut = this.#options.cut?.();
    let found: SampleEnd<Cut> | undefined;
    if (this.#state.emitter.stopSequence !== undefined) found = { why: "stop-sequence" };
    else if (cut !== undefined) found = { why: "cut", cut };
    if (found === undefined) return;
    if (endsGeneration(tokens)) this.#atLastToken = found;
    else this.#end = found;
  }
}

/**
 * Throws if an engine that supports log probabilities returns none: a reply without them would look complete.
 */
function expectLogprobs(tokens: EngineTokens): void {
  const areMissing =
    tokens.type !== "ids" ||
    (tokens.logprobs === undefined && !tokens.ids.every((id) => isSpecial(id)));
  if (areMissing) {
    throw new TurnError(
      "unsupported",
      "logprobs: the engine of this model was asked for log probabilities but returned none. Send the request without logprobs.",
    );
  }
}

/** The text of ids that begin and end between characters. Undefined if one is a control token, or part of a character. */
function ownText(ids: readonly TokenId[]): string | undefined {
  let text = "";
  for (const id of ids) {
    const own = tokenText(id);
    if (own === undefined) return undefined;
    text += own;
  }
  return text;
}

function endsGeneration(tokens: EngineTokens): boolean {
  const last = tokens.type === "ids" ? tokens.ids.at(-1) : undefined;
  return last === RETURN || last === CALL || last === END_OF_TEXT;
}

function withBan(
  sampling: Sampling,
  ban: readonly TokenId[] | undefined,
  honoured: readonly (keyof Sampling)[],
): Sampling {
  if (!ban || !honoured.includes("logitBias")) return sampling;
  const logitBias = new Map(sampling.logitBias);
  for (const id of ban) logitBias.set(id, -100);
  return { ...sampling, logitBias };
}

/** Merges adjacent deltas, so that one read results in one delta even if its tokens were read one by one. */
function joinDeltas(events: readonly TurnEvent[]): TurnEvent[] {
  const joined: TurnEvent[] = [];
  for (const event of events) {
    const last = joined.at(-1);
    if (event.type === "part-delta" && last?.type === "part-delta") {
      const logprobs = [...(last.logprobs ?? []), ...(event.logprobs ?? [])];
      const citations = [...(last.citations ?? []), ...(event.citations ?? [])];
      joined[joined.length - 1] = {
        type: "part-delta",
        text: last.text + event.text,
        ...(logprobs.length > 0 && { logprobs }),
        ...(citations.length > 0 && { citations }),
      };
    } else {
      joined.push(event);
    }
  }
  return joined;
}
