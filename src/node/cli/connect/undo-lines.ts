/** Undoes a change of a text after the text was changed by others as well. */
import { compareLines } from "./compare-lines.ts";
import { lineBreakOf } from "./edit/edit-error.ts";

/** Replacement of the lines from `start` up to `end` of a text. */
interface Replacement {
  readonly start: number;
  end: number;
  readonly lines: string[];
}

/**
 * The current text without the change from `before` to `after`. Undefined: the same lines were changed since, so that the undo is
 * ambiguous.
 */
export function undoLines(before: string, after: string, current: string): string | undefined {
  const replacements = [
    ...toReplacements(after, before),
    ...toReplacements(after, current),
  ].toSorted((a, b) => a.start - b.start || a.end - b.end);
  if (replacements.some((each, n) => isInConflict(replacements[n - 1], each))) return undefined;
  const lines = after.split(/\r?\n/);
  for (const { start, end, lines: others } of replacements.toReversed()) {
    lines.splice(start, end - start, ...others);
  }
  return lines.join(lineBreakOf(current));
}

function toReplacements(from: string, to: string): Replacement[] {
  const replacements: Replacement[] = [];
  let at = 0;
  let open: Replacement | undefined;
  for (const { sign, text } of compareLines(from, to)) {
    if (sign === " ") {
      open = undefined;
      at += 1;
      continue;
    }
    if (open === undefined) replacements.push((open = { start: at, end: at, lines: [] }));
    if (sign === "+") open.lines.push(text);
    else open.end = at += 1;
  }
  return replacements;
}

/** A TOML pair that was added after a table would move to another table if that table were removed. */
function isInConflict(first: Replacement | undefined, second: Replacement): boolean {
  if (first === undefined || second.start > first.end) return false;
  const isBehind = second.start === first.end && first.start < first.end;
  const added = second.lines.find((line) => line.trim() !== "") ?? "";
  return !isBehind || /^\s*[\w."'-]+\s*=/.test(added);
}

/** Lines shown before and after a change. */
const CONTEXT = 2;

/** The changes as lines that begin with `+`, `-`, or a space for unchanged ones. Lines far from a change are left out. */
export function toLineChanges(before: string, after: string): string {
  const lines = compareLines(before, after);
  const isNear = (n: number) =>
    lines.slice(Math.max(0, n - CONTEXT), n + CONTEXT + 1).some(({ sign }) => sign !== " ");
  const shown = lines.map(({ sign, text }, n) =>
    isNear(n) ? `${sign} ${text}`.trimEnd() : undefined,
  );
  // One separator stands for all lines between two changes.
  return shown
    .filter((line, n) => line !== undefined || n === 0 || shown[n - 1] !== undefined)
    .map((line) => line ?? "  …")
    .join("\n");
}
