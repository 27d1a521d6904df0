/**
 * The short way of ordinary ids, from a read of the engine to the event of the turn.
 *
 * Nearly all output only continues a part that is open: ids without a special one, in a body whose text is passed on at
 * once, in a turn that holds nothing back and can only be cut between two checks of the repetition guard. Such a read
 * becomes one delta here, without lists of events in between. Whatever is not provably so takes the long way
 * (`sample.ts`), from which nothing differs but the time: every counter, the transcript, the guard, the decoder's rest
 * and the recorded facts are the same afterwards. `ordinary.property.test.ts` compares the two.
 *
 * Of most such ids, only the text is wanted at once. What they change in the turn is not asked for before the guard's next
 * check, or before something else comes. Until then they are deferred: their text is passed on, and they are read together
 * afterwards. Between two tokens of a stream come those of all others, so that its objects have left the processor's cache:
 * to read an id touches a dozen of them, to defer it one and a list.
 *
 * Its other two stages keep to their folders: `engines/ordinary-frames.ts` reads the ids off the engine's frame, and the
 * writers of the APIs put the delta's text between two constant strings.
 */
import type { EngineTokens } from "../engines/engine.ts";
import type { Consumer, Demand } from "../streams/push-stream.ts";
import { type TokenId, tokenText } from "../tokenizer/index.ts";
import { TokenNotes } from "./token-notes.ts";
import type { TurnEvent } from "./turn.ts";
import type { TurnOutput } from "./turn-output.ts";
import type { TurnState } from "./turn-state.ts";

type IdTokens = Extract<EngineTokens, { type: "ids" }>;

/** Fewer are deferred if the repetition guard has to check earlier. */
const MOST_DEFERRED = 32;

/** The ordinary reads of one engine call. */
export class OrdinaryReads {
  readonly #state: TurnState;
  readonly #isEnough: () => boolean;
  /** The first `#length` are deferred. */
  readonly #ids: TokenId[] = Array<TokenId>(MOST_DEFERRED).fill(0);
  #length = 0;
  /** Ids that may be deferred. 0: none, because the open part may not pass on the text of its ids as it is. */
  #room = 0;
  /** Takes the deltas of deferred ids. */
  #consumer: Consumer<TurnEvent>;
  // Of the state, which need not be touched for a deferred id.
  readonly #output: TurnOutput;
  /** While somebody listens. */
  readonly #notes: TokenNotes | undefined;

  /**
   * @param isEnough is asked at each check of the repetition guard, and at the end of a read that is not deferred; after
   * `true` the rest is not read.
   */
  constructor(state: TurnState, isEnough: () => boolean) {
    this.#state = state;
    this.#isEnough = isEnough;
    this.#output = state.output;
    this.#consumer = state.output.consumer;
    if (state.tokens !== undefined) this.#notes = new TokenNotes(state.tokens);
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
    const text = this.#defer(tokens.ids);
    if (text === "") return this.#read(tokens);
    const token = this.#notes && this.#note(tokens, this.#notes);
    const demand = this.#output.deliver({ type: "part-delta", text, token }, this.#consumer);
    if (this.#length === this.#room) this.#readDeferred();
    return demand;
  }

  /** Reads what is deferred. To be called before anything else reads or changes the turn. */
  settle(): void {
    this.#room = 0;
    if (this.#length === 0) return;
    const ids = this.#ids.slice(0, this.#length);
    this.#length = 0;
    const { parser, emitter, transcript } = this.#state;
    this.#count(ids, 0, ids.length);
    parser.countBody(ids.length);
    emitter.addEmitted(ids);
    transcript.appendIds(ids);
  }

  /** Returns the ids' text. Empty, with nothing deferred, if they have to be read. */
  #defer(ids: readonly TokenId[]): string {
    let text = "";
    const length = this.#length + ids.length;
    if (length > this.#room || ids.length === 0) return "";
    for (let at = 0; at < ids.length; at++) {
      const id = ids[at] ?? 0;
      const own = tokenText(id);
      // A control token, or part of a character.
      if (own === undefined) return "";
      text += own;
      this.#ids[this.#length + at] = id;
    }
    this.#length = length;
    return text;
  }

  /** Reads all that are deferred, because the repetition guard has to check or there is no room for more. */
  #readDeferred(): void {
    this.settle();
    if (this.#notes?.areMany === true) this.#notes.tell();
    if (!this.#isEnough()) this.#makeRoom();
  }

  #read(tokens: IdTokens): Demand | undefined {
    this.settle();
    const state = this.#state;
    const { ids } = tokens;
    if (state.takesLongWay || state.turn.stop.length > 0 || ids.length === 0) return undefined;
    if (!state.parser.canContinueBody(ids)) return undefined;

    const { repetition } = state;
    let text = "";
    let from = 0;
    let isOver = false;
    while (from < ids.length && !isOver) {
      const to = Math.min(ids.length, from + (repetition?.idsUntilCheck ?? ids.length));
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
    if (event === undefined)
      return this.#output.emit(state.emitter.push([{ type: "part-delta", text }]));
    if (!isOver && isVisible(ids.at(-1)) && isVerbatim(state)) this.#makeRoom();
    return this.#output.deliver(event, this.#output.consumer);
  }

  /** At most as many as the repetition guard takes before its next check. */
  #count(ids: readonly TokenId[], from: number, to: number): void {
    const { usage, repetition } = this.#state;
    usage.add(to - from);
    repetition?.pushIds(ids, from, to);
  }

  #makeRoom(): void {
    this.#consumer = this.#output.consumerOfDeltas();
    this.#room = Math.min(MOST_DEFERRED, this.#state.repetition?.idsUntilCheck ?? MOST_DEFERRED);
  }

  /** Notes a read whose ids were deferred. Returns the number of its id if it has but one. */
  #note(tokens: IdTokens, notes: TokenNotes): number | undefined {
    const { ids, cachedTokens } = tokens;
    if (ids.length === 1 && cachedTokens === undefined) return notes.add(ids[0] ?? 0);
    this.#report(tokens, ids);
    return undefined;
  }

  /** @param read those of the tokens that the turn has read, or will */
  #report(tokens: IdTokens, read: readonly TokenId[]): void {
    const { onFact, tokens: listener } = this.#state;
    this.#notes?.tell();
    if (read === tokens.ids && listener !== undefined) return listener.noteRead(tokens);
    onFact?.(tokens);
    onFact?.({ type: "parsed", tokens: { type: "ids", ids: read } });
  }
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
