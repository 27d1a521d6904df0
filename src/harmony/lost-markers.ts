/**
 * Finds headers in completions whose markers an engine has removed: `analysisThey greet me.assistantfinalHello!`
 * (rule S9).
 *
 * A header word alone is weak evidence, since a sentence may begin with “analysis”. Joined words such as
 * `assistantfinal` are strong evidence. A call may leave `assistant to=functions.`.
 */

/** Whether text without any marker begins like one whose markers were removed. */
export function beginsLikeHeader(text: string): boolean {
  return /^\s*(?:assistant\s*)?(?:analysis|commentary|final)/.test(text);
}

/** Like {@link beginsLikeHeader}, for analysis, the only channel that must not be shown. */
export function beginsLikeAnalysis(text: string): boolean {
  return /^\s*(?:assistant\s*)?analysis/.test(text);
}

/**
 * Whether text without any marker begins with a header joined to its body: `analysisThey greet`, `final json{}`. This
 * is strong evidence of a header, even if no second one follows.
 */
export function beginsWithGluedHeader(text: string): boolean {
  return /^\s*(?:assistant\s*)?(?:analysis[\p{L}\p{N}]|(?:final|commentary) ?json\s*[{["])/u.test(
    text,
  );
}

/** Like {@link beginsLikeHeader}, if markers are known to be hidden. A recipient may then begin a header, too. */
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

/** Whether the text contains a header without markers. */
export function hasLostHeader(text: string): boolean {
  return LOST_HEADER.test(text);
}

/** Like {@link hasLostHeader}, including odd channel names: enough to suspect an engine, but not to split its text. */
export function suggestsLostHeader(text: string): boolean {
  return /assistant(?:analysis|commentary|final|thinking|thought|reasoning| to=functions\.)/i.test(
    text,
  );
}

export interface LostHeaderSplitter {
  /**
   * Adds text. Returns the text that is certain, split at headers: the first element continues the open message, each
   * further one begins a message with the name of its channel.
   */
  push(text: string): readonly [string, ...string[]];
  /** Returns the text held back because it could begin a header. */
  end(): string;
}

/** Finds headers without markers in text split anywhere. */
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
