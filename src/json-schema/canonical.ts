/** Canonical forms of JSON values, so that duplicates are found with a set instead of comparing all pairs. */
import { type Sliced, TooMuchWork, type Work } from "./work.ts";

/** Limit for recursion, to prevent a stack overflow. */
const MAX_DEPTH = 300;

/**
 * Returns a text that is equal for two JSON values if and only if the values are equal: keys are sorted, and `1.0`
 * equals `1`.
 */
export function* toCanonicalForm(value: unknown, work: Work, depth = 0): Sliced<string> {
  if (typeof value === "string") {
    work.spend(1 + (value.length >> 5));
    return JSON.stringify(value);
  }
  work.spend(1);
  if (typeof value !== "object" || value === null) return String(value === 0 ? 0 : value);
  if (depth > MAX_DEPTH) throw new TooMuchWork();
  if (work.due) yield;
  const parts: string[] = [];
  if (Array.isArray(value)) {
    for (const each of value) parts.push(yield* toCanonicalForm(each, work, depth + 1));
    return joined("[", parts, "]", work);
  }
  for (const [key, each] of Object.entries(value).toSorted(byKey)) {
    parts.push(`${JSON.stringify(key)}:${yield* toCanonicalForm(each, work, depth + 1)}`);
  }
  return joined("{", parts, "}", work);
}

function joined(open: string, parts: readonly string[], close: string, work: Work): string {
  const text = `${open}${parts.join(",")}${close}`;
  work.spend(text.length >> 7);
  return text;
}

function byKey([a]: [string, unknown], [b]: [string, unknown]): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
