/**
 * Notices a model that has begun to repeat itself and will not stop: the last stretch of tokens is the
 * same few tokens over and over.
 */
import type { TokenId } from "../tokenizer/index.ts";

/** The longest period looked for, in tokens. */
const MAX_PERIOD = 64;
/** So many tokens must be periodic before anybody speaks of a loop: lists and tables repeat, too. */
const MIN_REPEATED = 384;
/** Looking costs up to `MAX_PERIOD × MIN_REPEATED` comparisons, so it is done this often only. */
const INTERVAL = 32;

export interface RepetitionGuard {
  push(ids: readonly TokenId[]): void;
  readonly looping: boolean;
}

export function createRepetitionGuard(): RepetitionGuard {
  let recent: TokenId[] = [];
  let sinceLook = 0;
  let looping = false;
  return {
    push(ids) {
      for (const id of ids) recent.push(id);
      sinceLook += ids.length;
      if (sinceLook < INTERVAL) return;
      sinceLook = 0;
      recent = recent.slice(-MIN_REPEATED - MAX_PERIOD);
      looping = isPeriodic(recent);
    },
    get looping() {
      return looping;
    },
  };
}

function isPeriodic(ids: readonly TokenId[]): boolean {
  for (let period = 1; period <= MAX_PERIOD; period++) {
    const from = ids.length - MIN_REPEATED;
    if (from - period < 0) return false;
    let at = ids.length - 1;
    while (at >= from && ids[at] === ids[at - period]) at--;
    if (at < from) return true;
  }
  return false;
}
