/** Undoes a change of a text after the text was changed by others as well. */
import { commonLength } from "../../../common-length.ts";
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

/** Maximum pairs of lines to compare. Above it, the whole middle counts as replaced. */
const MAX_PAIRS = 4_000_000;

interface ComparedLine {
  /** `-`: the line is only in the first text. `+`: only in the second. */
  readonly sign: " " | "+" | "-";
  readonly text: string;
}

function compareLines(before: string, after: string): readonly ComparedLine[] {
  return compare(toLines(before), toLines(after));
}

function toLines(text: string): string[] {
  const lines = text.split(/\r?\n/);
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}

function compare(before: readonly string[], after: readonly string[]): ComparedLine[] {
  const head = commonLength(before, after);
  let tail = 0;
  const shorter = Math.min(before.length, after.length) - head;
  while (tail < shorter && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1;
  return [
    ...withSign(" ", before.slice(0, head)),
    ...compareMiddle(
      before.slice(head, before.length - tail),
      after.slice(head, after.length - tail),
    ),
    ...withSign(" ", before.slice(before.length - tail)),
  ];
}

function withSign(sign: ComparedLine["sign"], lines: readonly string[]): ComparedLine[] {
  return lines.map((text) => ({ sign, text }));
}

/** Compares lines by their longest common subsequence. */
function compareMiddle(before: readonly string[], after: readonly string[]): ComparedLine[] {
  if (before.length * after.length > MAX_PAIRS) {
    return [...withSign("-", before), ...withSign("+", after)];
  }
  const width = after.length + 1;
  /** Number of common lines in the remaining lines of both texts, by their two start indexes. */
  const common = new Uint32Array((before.length + 1) * width);
  const at = (b: number, a: number) => common[b * width + a] ?? 0;
  for (let b = before.length - 1; b >= 0; b -= 1) {
    for (let a = after.length - 1; a >= 0; a -= 1) {
      common[b * width + a] =
        before[b] === after[a] ? at(b + 1, a + 1) + 1 : Math.max(at(b + 1, a), at(b, a + 1));
    }
  }
  const lines: ComparedLine[] = [];
  let b = 0;
  let a = 0;
  while (b < before.length || a < after.length) {
    const old = before[b];
    const fresh = after[a];
    if (old !== undefined && old === fresh) {
      lines.push({ sign: " ", text: old });
      b += 1;
      a += 1;
    } else if (fresh === undefined || (old !== undefined && at(b + 1, a) >= at(b, a + 1))) {
      lines.push({ sign: "-", text: old ?? "" });
      b += 1;
    } else {
      lines.push({ sign: "+", text: fresh });
      a += 1;
    }
  }
  return lines;
}
