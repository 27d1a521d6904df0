/**
 * Stop strings over streamed text, whatever pieces it comes in.
 *
 * Text that may be the beginning of a stop string is held back, by its longest overlap and by nothing
 * more; the match itself is never given out.
 */

export interface StopMatcher {
  /** The text that is certainly before any stop string. Nothing more comes after a match. */
  push(text: string): string;
  /** What was held back and turned out to be no match. */
  end(): string;
  /** The stop string that was found. */
  readonly matched: string | undefined;
}

export function createStopMatcher(stop: readonly string[]): StopMatcher {
  const longest = Math.max(0, ...stop.map((each) => each.length));
  let held = "";
  let matched: string | undefined;

  return {
    get matched() {
      return matched;
    },
    push(text) {
      if (matched !== undefined) return "";
      held += text;
      const found = earliest(held, stop);
      if (found) {
        matched = found.stop;
        const before = held.slice(0, found.at);
        held = "";
        return before;
      }
      // A match can begin in the last `longest - 1` characters only.
      let keepFrom = Math.max(0, held.length - longest + 1);
      while (keepFrom < held.length && !beginsAny(held, keepFrom, stop)) keepFrom++;
      const safe = held.slice(0, keepFrom);
      held = held.slice(keepFrom);
      return safe;
    },
    end() {
      const rest = held;
      held = "";
      return rest;
    },
  };
}

/** The match that begins first; of two that begin together, the longer. */
function earliest(text: string, stop: readonly string[]): { at: number; stop: string } | undefined {
  let best: { at: number; stop: string } | undefined;
  for (const each of stop) {
    const at = text.indexOf(each);
    if (at < 0) continue;
    if (!best || at < best.at || (at === best.at && each.length > best.stop.length)) {
      best = { at, stop: each };
    }
  }
  return best;
}

function beginsAny(text: string, from: number, stop: readonly string[]): boolean {
  const tail = text.slice(from);
  return stop.some((each) => each.startsWith(tail));
}
