/**
 * The short way of ordinary ids, from a read of the engine to the event of the turn.
 *
 * Nearly all output only continues a part that is open: ids without a special one, in a body whose text is passed on at
 * once, in a turn that holds nothing back and can only be cut after a number of such ids that is known before. Such a read
 * becomes one delta here, without lists of events in between. Whatever is not provably so takes the long way
 * (`sample.ts`), from which nothing differs but the time: every counter, the transcript, the guard, the decoder's rest
 * and the recorded facts are the same afterwards. `ordinary.property.test.ts` compares the two.
 *
 * Of most such ids, only the text is wanted at once. What they change in the turn is not asked for before the repetition
 * guard's next check or the end of a budget, or before something else comes. Until then they are deferred: their text is
 * passed on, and they are read together afterwards. Between two tokens of a stream come those of all others, so that its
 * objects have left the processor's cache: to read an id touches a dozen of them, to defer it one and a list.
 *
 * Its other two stages keep to their folders: `engines/ordinary-frames.ts` reads the ids off the engine's frame, and the
 * writers of the APIs put the delta's text between two constant strings.
 */
import type { EngineTokens } from "../engines/engine.ts";
import type { Consumer, Demand } from "../streams/push-stream.ts";
import { type TokenId, tokenText } from "../tokenizer/index.ts";
import type { TokenClock, TokenHolder, TokenListener } from "./facts.ts";
import {
  idOf,
  LONGEST_TIME,
  MOST_NOTES,
  type NotesStart,
  SAME_READ,
  type TokenNote,
  toNote,
} from "./token-notes.ts";
import type { TurnEvent } from "./turn.ts";
import type { TurnOutput } from "./turn-output.ts";
import type { TurnState } from "./turn-state.ts";

type IdTokens = Extract<EngineTokens, { type: "ids" }>;

/** Fewer are deferred if the repetition guard has to check earlier, or a budget ends. */
const MOST_DEFERRED = 32;
/** Shorter than any time. */
const NONE = -1;
/** Where times do not matter. */
const NO_CLOCK: TokenClock = { alike: 0, answer: 0, now: () => 0 };
const NO_NOTES = new Uint32Array(0);

export interface OrdinaryOptions {
  /**
   * Is asked at each check of the repetition guard, after `idsUntilCut` ids, and at the end of a read that is not deferred. After
   * `true` the rest is not read.
   */
  readonly isEnough: () => boolean;
  /** Default: any number. */
  readonly idsUntilCut?: (() => number) | undefined;
}

/**
 * The ordinary reads of one engine call.
 *
 * The listener of a turn is told of many of these ids at once, for the same reason: until then a note of each is kept.
 */
export class OrdinaryReads implements TokenHolder {
  /** The first `#length` are deferred, or were. While nobody listens, they have no time and are the ids themselves. */
  readonly #notes = Array<TokenNote>(MOST_DEFERRED).fill(0);
  #length = 0;
  /** The length up to which ids may be deferred. 0: none, because the open part may not pass on the text of its ids as it is. */
  #room = 0;
  /** While somebody listens. */
  readonly #clock: TokenClock | undefined;
  /** The time of the last start, and the longest that the next note may have: none, if it is the first that is kept. */
  #start = 0;
  #longest = NONE;
  /** The number of the next read. */
  #number = 0;
  /** Takes the deltas of deferred ids. */
  #consumer: Consumer<TurnEvent>;
  // Of the state, which need not be touched for a deferred id.
  readonly #output: TurnOutput;
  // What follows is touched with some tens of ids.
  /** Index of the first id that is still to be read. */
  #unread = 0;
  /** Index of the first note that is still to be kept. */
  #unkept = 0;
  /** Those that the listener is still to be told of: the first `#keptLength`, and after them those from `#unkept` on. */
  #kept = NO_NOTES;
  #keptLength = 0;
  readonly #starts: NotesStart[] = [];
  readonly #listener: TokenListener | undefined;
  readonly #state: TurnState;
  readonly #isEnough: () => boolean;
  readonly #idsUntilCut: () => number;

  constructor(state: TurnState, { isEnough, idsUntilCut = () => Infinity }: OrdinaryOptions) {
    this.#state = state;
    this.#isEnough = isEnough;
    this.#idsUntilCut = idsUntilCut;
    this.#output = state.output;
    this.#consumer = state.output.consumer;
    this.#listener = state.tokens;
    this.#clock = state.tokens && (state.tokens.clock ?? NO_CLOCK);
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
    const clock = this.#clock;
    let time = 0;
    if (clock !== undefined) {
      // Not in a method of the clock: to call it would take longer than what it does.
      if (clock.alike > 0) {
        clock.alike -= 1;
        time = clock.answer - this.#start;
      } else {
        time = clock.now() - this.#start;
      }
    }
    if (ids.length > this.#room - this.#length && this.#room > 0) this.#readDeferred();
    const text = this.#defer(ids, time);
    if (text === "") return this.#read(tokens, time);
    let token: number | undefined;
    if (clock !== undefined) {
      const isNoted = time <= this.#longest && time >= 0 && tokens.cachedTokens === undefined;
      token = isNoted ? this.#number++ : this.#noteFirst(tokens, time);
    }
    const demand = this.#output.deliver({ type: "part-delta", text, token }, this.#consumer);
    if (this.#length === this.#room) this.#readDeferred();
    return demand;
  }

  /** Reads what is deferred. To be called before anything else reads or changes the turn. */
  settle(): void {
    this.#room = 0;
    const from = this.#unread;
    if (from === this.#length) return;
    this.#unread = this.#length;
    const ids = this.#notes.slice(from, this.#length);
    if (this.#clock !== undefined) {
      for (let at = 0; at < ids.length; at++) ids[at] = idOf(ids[at] ?? 0);
      this.#keep(this.#length);
    }
    const { parser, emitter, transcript } = this.#state;
    this.#count(ids, 0, ids.length);
    parser.countBody(ids.length);
    emitter.addEmitted(ids);
    transcript.appendIds(ids);
  }

  /** Tells the listener of what is noted. */
  tell(): void {
    this.#tellTo(this.#length);
  }

  /** Returns the ids' text. Empty, with nothing deferred, if they have to be read. @param noted time of the first one's note */
  #defer(ids: readonly TokenId[], noted: number): string {
    const length = this.#length + ids.length;
    if (length > this.#room || ids.length === 0) return "";
    const text = ownText(ids) ?? "";
    if (text === "") return "";
    let time = noted;
    for (let at = 0; at < ids.length; at++) {
      this.#notes[this.#length + at] = toNote(ids[at] ?? 0, time);
      if (this.#clock !== undefined) time = SAME_READ;
    }
    this.#length = length;
    return text;
  }

  /** Reads all that are deferred, because it has to be asked whether that is enough, or there is no room for more. */
  #readDeferred(): void {
    this.settle();
    if (this.#keptLength > MOST_NOTES - MOST_DEFERRED) this.tell();
    if (!this.#isEnough()) this.#makeRoom();
  }

  /** @param time as that of a note */
  #read(tokens: IdTokens, time: number): Demand | undefined {
    const wasDeferring = this.isDeferring;
    this.settle();
    const state = this.#state;
    const { ids } = tokens;
    const { stop, topLogprobs } = state.turn;
    if (state.takesLongWay || stop.length > 0 || topLogprobs !== undefined) return undefined;
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
    // Only the guard's check, or the room, was in its way.
    const isLikeDeferred = wasDeferring && !isOver && text === ownText(ids);
    let token: number | undefined;
    if (isLikeDeferred && this.#canKeep(tokens)) token = this.#note(ids, time);
    else this.#report(tokens, read);
    if (text === "") return true;
    const event = state.emitter.continuePart(text);
    if (event === undefined)
      return this.#output.emit(state.emitter.push([{ type: "part-delta", text }]));
    if (isLikeDeferred || (!isOver && isVisible(ids.at(-1)) && isVerbatim(state))) this.#makeRoom();
    if (token === undefined) return this.#output.deliver(event, this.#output.consumer);
    return this.#output.deliver({ type: "part-delta", text, token }, this.#consumer);
  }

  /** At most as many as the repetition guard takes before its next check. */
  #count(ids: readonly TokenId[], from: number, to: number): void {
    const { usage, repetition } = this.#state;
    usage.add(to - from);
    repetition?.pushIds(ids, from, to);
  }

  /** How many ids may be read before it has to be asked whether that is enough. */
  #idsUntilCheck(): number {
    return Math.min(this.#state.repetition?.idsUntilCheck ?? Infinity, this.#idsUntilCut());
  }

  /** Nothing is deferred. */
  #makeRoom(): void {
    this.#consumer = this.#output.consumerOfDeltas();
    this.#length = this.#unread = this.#unkept = 0;
    this.#room = Math.min(MOST_DEFERRED, this.#idsUntilCheck());
  }

  /** For a read whose ids were deferred, and whose time is no note's. Returns its number if it has one. */
  #noteFirst(tokens: IdTokens, time: number): number | undefined {
    const { ids, cachedTokens } = tokens;
    const first = this.#length - ids.length;
    if (cachedTokens !== undefined) {
      this.#tellTo(first);
      this.#unkept = this.#length;
      this.#listener?.noteRead(tokens);
      return undefined;
    }
    this.#notes[first] = toNote(ids[0] ?? 0, 0);
    return this.#begin(this.#keptLength + first - this.#unkept, time);
  }

  /** Whether a read can be noted that was not deferred. */
  #canKeep({ ids, cachedTokens }: IdTokens): boolean {
    if (this.#clock === undefined || cachedTokens !== undefined) return false;
    return this.#keptLength + ids.length <= MOST_NOTES - MOST_DEFERRED;
  }

  /** Notes a read that was not deferred, while nothing is. Returns its number. */
  #note(ids: readonly TokenId[], since: number): number {
    const fits = since <= this.#longest && since >= 0;
    const number = fits ? this.#number++ : this.#begin(this.#keptLength, since);
    let time = fits ? since : 0;
    for (const id of ids) {
      this.#kept[this.#keptLength++] = toNote(id, time);
      time = SAME_READ;
    }
    return number;
  }

  /** From the note at an index among those kept, times are counted from its own. Returns its number. */
  #begin(at: number, since: number): number {
    this.#start += since;
    const isFirst = this.#starts.length === 0;
    this.#starts.push({ at, time: this.#start });
    if (!isFirst) return this.#number++;
    if (this.#kept === NO_NOTES) this.#kept = new Uint32Array(MOST_NOTES);
    this.#longest = LONGEST_TIME;
    const number = this.#listener?.begin(this) ?? 0;
    this.#number = number + 1;
    return number;
  }

  /** Keeps the notes before this index. */
  #keep(end: number): void {
    for (let at = this.#unkept; at < end; at++) {
      this.#kept[this.#keptLength++] = this.#notes[at] ?? 0;
    }
    this.#unkept = end;
  }

  /** Tells the listener of the notes before this index. */
  #tellTo(end: number): void {
    this.#longest = NONE;
    if (this.#starts.length === 0) return;
    this.#keep(end);
    this.#listener?.noteTokens(this.#kept.subarray(0, this.#keptLength), this.#starts);
    this.#keptLength = 0;
    this.#starts.length = 0;
  }

  /** @param read those of the tokens that the turn has read, or will */
  #report(tokens: IdTokens, read: readonly TokenId[]): void {
    const { onFact, tokens: listener } = this.#state;
    this.tell();
    if (read === tokens.ids && listener !== undefined) return listener.noteRead(tokens);
    onFact?.(tokens);
    onFact?.({ type: "parsed", tokens: { type: "ids", ids: read } });
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
