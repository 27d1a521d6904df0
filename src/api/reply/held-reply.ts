/**
 * The rule for replies: data held for a reply is counted against a budget before it is generated. This covers text and
 * log probabilities of all `n` choices, per request and per key, in plain replies and in streams whose end repeats
 * them. If the request limits its tokens, its log probabilities are reserved as a whole, and refused if they can never
 * fit; several choices without a limit are refused if they cannot all have the usual length. All other data is counted
 * as it arrives, and ends the turn when the budget is exceeded. A large reply is built and written in pieces.
 *
 * Data that is delivered and not held is not counted (chunks of Chat Completions), nor is a single answer of text
 * alone, which the context limits: streams of Messages and summaries of compactions. The context has 131,072 tokens:
 * half a megabyte of text.
 */
import type { Context } from "hono";
import type { TokenLogprob } from "../../engines/engine.ts";
import { jsonPieces, JsonText } from "../../json-text.ts";
import {
  consume,
  createPushStream,
  type Demand,
  type PushStream,
} from "../../streams/push-stream.ts";
import type { Pause } from "../../streams/slices.ts";
import type { ResponseHeaders } from "../../telemetry/response-headers.ts";
import type { Turn, TurnEvent } from "../../turn/turn.ts";
import { RequestError, refusal } from "../errors.ts";
import { type ByteBudget, type ByteLease, UNCOUNTED_BYTES } from "../request/byte-budget.ts";
import {
  o200kHarmony,
  tokenBytes,
  type TokenId,
  tokenText as wholeText,
} from "../../tokenizer/index.ts";

/** The usual size of a token with its probability in JSON, in bytes. */
const LOGPROB_BYTES = 80;
/** The assumed tokens of each of several choices, in a request that does not limit them. */
const USUAL_CHOICE_TOKENS = 16_384;
/** Bytes of log probabilities that are read between two pauses: a few milliseconds. */
const SLICE_BYTES = 65_536;

export interface HeldReplyDeps {
  readonly replies: ByteBudget;
  readonly pause: Pause;
}

export interface HeldTurn {
  readonly turn: Turn;
  /** The model's context length, in tokens. */
  readonly contextLength: number | undefined;
  /** The number of choices, `n`. Default: 1. */
  readonly choices?: number;
  /** Aborted when the client leaves. */
  readonly signal: AbortSignal;
}

/** Waits for room, if the size of the reply is known. Rejects with a {@link RequestError}. */
export async function holdReply(turn: HeldTurn, deps: HeldReplyDeps): Promise<HeldReply> {
  const bytes = refuseUnholdable(turn, deps.replies.tenantBytes);
  const held = new HeldReply(turn.turn, deps);
  if (bytes > 0) await held.reserve(bytes, turn.signal);
  return held;
}

/**
 * The bytes of the log probabilities that a request can get, or 0 if it does not limit its tokens.
 * @throws RequestError if they exceed `most`, or, without a limit, if several choices cannot all have the usual length.
 */
export function refuseUnholdable(
  { turn, contextLength = Infinity, choices = 1 }: Omit<HeldTurn, "signal">,
  most: number,
): number {
  const { maxOutputTokens, topLogprobs } = turn;
  const isLimited = maxOutputTokens !== undefined;
  // A single answer is seldom too long, and is counted as it arrives.
  if (topLogprobs === undefined || (!isLimited && choices === 1)) return 0;
  const tokens = choices * Math.min(maxOutputTokens ?? USUAL_CHOICE_TOKENS, contextLength);
  const bytes = logprobBytes(tokens, topLogprobs);
  if (bytes <= most) return isLimited ? bytes : 0;
  throw refusal(
    topLogprobs === 0 ? "logprobs" : "top_logprobs",
    `the log probabilities of ${tokens} tokens would take about ${bytes} bytes, more than the ${most} that can be held for a reply. ` +
      `Send a ${isLimited ? "lower " : ""}limit of tokens, fewer choices, or a lower top_logprobs.`,
  );
}

/** The usual size of log probabilities in JSON, in bytes. */
export function logprobBytes(tokens: number, topLogprobs: number): number {
  return tokens * (1 + topLogprobs) * LOGPROB_BYTES;
}

/** Passes on the events of a turn and counts each before the next. */
export function holding<T extends { readonly type: string }>(
  events: AsyncIterable<T | TurnEvent>,
  held: HeldReply,
): PushStream<T | TurnEvent> {
  return createPushStream((consumer) =>
    consume(events, (event) => {
      const hasRoom = isDelta(event) ? held.addEvent(event) : true;
      return afterBoth(hasRoom, consumer(event));
    }),
  );
}

/** Like {@link holding}, for a streamed reply: the bytes are held until the turn's end has been consumed. */
export function holdingStream<T extends { readonly type: string }>(
  events: AsyncIterable<T | TurnEvent>,
  turn: HeldTurn,
  deps: HeldReplyDeps,
): PushStream<T | TurnEvent> {
  return createPushStream(async (consumer) => {
    const held = await holdReply(turn, deps);
    try {
      await holding(events, held).pushTo(consumer);
    } finally {
      held.release();
    }
  });
}

/** The demand of a consumer, after a pause has ended as well. */
export function afterBoth(pausing: Demand, demand: Demand): Demand {
  if (pausing === true) return demand;
  return Promise.all([pausing, demand]).then(([, isWanted]) => isWanted);
}

type Delta = Extract<TurnEvent, { type: "part-delta" }>;

function isDelta(event: { readonly type: string }): event is Delta {
  return event.type === "part-delta";
}

/** The bytes of one reply, over all of its choices. */
export class HeldReply {
  /** Undefined: the turn has only text, which is read without pauses. */
  readonly #pace: Pace | undefined;
  readonly #tenant: string;
  readonly #replies: ByteBudget;
  /** Undefined: the reply is small so far. */
  #lease: ByteLease | undefined;
  #leased = 0;
  #held = 0;

  constructor({ tenant, topLogprobs }: Turn, { replies, pause }: HeldReplyDeps) {
    this.#tenant = tenant;
    this.#replies = replies;
    this.#pace = topLogprobs === undefined ? undefined : createPace(pause);
  }

  /** Waits for room. Rejects with a {@link RequestError} if there is none in time. */
  async reserve(bytes: number, signal: AbortSignal): Promise<void> {
    this.#lease = await this.#replies.reserve(this.#tenant, bytes, { signal });
    this.#leased = bytes;
  }

  /** Counts bytes that a reply holds. @throws RequestError when the budget is exceeded. */
  add(bytes: number): Demand {
    this.#held += bytes;
    if (this.#held > Math.max(this.#leased, UNCOUNTED_BYTES)) this.#grow();
    return this.#pace?.(bytes) ?? true;
  }

  /** Counts the text of an event, and its log probabilities with their usual size. */
  addEvent({ text, logprobs }: Extract<TurnEvent, { type: "part-delta" }>): Demand {
    return this.add(text.length + usualBytes(logprobs));
  }

  get isLarge(): boolean {
    return this.#held > UNCOUNTED_BYTES;
  }

  /** Called when the reply has been written, or the client has left. */
  release(): void {
    this.#lease?.release();
  }

  #grow(): void {
    const most = this.#replies.tenantBytes;
    this.#leased = this.#held + UNCOUNTED_BYTES;
    if (this.#leased > most) {
      throw new RequestError(
        `The reply has become larger than the ${most} bytes that can be held for one. ` +
          "Send a limit of tokens, fewer choices, or a lower top_logprobs.",
        { status: 413 },
      );
    }
    this.#lease ??= this.#replies.open(this.#tenant);
    this.#lease.resize(this.#leased);
  }
}

/** Called with the number of bytes just read or written. Pauses when a slice is full. */
export type Pace = (bytes: number) => Demand;

/** Choices that pause continue one after the other: together they have received more than a slice. */
export function createPace(pause: Pause): Pace {
  let bytes = 0;
  const wait = async (): Promise<true> => {
    await pause();
    bytes = 0;
    return true;
  };
  return (more) => {
    bytes += more;
    return bytes < SLICE_BYTES || wait();
  };
}

/** A token's log probabilities in the format of all APIs: text and bytes with each value. */
export function logprobText({ id, logprob, top }: TokenLogprob): JsonText {
  const others = top.map((other) => ({ ...tokenText(other.id), logprob: other.logprob }));
  return new JsonText(JSON.stringify({ ...tokenText(id), logprob, top_logprobs: others }));
}

/** Replies with JSON, a value or its text, and releases the held bytes once it is written. */
export function wholeReply(
  c: Context,
  body: object | string,
  headers: ResponseHeaders,
  { held, pause }: { readonly held: HeldReply; readonly pause: Pause },
): Response {
  const all = { ...headers, ...JSON_TYPE };
  if (held.isLarge && typeof body === "object")
    return c.body(toStream(jsonPieces(body), held, pause), 200, all);
  held.release();
  return typeof body === "string" ? c.body(body, 200, all) : c.json(body, 200, headers);
}

const JSON_TYPE = { "content-type": "application/json" };

/** Streams pieces. Each is made when the previous one has been read. */
function toStream(pieces: Iterator<string, void>, held: HeldReply, pause: Pause): ReadableStream {
  const encoder = new TextEncoder();
  return new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      async pull(controller) {
        await pause();
        const { value, done } = pieces.next();
        if (!done) return controller.enqueue(encoder.encode(value));
        held.release();
        return controller.close();
      },
      cancel: () => held.release(),
    },
    { highWaterMark: 0 },
  );
}

function usualBytes(logprobs: readonly TokenLogprob[] = []): number {
  let values = 0;
  for (const { top } of logprobs) values += 1 + top.length;
  return values * LOGPROB_BYTES;
}

/** A token in `logprobs`. */
interface TokenText {
  /** U+FFFD for a token that is part of a character. */
  readonly token: string;
  /**
   * The token's bytes. Concatenated over an answer they are its UTF-8, even where characters are split between tokens.
   */
  readonly bytes: readonly number[];
}

const encoder = new TextEncoder();

export function tokenText(id: TokenId): TokenText {
  const token = wholeText(id) ?? o200kHarmony().decode([id]);
  return { token, bytes: [...(tokenBytes(id) ?? encoder.encode(token))] };
}
