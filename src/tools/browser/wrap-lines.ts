/**
 * Wraps text like the pages that the model saw in training: Python's `textwrap.wrap` at 80 characters, with white space
 * kept. Line numbers, and so citations, depend on it.
 */

const WIDTH = 80;

export function wrapLines(text: string, width = WIDTH): string[] {
  return text.split("\n").flatMap((line) => (line === "" ? [""] : wrapLine(line, width)));
}

/** Python's `wordsep_re`: white space, dashes between words, and words, which may break after a hyphen. */
const CHUNK =
  /[\t\v\f\r ]+|(?<=[\p{L}\p{N}_!"'&.,?])-{2,}(?=[\p{L}\p{N}_])|[^\t\n\v\f\r ]+?(?:-(?:(?<=[\p{L}_]{2}-)|(?<=[\p{L}_]-[\p{L}_]-))(?=[\p{L}_]-?[\p{L}_])|(?=[\t\v\f\r ]|$)|(?<=[\p{L}\p{N}_!"'&.,?])(?=-{2,}[\p{L}\p{N}_]))/gu;

/** Longest line that is wrapped word by word. A longer one is not prose and is cut at the width. */
const MAX_PROSE = 20_000;

function wrapLine(written: string, width: number): string[] {
  const line = expandTabs(written);
  if (line.length <= width) return [line];
  const chunks = line.length > MAX_PROSE ? [line] : (line.match(CHUNK) ?? [line]);
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
  const characters = Array.from(word);
  const pieces: string[] = [];
  let at = 0;
  for (let room = first; characters.length - at > room; room = width) {
    const hyphen = characters.lastIndexOf("-", at + room - 1);
    const isUsable = hyphen > at && characters.slice(at, hyphen).some((each) => each !== "-");
    const end = isUsable ? hyphen + 1 : at + room;
    pieces.push(characters.slice(at, end).join(""));
    at = end;
  }
  pieces.push(characters.slice(at).join(""));
  return pieces;
}

function expandTabs(line: string): string {
  if (!line.includes("\t")) return line;
  let out = "";
  for (const [index, part] of line.split("\t").entries()) {
    if (index > 0) out += " ".repeat(8 - (lengthOf(out) % 8));
    out += part;
  }
  return out;
}

/** Length in code points, as Python counts. */
function lengthOf(text: string): number {
  let length = text.length;
  for (const { length: units } of text.matchAll(/[\uD800-\uDBFF][\uDC00-\uDFFF]/g)) {
    if (units > 0) length--;
  }
  return length;
}
