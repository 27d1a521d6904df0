/**
 * Tokens that encode when they were sent: word number `n` stands for a moment, so the receiver of the text knows its
 * age, whatever was done to it in between.
 *
 * All processes of a run read the same clock (`process.hrtime`, CLOCK_MONOTONIC).
 */
import { tokenText } from "../../../src/tokenizer/index.ts";
import type { TokenId } from "../../../src/tokenizer/index.ts";

export interface Word {
  readonly id: TokenId;
  /** A space and lower-case letters: JSON escapes and neighbouring tokens do not change the text. */
  readonly text: string;
}

const COUNT = 32_768;
const MICROSECONDS_PER_WORD = 4;
/** The longest age that can be measured: 131 ms. */
export const WINDOW_MS = (COUNT * MICROSECONDS_PER_WORD) / 1000;

const ORDINARY_IDS = 199_998;

/** The first {@link COUNT} tokens of the vocabulary that are a space and lower-case letters. */
export const WORDS: readonly Word[] = findWords();

const numbers = new Map(WORDS.map(({ text }, number) => [text, number]));

export function nowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** The word for a moment of {@link nowMs}. */
export function wordFor(ms: number): Word {
  return wordAt(Math.floor((ms * 1000) / MICROSECONDS_PER_WORD));
}

/** Words in an order without short repetitions. */
export function wordAt(number: number): Word {
  const word = WORDS[number % COUNT];
  if (word === undefined) throw new RangeError(`no word ${number}`);
  return word;
}

/** The age of the word, below {@link WINDOW_MS}. Undefined: not one of these words. */
export function ageMs(text: string, receivedMs: number): number | undefined {
  const number = numbers.get(text);
  if (number === undefined) return undefined;
  const sentMs = (number * MICROSECONDS_PER_WORD) / 1000;
  return (((receivedMs - sentMs) % WINDOW_MS) + WINDOW_MS) % WINDOW_MS;
}

function findWords(): Word[] {
  const words: Word[] = [];
  for (let id = 0; id < ORDINARY_IDS && words.length < COUNT; id++) {
    const text = tokenText(id);
    if (text !== undefined && /^ [a-z]+$/.test(text)) words.push({ id, text });
  }
  return words;
}
