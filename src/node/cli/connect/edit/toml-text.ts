/**
 * Sets pairs at the top of a TOML file and in one of its tables. Everything else, such as other pairs, their order and comments,
 * stays as it is, byte for byte.
 */
import { EditError, lineAt, lineBreakOf } from "./edit-error.ts";

/** A key and its value. Undefined: an existing pair is removed. */
export type TomlPair = readonly [key: string, value: string | number | boolean | undefined];

interface TomlSettings {
  readonly top: readonly TomlPair[];
  /** The path of the table. */
  readonly table: readonly string[];
  /** The pairs of the table. */
  readonly pairs: readonly TomlPair[];
}

/** @throws EditError */
export function mergeToml(existing: string, { top, table, pairs }: TomlSettings): string {
  const lineBreak = lineBreakOf(existing);
  const text = endLine(existing, lineBreak);
  const statements = readTomlText(text);
  refuseOtherForms(statements, table);
  let edited = text;
  const header = statements.find((each) => each.kind === "table" && isSame(each.path, table));
  if (header === undefined) {
    const lines = [`[${table.map((name) => toKey(name)).join(".")}]`, ...pairs.flatMap(toLines)];
    edited = [text, ...lines, ""].join(lineBreak);
  } else {
    const from = statements.indexOf(header) + 1;
    edited = setPairs(edited, sectionFrom(statements, from), header.end, pairs);
  }
  // The top section is edited last, because it comes first: the indexes after it are no longer needed.
  return setPairs(edited, sectionFrom(statements, 0), text.startsWith("\uFEFF") ? 1 : 0, top);
}

/** The pairs up to the next table. */
function sectionFrom(statements: readonly TomlStatement[], from: number) {
  const rest = statements.slice(from);
  const end = rest.findIndex(({ kind }) => kind === "table");
  return end < 0 ? rest : rest.slice(0, end);
}

/** @param start where the first pair is written in a section without pairs. */
function setPairs(
  text: string,
  section: readonly TomlStatement[],
  start: number,
  pairs: readonly TomlPair[],
): string {
  const lineBreak = lineBreakOf(text);
  const found = (key: string) => section.find(({ path }) => isSame(path, [key]));
  const at = section.at(-1)?.end ?? start;
  const added = pairs.filter(([key]) => found(key) === undefined).flatMap(toLines);
  const lines = added.map((line) => line + lineBreak).join("");
  let edited = text.slice(0, at) + lines + text.slice(at);
  const changed = pairs
    .flatMap(([key, value]) => {
      const statement = found(key);
      return statement === undefined ? [] : [{ statement, value }];
    })
    .toSorted((a, b) => b.statement.start - a.statement.start);
  for (const { statement, value } of changed) {
    const { start: from, end, valueStart, valueEnd } = statement;
    edited =
      value === undefined
        ? edited.slice(0, from) + edited.slice(end)
        : edited.slice(0, valueStart) + JSON.stringify(value) + edited.slice(valueEnd);
  }
  return edited;
}

/** Refuses a table that is written as dotted keys, or within the braces of another table. */
function refuseOtherForms(statements: readonly TomlStatement[], table: readonly string[]): void {
  let around: readonly string[] = [];
  for (const { kind, path, isList } of statements) {
    if (kind === "table") {
      around = path;
      if (isList && table.slice(0, path.length).every((name, n) => name === path[n])) {
        throw new EditError(`it has a list of tables [[${path.join(".")}]]`);
      }
      continue;
    }
    const whole = [...around, ...path];
    const isWithin = isSame(around.slice(0, table.length), table);
    const common = table.slice(0, whole.length);
    if (!isWithin && common.every((name, n) => name === whole[n])) {
      throw new EditError(`it writes ${whole.join(".")} in a form of its own`);
    }
  }
}

function toLines([key, value]: TomlPair): string[] {
  return value === undefined ? [] : [`${toKey(key)} = ${JSON.stringify(value)}`];
}

function toKey(name: string): string {
  return /^[\w-]+$/.test(name) ? name : JSON.stringify(name);
}

function endLine(text: string, lineBreak: string): string {
  return text === "" || text.endsWith("\n") ? text : text + lineBreak;
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((name, n) => name === b[n]);
}

/** Position of a table or pair in a TOML text. Values are skipped, not parsed. */
interface TomlStatement {
  readonly kind: "table" | "pair";
  /** Path of the table, or of the key within its table. */
  readonly path: readonly string[];
  /** `[[name]]` */
  readonly isList: boolean;
  readonly start: number;
  /** Index after the line break. */
  readonly end: number;
  /** Start and end of the pair's value. */
  readonly valueStart: number;
  readonly valueEnd: number;
}

/** @throws EditError where a statement cannot be read */
function readTomlText(text: string): readonly TomlStatement[] {
  const statements: TomlStatement[] = [];
  let at = text.startsWith("\uFEFF") ? 1 : 0;
  while (at < text.length) {
    const nothing = match(REST, text, at);
    if (nothing !== undefined) {
      at += nothing.length;
      continue;
    }
    const statement = readTable(text, at) ?? readPair(text, at);
    if (statement === undefined) throw unreadable(text, at);
    statements.push(statement);
    at = statement.end;
  }
  return statements;
}

function readTable(text: string, start: number): TomlStatement | undefined {
  const whole = match(TABLE, text, start);
  if (whole === undefined) return undefined;
  const isList = /^[ \t]*\[\[/.test(whole);
  const path = toPath(match(NAMES, text, start + whole.indexOf("[") + (isList ? 2 : 1)) ?? "");
  const end = start + whole.length;
  return { kind: "table", path, isList, start, end, valueStart: end, valueEnd: end };
}

function readPair(text: string, start: number): TomlStatement | undefined {
  const key = match(KEY, text, start);
  if (key === undefined) return undefined;
  const valueStart = start + key.length;
  const valueEnd = skipValue(text, valueStart);
  const rest = match(REST, text, valueEnd);
  if (rest === undefined || valueEnd === valueStart) throw unreadable(text, start);
  const end = valueEnd + rest.length;
  return { kind: "pair", path: toPath(key), isList: false, start, end, valueStart, valueEnd };
}

/** Returns the index after a value. Strings and comments within the value may contain brackets. */
function skipValue(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length;) {
    const token = match(STRING, text, at) ?? match(BLANKS, text, at) ?? text[at] ?? "";
    if (token === '"' || token === "'") throw unreadable(text, at);
    if (token === "[" || token === "{") depth += 1;
    if (token === "]" || token === "}") depth -= 1;
    if (depth < 0 || (depth === 0 && token === "\n")) throw unreadable(text, at);
    if (depth > 0 && token === "#") {
      at += match(COMMENT, text, at)?.length ?? 1;
      continue;
    }
    at += token.length;
    // A value is one token or one pair of brackets, followed by white space, a comment or the line break.
    if (depth === 0 && match(REST, text, at) !== undefined) return at;
  }
  throw unreadable(text, start);
}

function toPath(keys: string): string[] {
  return Array.from(keys.matchAll(NAME), ([, bare, basic, literal]) => {
    if (basic === undefined) return bare ?? literal ?? "";
    try {
      return String(JSON.parse(`"${basic}"`));
    } catch {
      return basic;
    }
  });
}

function match(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}

function unreadable(text: string, at: number): EditError {
  return new EditError(`line ${lineAt(text, at)} is not TOML, or in a rare form of it`);
}

const NAME = /([\w-]+)|"((?:[^"\\\n]|\\.)*)"|'([^'\n]*)'/g;
const DOTTED = String.raw`(?:[\w-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')(?:[ \t]*\.[ \t]*(?:[\w-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'))*`;
const END = String.raw`[ \t]*(?:#[^\n]*)?(?:\r?\n|$)`;
const NAMES = new RegExp(String.raw`[ \t]*${DOTTED}`, "y");
const TABLE = new RegExp(String.raw`[ \t]*\[\[?[ \t]*${DOTTED}[ \t]*\]\]?${END}`, "y");
const KEY = new RegExp(String.raw`[ \t]*${DOTTED}[ \t]*=[ \t]*`, "y");
const REST = new RegExp(END, "y");
/** Tokens within a value that are skipped as a whole. */
const BLANKS = /[ \t]+/y;
const COMMENT = /#[^\n]*/y;
const STRING =
  /"""(?:[^"\\]|\\[\s\S]|"(?!""))*"""|'''(?:[^']|'(?!''))*'''|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'/y;
