/** What differs between two texts, line by line, for a reader. */

/** Lines shown before and after a change. */
const CONTEXT = 2;
/** Comparing more pairs of lines would take too long: the whole middle is shown as replaced. */
const MAX_PAIRS = 4_000_000;

interface Line {
  readonly sign: " " | "+" | "-";
  readonly text: string;
}

/** Lines that begin with `+`, `-`, or a space for what stays. Far from a change nothing is shown. */
export function toLineChanges(before: string, after: string): string {
  const lines = compare(toLines(before), toLines(after));
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

function toLines(text: string): string[] {
  const lines = text.split(/\r?\n/);
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}

function compare(before: readonly string[], after: readonly string[]): Line[] {
  let head = 0;
  while (head < Math.min(before.length, after.length) && before[head] === after[head]) head += 1;
  let tail = 0;
  const shorter = Math.min(before.length, after.length) - head;
  while (tail < shorter && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1;
  return [
    ...same(before.slice(0, head)),
    ...compareMiddle(
      before.slice(head, before.length - tail),
      after.slice(head, after.length - tail),
    ),
    ...same(before.slice(before.length - tail)),
  ];
}

function same(lines: readonly string[]): Line[] {
  return lines.map((text) => ({ sign: " ", text }));
}

function removed(text: string): Line {
  return { sign: "-", text };
}

function added(text: string): Line {
  return { sign: "+", text };
}

/** By the longest common subsequence. */
function compareMiddle(before: readonly string[], after: readonly string[]): Line[] {
  if (before.length * after.length > MAX_PAIRS) {
    return [...before.map((text) => removed(text)), ...after.map((text) => added(text))];
  }
  const width = after.length + 1;
  /** Of the rests of both: how many lines they have in common. */
  const common = new Uint32Array((before.length + 1) * width);
  const at = (b: number, a: number) => common[b * width + a] ?? 0;
  for (let b = before.length - 1; b >= 0; b -= 1) {
    for (let a = after.length - 1; a >= 0; a -= 1) {
      common[b * width + a] =
        before[b] === after[a] ? at(b + 1, a + 1) + 1 : Math.max(at(b + 1, a), at(b, a + 1));
    }
  }
  const lines: Line[] = [];
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
      lines.push(removed(old ?? ""));
      b += 1;
    } else {
      lines.push(added(fresh));
      a += 1;
    }
  }
  return lines;
}
