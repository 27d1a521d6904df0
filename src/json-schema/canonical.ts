/** Values by what they are, so that equal ones can be found in a set instead of by comparing all with all. */
import { type Sliced, TooMuchWork, type Work } from "./work.ts";

/** Beyond this the stack might not do. */
const MAX_DEPTH = 300;

/** A text that two JSON values share exactly when they are equal: members sorted, `1.0` and `1` alike. */
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
