/** What differs between two texts, line by line, for a reader. */
import { compareLines } from "./compare-lines.ts";

/** Lines shown before and after a change. */
const CONTEXT = 2;

/** Lines that begin with `+`, `-`, or a space for what stays. Far from a change nothing is shown. */
export function toLineChanges(before: string, after: string): string {
  const lines = compareLines(before, after);
  const isNear = (n: number) =>
    lines.slice(Math.max(0, n - CONTEXT), n + CONTEXT + 1).some(({ sign }) => sign !== " ");
  const shown = lines.map(({ sign, text }, n) =>
    isNear(n) ? `${sign} ${text}`.trimEnd() : undefined,
  );
  // One sign for all lines between two changes.
  return shown
    .filter((line, n) => line !== undefined || n === 0 || shown[n - 1] !== undefined)
    .map((line) => line ?? "  …")
    .join("\n");
}
