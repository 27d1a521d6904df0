/**
 * Wraps text like the pages of the model's training: Python's `textwrap.wrap` at 80 characters, with white space kept.
 * Line numbers, and therefore citations, depend on it.
 */

const WIDTH = 80;

/** Maximum lines of a page. Further ones are left out. */
const MAX_LINES = 50_000;

/** Longest line that is wrapped as a whole. A longer one is not prose, and is wrapped in parts of this length. */
const MAX_LENGTH = 20_000;

/** Characters between two pauses. */
const STEP = 32_768;

export function wrapLines(text: string, width = WIDTH): string[] {
  const steps = wrapInSteps(text, width);
  let step = steps.next();
  while (!step.done) step = steps.next();
  return step.value;
}

/** Like {@link wrapLines}, in steps of a few milliseconds. */
export function* wrapInSteps(text: string, width = WIDTH): Generator<number, string[]> {
  const lines: string[] = [];
  let paused = 0;
  let end = -1;
  for (let at = 0; at <= text.length && lines.length < MAX_LINES;) {
    if (at > end) end = endOfLine(text, at);
    const last = end - at <= MAX_LENGTH ? end : offsetAfter(text, at, MAX_LENGTH);
    for (const line of wrapLine(text.slice(at, last), width)) lines.push(line);
    at = last < end ? last : end + 1;
    if (at - paused < STEP) continue;
    paused = at;
    yield at;
  }
  return lines.slice(0, MAX_LINES);
}

function endOfLine(text: string, from: number): number {
  const end = text.indexOf("\n", from);
  return end < 0 ? text.length : end;
}

/** Python's `wordsep_re`: white space, dashes between words, and words, which may break after a hyphen. */
const CHUNK =
  /[\t\v\f\r ]+|(?<=[\p{L}\p{N}_!"'&.,?])-{2,}(?=[\p{L}\p{N}_])|[^\t\n\v\f\r ]+?(?:-(?:(?<=[\p{L}_]{2}-)|(?<=[\p{L}_]-[\p{L}_]-))(?=[\p{L}_]-?[\p{L}_])|(?=[\t\v\f\r ]|$)|(?<=[\p{L}\p{N}_!"'&.,?])(?=-{2,}[\p{L}\p{N}_]))/gu;

function wrapLine(written: string, width: number): string[] {
  if (written === "") return [""];
  const line = expandTabs(written);
  if (line.length <= width) return [line];
  const chunks = line.match(CHUNK) ?? [line];
  const lines: string[] = [];
  let current = "";
  let length = 0;
  for (const chunk of chunks) {
    const size = lengthOf(chunk);
    if (length + size <= width) {
      current += chunk;
      length += size;
      continue;
    }
    if (size <= width) {
      lines.push(current);
      current = chunk;
      length = size;
      continue;
    }
    // A word longer than a line starts on the current line and is cut at each line's end.
    const pieces = cutWord(chunk, width - length, width);
    for (const piece of pieces.slice(0, -1)) {
      lines.push(current + piece);
      current = "";
    }
    current += pieces.at(-1) ?? "";
    length = lengthOf(current);
  }
  if (current !== "") lines.push(current);
  return lines;
}

/** `first`: remaining width of the line that the word starts on. */
function cutWord(word: string, first: number, width: number): string[] {
  const pieces: string[] = [];
  let at = 0;
  for (let room = first; ; room = width) {
    const end = offsetAfter(word, at, room);
    if (end === word.length) break;
    const piece = word.slice(at, end);
    const hyphen = piece.lastIndexOf("-");
    const isUsable = hyphen > 0 && /[^-]/.test(piece.slice(0, hyphen));
    pieces.push(isUsable ? piece.slice(0, hyphen + 1) : piece);
    at += pieces.at(-1)?.length ?? 0;
  }
  pieces.push(word.slice(at));
  return pieces;
}

/** The offset after the given number of code points, or the end of the text. */
function offsetAfter(text: string, from: number, codePoints: number): number {
  let at = from;
  for (let count = 0; count < codePoints && at < text.length; count++) {
    at += isPair(text, at) ? 2 : 1;
  }
  return at;
}

function expandTabs(line: string): string {
  if (!line.includes("\t")) return line;
  const pieces: string[] = [];
  let column = 0;
  for (const [index, part] of line.split("\t").entries()) {
    if (index > 0) {
      const spaces = TAB - (column % TAB);
      pieces.push(SPACES.slice(0, spaces));
      column += spaces;
    }
    if (part === "") continue;
    pieces.push(part);
    column += lengthOf(part);
  }
  return pieces.join("");
}

const TAB = 8;
const SPACES = " ".repeat(TAB);

/** Length in code points, like Python's. */
function lengthOf(text: string): number {
  let length = text.length;
  for (let at = 0; at < text.length; at++) {
    if (isPair(text, at)) length--;
  }
  return length;
}

function isPair(text: string, at: number): boolean {
  const isHigh = (text.charCodeAt(at) & 0xfc00) === 0xd800;
  return isHigh && (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00;
}
