/**
 * The short way of ordinary frames: server-sent events that differ from an earlier one of the same stream only in their
 * text and their ids.
 *
 *     data: {"id":"cmpl-1",…,"choices":[{"index":0,"text":" word","logprobs":null,…,"token_ids":[1234]}]}↵↵
 *     └───────────────── head ───────────────────────────┘     └──────── middle ────────────┘    └ tail ┘
 *
 * Everything but text and ids is compared, so that nothing a server says beside them is lost: a finish, usage, an error.
 * A frame costs 60 ns this way, where cutting it out and searching its keys takes 300 ns and JSON.parse 900 ns.
 */
import type { TokenId } from "../tokenizer/tokenizer.ts";
import { readIdList } from "./id-list.ts";

/** Whether a frame says nothing but this text and these ids. */
export type IsPlainFrame = (frame: string, text: string, ids: readonly TokenId[]) => boolean;

/** A longer frame is none to expect again: vLLM's first one repeats the prompt. In characters. */
const MAX_FRAME_CHARS = 2000;
/**
 * The first frame that is learned from. Learning takes as long as reading fifty frames, and short answers end before it. Not
 * the very first, which is like no other.
 */
const FIRST_LEARNED = 16;
/** No more are learned from, in a stream whose frames differ in more than text and ids. */
const MOST_LEARNED = 4;

const PREFIX = "data: ";
const TEXT_KEY = '"text":"';
const IDS_KEY = '"token_ids":[';
/** Stands for any text. */
const ANY_TEXT = "any text";
/** Stand for any ids. */
const ANY_IDS: readonly TokenId[] = [7, 200_005, 11];

export class OrdinaryFrames {
  readonly #isPlain: IsPlainFrame;
  #head = "";
  #middle = "";
  #tail = "";
  #seen = 0;
  readonly #firstLearned: number;

  /** @param firstLearned the frame, from 1 on, that is first learned from. */
  constructor(isPlain: IsPlainFrame, firstLearned = FIRST_LEARNED) {
    this.#isPlain = isPlain;
    this.#firstLearned = firstLearned;
  }

  /**
   * Reads the frame at `at` and adds its ids to `into`. Returns where it ends, or -1, with nothing added, for a frame of
   * any other form, and until one has been learned.
   */
  read(text: string, at: number, into: TokenId[]): number {
    const { length } = this.#head;
    // A slice is compared natively; `startsWith` compares so long a text four times slower.
    if (length === 0 || text.slice(at, at + length) !== this.#head) return -1;
    const textEnd = endOfString(text, at + length);
    const idsAt = textEnd + this.#middle.length;
    if (text.slice(textEnd, idsAt) !== this.#middle) return -1;
    const before = into.length;
    const idsEnd = readIdList(text, idsAt, into);
    if (idsEnd === -1) return -1;
    const end = idsEnd + this.#tail.length;
    if (text.slice(idsEnd, end) === this.#tail) return end;
    into.length = before;
    return -1;
  }

  /** Learns the form of an event that has been read in another way: further ones like it need not be. */
  learn(event: string): void {
    const tried = this.#seen++ - this.#firstLearned + 1;
    if (tried < 0 || tried >= MOST_LEARNED || event.length > MAX_FRAME_CHARS) return;
    const textAt = event.indexOf(TEXT_KEY) + TEXT_KEY.length;
    const textEnd = endOfString(event, textAt);
    const idsAt = event.lastIndexOf(IDS_KEY) + IDS_KEY.length;
    const idsEnd = event.indexOf("]", idsAt);
    if (textAt < TEXT_KEY.length || idsAt < textEnd || idsEnd === -1) return;
    const head = event.slice(0, textAt);
    const middle = event.slice(textEnd, idsAt);
    const tail = event.slice(idsEnd);
    // Another text in the place of a string is another string, and so with ids: what holds for these holds for any.
    const sample = head + ANY_TEXT + middle + ANY_IDS.join(",") + tail;
    if (!this.#isPlain(sample, ANY_TEXT, ANY_IDS)) return;
    [this.#head = "", this.#middle = "", this.#tail = ""] = copyOf([
      PREFIX + head,
      middle,
      `${tail}\n\n`,
    ]);
  }
}

/** Where a JSON string ends whose content begins at `at`; the length of the text if it does not. */
function endOfString(text: string, at: number): number {
  for (let i = at; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === QUOTE) return i;
    // Not in JSON, and the end of a line is the end of an event.
    if (code < SPACE) return text.length;
    if (code === BACKSLASH) i++;
  }
  return text.length;
}

const QUOTE = 34;
const SPACE = 32;
const BACKSLASH = 92;

/** A part of a string keeps the whole of it, here a read of up to 64 KB. */
function copyOf(texts: readonly string[]): string[] {
  return JSON.parse(JSON.stringify(texts));
}
