/** Where the tables and pairs of a TOML text stand. Values are skipped, not read. */
import { EditError, lineAt } from "./edit-error.ts";

export interface TomlStatement {
  readonly kind: "table" | "pair";
  /** The name of the table, or the key within its table. */
  readonly path: readonly string[];
  /** `[[name]]` */
  readonly isList: boolean;
  readonly start: number;
  /** Behind the line break. */
  readonly end: number;
  /** Of a pair. */
  readonly valueStart: number;
  readonly valueEnd: number;
}

/** @throws EditError where a statement cannot be read */
export function readTomlText(text: string): readonly TomlStatement[] {
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

/** The index behind a value: strings and comments within it may contain brackets. */
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
    // A value is one token or one pair of brackets: what follows is white space, a comment or the line break.
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
/** Read at once: what follows each of them is examined. */
const BLANKS = /[ \t]+/y;
const COMMENT = /#[^\n]*/y;
const STRING =
  /"""(?:[^"\\]|\\[\s\S]|"(?!""))*"""|'''(?:[^']|'(?!''))*'''|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'/y;
