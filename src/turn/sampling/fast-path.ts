/**
 * The fast path for ordinary ids, from a read of the engine to the event of the turn.
 *
 * Nearly all output only continues an open part: ids without a special one, in a body whose text is passed on at once, in a turn
 * that holds nothing back and can be cut only after a known number of such ids. Such a read becomes one delta here, without lists
 * of events in between. Everything else takes the general path (`sample.ts`). The results of both are the same: every counter, the
 * transcript, the guard, the decoder's rest and the facts. `fast-path.property.test.ts` compares them.
 *
 * Of most such ids only the text is needed at once. The rest of their effects on the turn is needed at the repetition guard's next
 * check, at the end of a budget, or before any other tokens. Until then ids are deferred: their text is passed on, and they are
 * read together afterwards. Between two tokens of a stream come those of all others, which evict its objects from the processor's
 * cache: reading an id touches a dozen of them, deferring it one and a list.
 *
 * The other two stages of the path are in their own folders: `engines/ordinary-frames.ts` reads ids from the engine's frame, and
 * the writers of the APIs put the delta's text between two constant strings.
 */
import type { EngineTokens } from "../../engines/engine.ts";
import type { Demand } from "../../streams/push-stream.ts";
import { type TokenId, tokenText } from "../../tokenizer/index.ts";
import type { OnFact } from "../facts.ts";
import type { TurnOutput } from "../output/turn-output.ts";
import type { TurnState } from "../turn-state.ts";

type IdTokens = Extract<EngineTokens, { type: "ids" }>;

/** Fewer are deferred if the repetition guard has to check earlier, or a budget ends. */
const MOST_DEFERRED = 32;

export interface OrdinaryOptions {
  /**
   * Called after each check of the repetition guard, after `idsUntilCut` ids, and at the end of a read that is not deferred. After
   * `true` the rest is not read.
   */
  readonly isEnough: () => boolean;
  /** Default: any number. */
  readonly idsUntilCut?: (() => number) | undefined;
}

/** The ordinary reads of one engine call. */
export class OrdinaryReads {
  /** The deferred ids, and their text, which has been passed on. */
  #deferred: TokenId[] = [];
  #text = "";
  /** How many ids may be deferred. 0: none, because the open part may not pass on the text of its ids as it is. */
  #room = 0;
  // Of the state, which need not be touched for a deferred id.
  readonly #output: TurnOutput;
  readonly #onFact: OnFact | undefined;
  readonly #state: TurnState;
  readonly #isEnough: () => boolean;
  readonly #idsUntilCut: () => number;

  constructor(state: TurnState, { isEnough, idsUntilCut = () => Infinity }: OrdinaryOptions) {
    this.#state = state;
    this.#isEnough = isEnough;
    this.#idsUntilCut = idsUntilCut;
    this.#output = state.output;
    this.#onFact = state.onFact;
  }

  /** Whether ids are being deferred, so that neither has the turn ended nor has enough been read. */
  get isDeferring(): boolean {
    return this.#room > 0;
  }

  /**
   * Passes on the text of ids that only continue the open part. Returns undefined, with nothing read, for any other tokens,
   * and the consumer's demand otherwise.
   */
  pass(tokens: EngineTokens): Demand | undefined {
    if (tokens.type !== "ids" || tokens.logprobs !== undefined) return undefined;
    const { ids } = tokens;
    if (this.#room > 0 && !this.#hasRoomFor(ids)) this.#readDeferred();
    const text = this.#defer(ids);
    if (text === "") return this.#read(tokens);
    if (this.#onFact !== undefined) this.#report(tokens, ids);
    const demand = this.#output.emitDelta({ type: "part-delta", text });
    if (this.#deferred.length === this.#room) this.#readDeferred();
    return demand;
  }

  /** Reads what is deferred. To be called before anything else reads or changes the turn. */
  settle(): void {
    this.#room = 0;
    const ids = this.#deferred;
    if (ids.length === 0) return;
    const { parser, emitter, transcript } = this.#state;
    this.#count(ids, 0, ids.length);
    parser.countBody(ids.length);
    emitter.addEmitted(this.#text);
    transcript.appendIds(ids);
    this.#deferred = [];
    this.#text = "";
  }

  /** Returns the ids' text. Empty, with nothing deferred, if they have to be read. */
  #defer(ids: readonly TokenId[]): string {
    const text = this.#hasRoomFor(ids) ? (ownText(ids) ?? "") : "";
    if (text === "") return "";
    for (const id of ids) this.#deferred.push(id);
    this.#text += text;
    return text;
  }

  #hasRoomFor(ids: readonly TokenId[]): boolean {
    return this.#deferred.length + ids.length <= this.#room;
  }

  /** Reads all that are deferred: that may be enough, or there is no room for more. */
  #readDeferred(): void {
    this.settle();
    if (!this.#isEnough()) this.#makeRoom();
  }

  #read(tokens: IdTokens): Demand | undefined {
    const wasDeferring = this.isDeferring;
    this.settle();
    const state = this.#state;
    const { ids } = tokens;
    const { stop, topLogprobs } = state.turn;
    if (state.disableFastPath || stop.length > 0 || topLogprobs !== undefined) return undefined;
    if (ids.length === 0 || this.#idsUntilCheck() === 0) return undefined;
    if (!state.parser.canContinueBody(ids)) return undefined;

    let text = "";
    let from = 0;
    let isOver = false;
    while (from < ids.length && !isOver) {
      const to = Math.min(ids.length, from + Math.max(1, this.#idsUntilCheck()));
      this.#count(ids, from, to);
      text += state.parser.continueBody(ids, from, to);
      from = to;
      isOver = this.#isEnough();
    }
    const read = from === ids.length ? ids : ids.slice(0, from);
    state.transcript.appendIds(read);
    this.#report(tokens, read);
    if (text === "") return true;
    const event = state.emitter.continuePart(text);
    if (event === undefined) {
      return this.#output.emit(state.emitter.push([{ type: "part-delta", text }]));
    }
    // Only the guard's check, or the room, prevented it.
    const isLikeDeferred = wasDeferring && text === ownText(ids);
    const canDefer = isLikeDeferred || (isVisible(ids.at(-1)) && isVerbatim(state));
    if (!isOver && canDefer) this.#makeRoom();
    return this.#output.emitDelta(event);
  }

  /** At most as many as the repetition guard takes before its next check. */
  #count(ids: readonly TokenId[], from: number, to: number): void {
    const { usage, repetition } = this.#state;
    usage.add(to - from);
    repetition?.pushIds(ids, from, to);
  }

  /** How many ids may be read before the next check. */
  #idsUntilCheck(): number {
    return Math.min(this.#state.repetition?.idsUntilCheck ?? Infinity, this.#idsUntilCut());
  }

  /** Nothing is deferred. */
  #makeRoom(): void {
    this.#room = Math.min(MOST_DEFERRED, this.#idsUntilCheck());
  }

  /** @param read those of the tokens that the turn has read, or will */
  #report(tokens: IdTokens, read: readonly TokenId[]): void {
    this.#onFact?.(tokens);
    this.#onFact?.({ type: "parsed", tokens: { type: "ids", ids: read } });
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

/** Whether no character is incomplete after this id, and its part is not empty to the eye. */
function isVisible(id: TokenId | undefined): boolean {
  return id !== undefined && /\S/.test(tokenText(id) ?? "");
}

/** Whether the text of the open part is that of its ids. Arguments may be repaired. */
function isVerbatim({ emitter }: TurnState): boolean {
  const kind = emitter.part?.kind;
  return kind === "reasoning" || kind === "preamble" || kind === "content";
}
