/**
 * Matches stop strings in streamed text, split anywhere.
 *
 * An Aho–Corasick automaton. Its state after each code unit is the longest suffix of the text that is a prefix of a
 * stop string; exactly that suffix is held back. The match that ends first wins, because later text cannot change it;
 * if several end together, the longest wins. The match itself is not returned.
 */

export interface StopMatcher {
  /** Reads text in which matches do not count, but may begin. Returns the part in which no match begins. */
  skip(text: string): string;
  /** Returns the text that is certainly before any stop string. Returns nothing more after a match. */
  push(text: string): string;
  /** Returns the held-back text that turned out not to match. */
  end(): string;
  /** The stop string that was found. */
  matched(): string | undefined;
  /** Transitions so far: at most two per code unit of text. */
  steps(): number;
}

export function createStopMatcher(stop: readonly string[]): StopMatcher {
  const root = createAutomaton(stop);
  let state = root;
  let held = "";
  let matched: string | undefined;
  let steps = 0;

  function follow(unit: number): void {
    let next: State | undefined;
    for (let from: State | undefined = state; from && !next; from = from.fallback) {
      next = from.next.get(unit);
      steps++;
    }
    state = next ?? root;
  }

  function hold(text: string): string {
    const seen = held + text;
    const safe = seen.length - state.depth;
    held = seen.slice(safe);
    return seen.slice(0, safe);
  }

  return {
    matched: () => matched,
    steps: () => steps,
    skip(text) {
      for (let at = 0; at < text.length; at++) follow(text.charCodeAt(at));
      return hold(text);
    },
    push(text) {
      if (matched !== undefined) return "";
      for (let at = 0; at < text.length; at++) {
        follow(text.charCodeAt(at));
        if (state.found === undefined) continue;
        matched = state.found;
        const seen = held + text.slice(0, at + 1);
        held = "";
        return seen.slice(0, seen.length - matched.length);
      }
      return hold(text);
    },
    end() {
      const rest = held;
      held = "";
      return rest;
    },
  };
}

interface State {
  /** Distance from the root in code units: the length of the held-back text. */
  readonly depth: number;
  readonly next: Map<number, State>;
  /** The state of the longest proper suffix. The root has none. */
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

/** Breadth first, since a state's fallback is always closer to the root. */
function linkFallbacks(root: State): void {
  const waiting = [...root.next.values()];
  // The list grows during iteration.
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
