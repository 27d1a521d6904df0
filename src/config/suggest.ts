/** Returns ` Did you mean …?` for a misspelt name; empty if no known name is similar. */
export function suggest(name: string, known: readonly string[]): string {
  let best = { distance: Math.max(2, Math.floor(name.length / 3)) + 1, known: "" };
  for (const each of known) {
    const distance = editDistance(name, each);
    if (distance < best.distance) best = { distance, known: each };
  }
  return best.known === "" ? "" : ` Did you mean ${best.known}?`;
}

/** Levenshtein distance, for names of a few dozen letters. */
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const substitution = (previous[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1);
      const edit = Math.min(previous[column] ?? 0, current[column - 1] ?? 0) + 1;
      current.push(Math.min(substitution, edit));
    }
    previous = current;
  }
  return previous[b.length] ?? 0;
}
