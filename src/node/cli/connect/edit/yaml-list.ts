/**
 * Inserts items at the head of a list of a YAML file, between two marker comments. Everything else stays as it is, byte for byte.
 */
import { EditError, lineBreakOf } from "./edit-error.ts";

const BEGIN = "# harmony-gateway: begin (written by connect)";
const END = "# harmony-gateway: end";

/** @param items lines of each item, without indentation. @throws EditError */
export function insertYamlItems(
  text: string,
  name: string,
  items: readonly (readonly string[])[],
): string {
  const lineBreak = lineBreakOf(text);
  const lines = withoutBlock(text.split(lineBreak));
  refuseOtherForms(lines, name);
  const head = lines.findIndex((line) => isHead(line, name));
  if (head < 0) {
    const rest = lines.at(-1) === "" ? lines.slice(0, -1) : lines;
    return [...rest, `${name}:`, ...toBlock(items, "  "), ""].join(lineBreak);
  }
  const indent = indentAfter(lines, head);
  return lines.toSpliced(head + 1, 0, ...toBlock(items, indent)).join(lineBreak);
}

function toBlock(items: readonly (readonly string[])[], indent: string): string[] {
  const lines = items.flatMap((item) => item.map((line, n) => `${n === 0 ? "- " : "  "}${line}`));
  return [BEGIN, ...lines, END].map((line) => indent + line);
}

function withoutBlock(lines: readonly string[]): readonly string[] {
  const begin = lines.findIndex((line) => line.trim() === BEGIN);
  if (begin < 0) return lines;
  const end = lines.findIndex((line, n) => n > begin && line.trim() === END);
  if (end < 0) throw new EditError(`the line "${END}" is missing`);
  return lines.toSpliced(begin, end - begin + 1);
}

function isHead(line: string, name: string): boolean {
  return new RegExp(`^${name}:\\s*(#.*)?$`).test(line);
}

/** The indentation of the list's first item. */
function indentAfter(lines: readonly string[], head: number): string {
  const next = lines.slice(head + 1).find((line) => !/^\s*(#.*)?$/.test(line)) ?? "";
  const item = /^( *)-( |$)/.exec(next);
  if (item !== null) return item[1] ?? "";
  if (/^\s/.test(next)) throw new EditError(`what follows ${lines[head]} is no list`);
  return "  ";
}

/** Refuses any text but one document with a mapping whose list is in block style. */
function refuseOtherForms(lines: readonly string[], name: string): void {
  const content = lines.filter((line) => !/^\s*(#.*)?$/.test(line));
  const [first] = content;
  if (first !== undefined && !/^(---\s*$|["'\w$-]+\s*:)/.test(first)) {
    throw new EditError("it is no plain mapping");
  }
  if (content.slice(1).some((line) => /^(---|\.\.\.)(\s|$)/.test(line))) {
    throw new EditError("it has several documents");
  }
  const heads = content.filter((line) => new RegExp(`^["']?${name}["']?\\s*:`).test(line));
  if (heads.length > 1 || heads.some((line) => !isHead(line, name))) {
    throw new EditError(`it writes ${name} in a form of its own`);
  }
}
