/** One engine call: continues the transcript until the model ends, a limit is met, or enough has been read. */
import { EngineError } from "../engines/engine-error.ts";
import type {
  Constraint,
  EngineEvent,
  EngineTokens,
  Piece,
  Sampling,
  TokenLogprob,
} from "../engines/engine.ts";
import { consume, guard, type Demand } from "../streams/push-stream.ts";
import { CALL, END_OF_TEXT, RETURN } from "../harmony/tokens.ts";
import { isSpecial, type TokenId, type Tokenizer } from "../tokenizer/index.ts";
import { toMarkerReading } from "./shown-markers.ts";
import { createTextMeter, type TextMeter } from "./text-meter.ts";
import { sentLength } from "./transcript.ts";
import { TurnError } from "./turn-error.ts";
import type { TurnEvent } from "./turn.ts";
import { emitStart, type TurnState } from "./turn-state.ts";

export interface SampleOptions<Cut extends string> {
  /** Holds from the first token. Only given when the engine has it. */
  readonly constraint?: Constraint;
  /** Ids that would break what is being written: never sampled, where the engine takes a bias. */
  readonly ban?: readonly TokenId[];
  /** Ids that end this call. An engine that cannot stop at them is stopped by `cut`. */
  readonly stopIds?: readonly TokenId[];
  /** Why to stop reading, or undefined to go on. Asked after each read from the engine. */
  readonly cut?: () => Cut | undefined;
  /** Ask after every single token instead: for cuts that must be exact. Tokens then cost more. */
  readonly exact?: boolean;
}

export type SampleEnd<Cut extends string> =
  /** The model ended, or nothing it still writes would count. */
  | { readonly why: "stop" }
  /** The limit of the request or of the context. */
  | { readonly why: "length" }
  /** A stop string of the client. */
  | { readonly why: "stop-sequence" }
  | { readonly why: "cut"; readonly cut: Cut };

export async function sample<Cut extends string = never>(
  state: TurnState,
  options: SampleOptions<Cut>,
): Promise<SampleEnd<Cut>> {
  const { turn, usage, transcript, emitter, parser } = state;
  const prompt = transcript.prompt();
  const promptLength = sentLength(prompt, state.engine.capabilities);
  const maxTokens = tokensLeft(state, promptLength);
  if (maxTokens < 1) return { why: "length" };

  const request = {
    prompt,
    maxTokens,
    sampling: withBan(turn.sampling, options.ban, state.engine.capabilities.sampling),
    stopIds: options.stopIds ?? [],
    requestId: turn.id,
    tenant: turn.tenant,
    ...(state.cacheSalt !== undefined && { cacheSalt: state.cacheSalt }),
    ...(options.constraint && { constraint: options.constraint }),
    ...(turn.topLogprobs !== undefined && { topLogprobs: turn.topLogprobs }),
    ...(turn.affinity !== undefined && { affinity: turn.affinity }),
  };
  const meter = createTextMeter(state.tokenizer);
  const looking = options.exact === true || turn.topLogprobs !== undefined;
  let end: SampleEnd<Cut> | undefined;
  // Where a cut falls on the last token of a turn, the finish is next, and with it the engine's own counts.
  let atLastToken: SampleEnd<Cut> | undefined;

  /** Whether that is enough to read of this call. */
  const isEnough = (tokens: EngineTokens): boolean => {
    const cut = options.cut?.();
    let found: SampleEnd<Cut> | undefined;
    if (emitter.stopSequence !== undefined) found = { why: "stop-sequence" };
    else if (cut !== undefined) found = { why: "cut", cut };
    if (found === undefined) return parser.done;
    if (endsGeneration(tokens)) atLastToken = found;
    else end = found;
    return true;
  };

  /** In one step, where nothing can end before the last of the tokens. */
  const readAll = (tokens: EngineTokens): TurnEvent[] => {
    const { repetition } = state;
    const isLong = repetition !== undefined && !repetition.hasRoomFor(tokens);
    // A piece is looked at as a whole: a cut within it would leave a part of a token in the transcript.
    if (endsWithin(tokens) || (isLong && tokens.type === "pieces")) {
      return readEach(oneByOne(tokens, state.tokenizer));
    }
    if (isLong && tokens.type !== "pieces") return readEach(repetition.split(tokens));
    const events = read(state, tokens, meter);
    isEnough(tokens);
    return events;
  };

  const readEach = (units: Iterable<EngineTokens>): TurnEvent[] => {
    const events: TurnEvent[] = [];
    for (const unit of units) {
      if (isOver()) break;
      events.push(...read(state, unit, meter));
      if (isEnough(unit) && end !== undefined) break;
    }
    return joinDeltas(events);
  };

  /** Whether more comes than what counts. */
  const isOver = (): boolean => {
    if (atLastToken || parser.done) end = atLastToken ?? { why: "stop" };
    return end !== undefined;
  };

  const reading = guard((event: EngineEvent): Demand => {
    switch (event.type) {
      case "open":
        if (event.engine) parser.readAs(toMarkerReading(event.engine, state.steering));
        return emitStart(state);
      case "finish":
        usage.endCall(event.usage);
        // Whether the engine still says how it ended depends on how its tokens arrived.
        if (atLastToken?.why !== "stop-sequence") state.nativeReason = event.nativeReason;
        end = atLastToken ?? { why: event.reason };
        return false;
      case "ids":
      case "pieces":
      case "text": {
        if (isOver()) return false;
        const events = looking ? readEach(oneByOne(event, state.tokenizer)) : readAll(event);
        const more = state.emit(events);
        return end === undefined && more;
      }
      default:
        return event satisfies never;
    }
  });

  state.nativeReason = null;
  usage.beginCall(promptLength, meter);
  await consume(state.engine.complete(request, state.signal), reading.take);
  reading.check();
  if (end === undefined) {
    throw new EngineError("closed", `${state.engine.name} ended its stream without a finish`);
  }
  return end;
}

function read(state: TurnState, tokens: EngineTokens, meter: TextMeter): TurnEvent[] {
  if (state.turn.topLogprobs !== undefined) expectLogprobs(tokens);
  count(state, tokens, meter);
  state.transcript.append(tokens);
  state.repetition?.push(tokens);
  return state.emitter.push(
    state.parser.push(tokens),
    tokens.type === "ids" ? tokens.logprobs : undefined,
  );
}

function count({ usage }: TurnState, tokens: EngineTokens, meter: TextMeter): void {
  switch (tokens.type) {
    case "ids":
      return usage.add(tokens.ids.length);
    case "pieces":
      return usage.add(tokens.tokens);
    case "text":
      return tokens.tokens === undefined ? meter.push(tokens.text) : usage.add(tokens.tokens);
    default:
      tokens satisfies never;
  }
}

/** An engine that was said to give log probabilities and gives none: a reply without them would look complete. */
function expectLogprobs(tokens: EngineTokens): void {
  const areMissing =
    tokens.type !== "ids" ||
    (tokens.logprobs === undefined && !tokens.ids.every((id) => isSpecial(id)));
  if (areMissing) {
    throw new TurnError(
      "unsupported",
      "logprobs: the engine behind this model was asked for log probabilities and gave none. Send the request without logprobs.",
    );
  }
}

function endsGeneration(tokens: EngineTokens): boolean {
  const last = tokens.type === "ids" ? tokens.ids.at(-1) : undefined;
  return last === RETURN || last === CALL || last === END_OF_TEXT;
}

/** What may still be sampled: the least of what the request, the context and the operator leave. */
export function tokensLeft(state: TurnState, promptLength: number): number {
  const { turn, contextLength, steering, usage } = state;
  const fallback = contextLength === undefined ? steering.defaultMaxOutputTokens : Infinity;
  const byRequest = (turn.maxOutputTokens ?? fallback) - usage.completionTokens;
  const byContext = (contextLength ?? Infinity) - promptLength;
  return Math.min(byRequest, byContext);
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

/** Whether the model's turn may be over before the last of these tokens: only a control token ends it. */
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

/** The same tokens in the smallest steps in which something can begin or end. */
function* oneByOne(tokens: EngineTokens, tokenizer: Tokenizer): Generator<EngineTokens> {
  switch (tokens.type) {
    case "ids":
      for (const [index, id] of tokens.ids.entries()) {
        const logprob: TokenLogprob | undefined = tokens.logprobs?.[index];
        yield { type: "ids", ids: [id], ...(logprob && { logprobs: [logprob] }) };
      }
      return;
    case "pieces": {
      let left = tokens.tokens;
      for (const [index, piece] of tokens.pieces.entries()) {
        const isLast = index === tokens.pieces.length - 1;
        const counted = isLast ? left : Math.min(left, countPiece(piece, tokenizer));
        left -= counted;
        yield { type: "pieces", pieces: [piece], tokens: counted };
      }
      return;
    }
    case "text":
      // By code unit: the parser puts markers and characters together again.
      for (let at = 0; at < tokens.text.length; at++) {
        yield {
          type: "text",
          text: tokens.text.charAt(at),
          ...(tokens.tokens !== undefined && { tokens: at === 0 ? tokens.tokens : 0 }),
        };
      }
      return;
    default:
      tokens satisfies never;
  }
}

/** The engine counts the read as a whole: of a piece, as our own tokenizer counts it. */
function countPiece(piece: Piece, tokenizer: Tokenizer): number {
  return "special" in piece ? 1 : tokenizer.encode(piece.text).length;
}

/** What arrived in one read leaves in one delta, however finely it was looked at. */
function joinDeltas(events: readonly TurnEvent[]): TurnEvent[] {
  const joined: TurnEvent[] = [];
  for (const event of events) {
    const last = joined.at(-1);
    if (event.type === "part-delta" && last?.type === "part-delta") {
      const logprobs = [...(last.logprobs ?? []), ...(event.logprobs ?? [])];
      joined[joined.length - 1] = {
        type: "part-delta",
        text: last.text + event.text,
        ...(logprobs.length > 0 && { logprobs }),
      };
    } else {
      joined.push(event);
    }
  }
  return joined;
}
