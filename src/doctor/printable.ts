/** Makes text from a server or a model safe to print on one line: without control characters, and shortened. */

/** @param most maximum characters; longer text is cut. */
export function printable(text: string, most = 200): string {
  // Control characters and bidirectional marks could rewrite what a terminal shows.
  const clean = text.replaceAll(
    /[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]+/gu,
    " ",
  );
  return clean.length > most ? `${clean.slice(0, most - 1)}…` : clean;
}

/** Between backticks, as code. */
export function quoted(text: string, most = 60): string {
  return `\`${printable(text, most).replaceAll("`", "'")}\``;
}

/** `2 answers`, `1 answer`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** A duration for people: `0.4 ms`, `12 ms`, `3.4 s`. */
export function duration(ms: number): string {
  if (ms >= 10_000) return `${Math.round(ms / 1000)} s`;
  if (ms >= 1000) return `${(ms / 1000).toFixed(1)} s`;
  return ms >= 10 ? `${Math.round(ms)} ms` : `${ms.toFixed(1)} ms`;
}
