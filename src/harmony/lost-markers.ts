/**
 * Completions whose markers an engine has stripped: `analysisThey greet me.assistantfinalHello!`
 * (rule S9).
 *
 * The words that are left are weak evidence, since a sentence may begin with “analysis”. The glued
 * ones are strong: nobody writes `assistantfinal`. A call may leave `assistant to=functions.`.
 */

/** Whether a text without any marker begins like one whose markers were stripped. */
export function beginsLikeHeader(text: string): boolean {
  return /^\s*(?:assistant\s*)?(?:analysis|commentary|final)/.test(text);
}

/** The same for a chain of thought, the only channel that must not be shown. */
export function beginsLikeAnalysis(text: string): boolean {
  return /^\s*(?:assistant\s*)?analysis/.test(text);
}

/**
 * Whether a text without any marker begins with a header glued to its body, as nobody writes: `analysisThey greet`,
 * `final json{}`. Enough to read it as a header, though no second one follows.
 */
export function beginsWithGluedHeader(text: string): boolean {
  return /^\s*(?:assistant\s*)?(?:analysis[\p{L}\p{N}]|(?:final|commentary) ?json\s*[{["])/u.test(
    text,
  );
}

/** The same where markers are known to be hidden: a call's header begins with its recipient. */
export function isHiddenHeader(text: string): boolean {
  return /^\s*(?:assistant\s*)?(?:analysis|commentary|final|to=functions\.)/.test(text);
}

const LOST_HEADER = /assistant(?=analysis|commentary|final| to=functions\.)/;
const LOST_HEADERS = [
  "assistantanalysis",
  "assistantcommentary",
  "assistantfinal",
  "assistant to=functions.",
];
/** The length of `assistant to=functions.`. */
export const LONGEST_LOST_HEADER = 23;

/** Whether a header without markers stands anywhere in the text. */
export function hasLostHeader(text: string): boolean {
  return LOST_HEADER.test(text);
}

export interface LostHeaderSplitter {
  /**
   * The text proven so far, cut where a header was: the first element continues the open message, each
   * further one begins a new one with the name of its channel.
   */
  push(text: string): readonly [string, ...string[]];
  /** The text that waited for the rest of a header. */
  end(): string;
}

/** Finds headers without markers in text that comes in any pieces. */
export function createLostHeaderSplitter(): LostHeaderSplitter {
  let waiting = "";
  return {
    push(text) {
      const all = waiting + text;
      const keep = waitingFrom(all);
      waiting = all.slice(keep);
      const [first = "", ...others] = all.slice(0, keep).split(LOST_HEADER);
      return [first, ...others];
    },
    end() {
      const rest = waiting;
      waiting = "";
      return rest;
    },
  };
}

function waitingFrom(text: string): number {
  let at = text.indexOf("a", Math.max(0, text.length - LONGEST_LOST_HEADER + 1));
  while (at >= 0) {
    const tail = text.slice(at);
    if (LOST_HEADERS.some((header) => header.length > tail.length && header.startsWith(tail)))
      return at;
    at = text.indexOf("a", at + 1);
  }
  return text.length;
}
