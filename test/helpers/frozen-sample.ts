/**
 * The reading loop of 28 November 2026, before token-wise, whole and deferred reading became one: an oracle of
 * `sampling/sample.ts`. It is slower and has five cases of reading several tokens at once. It must not be improved.
 */
import type { Constraint, EngineTokens, TokenLogprob } from "../../src/engines/engine.ts";
import type { Sampling } from "../../src/engines/sampling.ts";
import { CALL, END_OF_TEXT, RETURN } from "../../src/harmony/index.ts";
import type { Demand } from "../../src/streams/push-stream.ts";
import { isSpecial, type TokenId } from "../../src/tokenizer/index.ts";
import { type CallEnd, callEngine, type TokenReader } from "../../src/turn/sampling/engine-call.ts";
import { ConsumerStopped } from "../../src/turn/output/turn-output.ts";
import type { RepetitionGuard } from "../../src/turn/reading/repetition.ts";
import { TurnError } from "../../src/turn/turn-error.ts";
import type { TurnEvent } from "../../src/turn/turn.ts";
import type { TurnState } from "../../src/turn/turn-state.ts";

export interface SampleOptions<Cut extends string> {
  /** Applies from the first token. Set only if the engine supports it. */
  readonly constraint?: Constraint;
  /**
   * Ids that must not be sampled because they would break the current structure. Sent as a logit bias if the
   * engine supports it.
   */
  readonly ban?: readonly TokenId[];
  /** Ids that end this call. For engines that cannot stop at them, `cut` does. */
  readonly stopIds?: readonly TokenId[];
  /**
   * Returns why to stop reading, or undefined to continue. Called after each read from the engine, unless all that it did was to
   * continue a part, and the repetition guard has not checked.
   */
  readonly cut?: () => Cut | undefined;
  /** Call `cut` after every token, for cuts that must be exact, except where `idsUntilCut` says that it need not be. */
  readonly cutsAnywhere?: boolean;
  /** After how many ids that only continue the open part `cut` has to be called. Default: never for these alone. */
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
  // Not `await`, whose frame would be held as long as the model samples.
  return end.then((finish) => sampler.end(finish));
}

/** Reads the tokens of one engine call until enough of it has been read. */
class Sampler<Cut extends string> implements TokenReader {
  readonly #state: TurnState;
  readonly #cut: (() => Cut | undefined) | undefined;
  readonly #readsEach: boolean;
  #end: SampleEnd<Cut> | undefined;
  /**
   * A cut on the last token of a turn waits for the finish event, which carries the engine's own token
   * counts.
   */
  #atLastToken: SampleEnd<Cut> | undefined;

  constructor(state: TurnState, { cut, cutsAnywhere: exact }: SampleOptions<Cut>) {
    this.#state = state;
    this.#cut = cut;
    this.#readsEach = exact === true || state.turn.topLogprobs !== undefined;
  }

  take(tokens: EngineTokens): Demand {
    const isOver = this.#isOver();
    this.#state.onFact?.(tokens);
    if (isOver) return false;
    const events = this.#readsEach ? this.#readEach(oneByOne(tokens)) : this.#readAll(tokens);
    const more = this.#state.output.emit(events);
    return this.#end === undefined && more;
  }

  /** How the call has ended. */
  end(finish: CallEnd): SampleEnd<Cut> {
    if (finish.type === "no-tokens-left") return { why: "length" };
    if (this.#end !== undefined) return this.#end;
    if (finish.type === "cut") throw new ConsumerStopped();
    // For a stop string, the native reason would depend on how tokens were grouped.
    if (this.#atLastToken?.why !== "stop-sequence") this.#state.nativeReason = finish.nativeReason;
    return this.#atLastToken ?? { why: finish.reason };
  }

  /** Whether all further output is irrelevant. */
  #isOver(): boolean {
    if (this.#atLastToken || this.#state.parser.done) {
      this.#end = this.#atLastToken ?? { why: "stop" };
    }
    return this.#end !== undefined;
  }

  /** Whether enough of this call has been read. */
  #isEnough(tokens: EngineTokens): boolean {
    const { emitter, parser } = this.#state;
    const cut = this.#cut?.();
    let found: SampleEnd<Cut> | undefined;
    if (emitter.stopSequence !== undefined) found = { why: "stop-sequence" };
    else if (cut !== undefined) found = { why: "cut", cut };
    if (found === undefined) return parser.done;
    if (endsGeneration(tokens)) this.#atLastToken = found;
    else this.#end = found;
    return true;
  }

  /** Reads all tokens at once if none before the last can end the turn. */
  #readAll(tokens: EngineTokens): TurnEvent[] {
    const { repetition, turn } = this.#state;
    const isLong = repetition !== undefined && countUnits(tokens) > repetition.untilCheck;
    const mayEnd = endsWithin(tokens);
    // Output after a stop string is neither counted nor judged.
    const isExact = turn.stop.length > 0;
    if (!isExact && (mayEnd || isLong) && tokens.type === "ids" && tokens.logprobs === undefined) {
      const room = () => repetition?.untilCheck ?? Infinity;
      return this.#readEach(behindControlTokens(tokens.ids, room));
    }
    if (!isExact && !mayEnd && isLong && tokens.type === "text") {
      return this.#readEach(split(repetition, tokens));
    }
    // A piece is read as a whole: cutting inside it would leave part of a token in the transcript.
    if (isExact || mayEnd || isLong) return this.#readEach(oneByOne(tokens));
    const events = read(this.#state, tokens);
    this.#isEnough(tokens);
    return events;
  }

  #readEach(units: Iterable<EngineTokens>): TurnEvent[] {
    const events: TurnEvent[] = [];
    for (const unit of units) {
      if (this.#isOver()) break;
      events.push(...read(this.#state, unit));
      if (this.#isEnough(unit) && this.#end !== undefined) break;
    }
    return joinDeltas(events);
  }
}

function read(state: TurnState, tokens: EngineTokens): TurnEvent[] {
  if (state.turn.topLogprobs !== undefined) expectLogprobs(tokens);
  state.onFact?.({ type: "parsed", tokens });
  state.usage.add(tokens);
  const events = state.parser.push(tokens);
  // Behind the parser, whose repairs belong to the message before a start in these tokens.
  state.transcript.append(tokens);
  state.repetition?.push(tokens);
  return state.emitter.push(events, tokens.type === "ids" ? tokens.logprobs : undefined);
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

/** Merges adjacent deltas, so that one read gives one delta even if its tokens were read one by one. */
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

type TextTokens = Extract<EngineTokens, { type: "text" }>;

/** Whether the turn may end before the last of these tokens. Only a control token ends it. */
function endsWithin(tokens: EngineTokens): boolean {
  switch (tokens.type) {
    case "ids":
      for (let at = tokens.ids.length - 2; at >= 0; at--) {
        if (isSpecial(tokens.ids[at] ?? 0)) return true;
      }
      return false;
    case "pieces":
      return tokens.pieces.slice(0, -1).some((piece) => "special" in piece);
    case "text": {
      const marker = tokens.text.indexOf("|>");
      return marker >= 0 && marker + 2 < tokens.text.length;
    }
    default:
      return tokens satisfies never;
  }
}

/**
 * Splits ids behind each control token, the only ones that end a turn, and into parts of at most `room()` ids, which is
 * asked before each part. A short answer that arrives in one read is three parts instead of one for each token.
 */
function* behindControlTokens(
  ids: readonly TokenId[],
  room: () => number,
): Generator<EngineTokens> {
  for (let from = 0; from < ids.length;) {
    const most = Math.min(ids.length, from + room());
    let to = from + 1;
    while (to < most && !isSpecial(ids[to - 1] ?? 0)) to++;
    yield { type: "ids", ids: ids.slice(from, to) };
    from = to;
  }
}

/** Yields the same tokens in the smallest units at which something can begin or end. */
function* oneByOne(tokens: EngineTokens): Generator<EngineTokens> {
  switch (tokens.type) {
    case "ids":
      for (const [index, id] of tokens.ids.entries()) {
        const logprob: TokenLogprob | undefined = tokens.logprobs?.[index];
        yield { type: "ids", ids: [id], ...(logprob && { logprobs: [logprob] }) };
      }
      return;
    case "pieces":
      for (const [index, piece] of tokens.pieces.entries()) {
        yield { type: "pieces", pieces: [piece], counts: [tokens.counts[index] ?? 0] };
      }
      return;
    case "text":
      // By code unit: the parser joins markers and characters again.
      for (let at = 0; at < tokens.text.length; at++) yield textUnit(tokens, at, at + 1);
      return;
    default:
      tokens satisfies never;
  }
}

/**
 * Characters `from` to `to` of a text. If the engine counted the whole text, its tokens are assumed to be of
 * equal length, and each counts where it begins.
 */
function textUnit(tokens: TextTokens, from: number, to: number): TextTokens {
  const text = tokens.text.slice(from, to);
  const { tokens: total } = tokens;
  if (total === undefined) return { type: "text", text };
  const begunBy = (at: number) => Math.ceil((at * total) / tokens.text.length);
  return { type: "text", text, tokens: begunBy(to) - begunBy(from) };
}

function* split(guard: RepetitionGuard, tokens: TextTokens): Generator<EngineTokens> {
  for (let at = 0; at < tokens.text.length;) {
    const end = Math.min(at + guard.untilCheck, tokens.text.length);
    yield textUnit(tokens, at, end);
    at = end;
  }
}

function countUnits(tokens: EngineTokens): number {
  switch (tokens.type) {
    case "ids":
      return tokens.ids.length;
    case "pieces":
      return tokens.pieces.reduce(
        (sum, piece) => sum + ("text" in piece ? piece.text.length : 1),
        0,
      );
    case "text":
      return tokens.text.length;
    default:
      return tokens satisfies never;
  }
}
