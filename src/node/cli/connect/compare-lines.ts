/** Compares two texts by line. */
import { commonLength } from "../../../common-length.ts";

/** Maximum pairs of lines to compare. Above it, the whole middle counts as replaced. */
const MAX_PAIRS = 4_000_000;

export interface ComparedLine {
  /** `-`: the line is only in the first text. `+`: only in the second. */
  readonly sign: " " | "+" | "-";
  readonly text: string;
}

export function compareLines(before: string, after: string): readonly ComparedLine[] {
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
