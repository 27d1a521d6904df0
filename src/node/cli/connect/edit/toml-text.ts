/**
 * Sets pairs at the top of a TOML file and in one of its tables. Everything else stays as it is, byte for byte: other pairs,
 * their order, comments.
 */
import { EditError, lineBreakOf } from "./edit-error.ts";
import { readTomlText, type TomlStatement } from "./toml-statements.ts";

/** A key and its value. Undefined: there must be no such pair. */
export type TomlPair = readonly [key: string, value: string | number | boolean | undefined];

export interface TomlSettings {
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
  // Last, because it stands first: indexes behind it are no longer needed.
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

/** The table could also be written as dotted keys, or within the braces of another one. */
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
