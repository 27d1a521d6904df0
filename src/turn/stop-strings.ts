/**
 * Stop strings over streamed text, whatever pieces it comes in.
 *
 * An Aho–Corasick automaton: its state after each code unit is the longest end of the text that begins a stop
 * string. That end, and nothing more, is held back. The match that ends first counts, because later text cannot
 * change it; of several that end together, the longest. The match itself is never given out.
 */

export interface StopMatcher {
  /** The text that is certainly before any stop string. Nothing more comes after a match. */
  push(text: string): string;
  /** What was held back and turned out to be no match. */
  end(): string;
  /** The stop string that was found. */
  readonly matched: string | undefined;
  /** Transitions taken so far: at most two for each code unit of the text. */
  readonly steps: number;
}

export function createStopMatcher(stop: readonly string[]): StopMatcher {
  const root = createAutomaton(stop);
  let state = root;
  let held = "";
  let matched: string | undefined;
  let steps = 0;

  return {
    get matched() {
      return matched;
    },
    get steps() {
      return steps;
    },
    push(text) {
      if (matched !== undefined) return "";
      for (let at = 0; at < text.length; at++) {
        const unit = text.charCodeAt(at);
        let next: State | undefined;
        for (let from: State | undefined = state; from && !next; from = from.fallback) {
          next = from.next.get(unit);
          steps++;
        }
        state = next ?? root;
        if (state.found === undefined) continue;
        matched = state.found;
        const seen = held + text.slice(0, at + 1);
        held = "";
        return seen.slice(0, seen.length - matched.length);
      }
      const seen = held + text;
      const safe = seen.length - state.depth;
      held = seen.slice(safe);
      return seen.slice(0, safe);
    },
    end() {
      const rest = held;
      held = "";
      return rest;
    },
  };
}

interface State {
  /** Code units from the root: what is held back here. */
  readonly depth: number;
  readonly next: Map<number, State>;
  /** The state of the longest proper end of this one's text. The root has none. */
  fallback: State | undefined;
  /** The longest stop string that ends here. */
  found: string | undefined;
}

function createAutomaton(stop: readonly string[]): State {
  const root: State = { depth: 0, next: new Map(), fallback: undefined, found: undefined };
  for (const each of stop) {
    let state = root;
    for (let at = 0; at < each.length; at++) {
      const unit = each.charCodeAt(at);
      let next = state.next.get(unit);
      if (next === undefined) {
        next = { depth: at + 1, next: new Map(), fallback: root, found: undefined };
        state.next.set(unit, next);
      }
      state = next;
    }
    if (each !== "") state.found = each;
  }
  linkFallbacks(root);
  return root;
}

/** Breadth first, because the fallback of a state is always nearer to the root. */
function linkFallbacks(root: State): void {
  const waiting = [...root.next.values()];
  // The list grows while it is read.
  for (const state of waiting) {
    for (const [unit, next] of state.next) {
      let { fallback } = state;
      while (fallback && !fallback.next.has(unit)) ({ fallback } = fallback);
      next.fallback = fallback?.next.get(unit) ?? root;
      next.found ??= next.fallback.found;
      waiting.push(next);
    }
  }
}
