/**
 * Reads and writes the YAML of document headers: block maps, lists of scalars, flow lists and maps on one line, quoted
 * and plain scalars, comments. Anchors, tags, block scalars and tabs are rejected, so that a text has one value in
 * every implementation, and a small text cannot expand to a large value.
 */
import type { HeaderValue } from "./document.ts";

export class YamlError extends Error {
  /** The line, counted from 0. */
  readonly line: number;

  constructor(line: number, problem: string) {
    super(problem);
    this.name = "YamlError";
    this.line = line;
  }
}

type YamlMap = Readonly<Record<string, HeaderValue>>;

/** Limits nesting, to prevent a stack overflow. */
const MAX_DEPTH = 32;

/** Reads a map. `textKeys`: top-level keys whose value is always read as text. */
export function readYaml(text: string, textKeys: ReadonlySet<string>): YamlMap {
  const lines = toLines(text);
  const [first] = lines;
  if (first === undefined) return {};
  const reader = new BlockReader(lines, textKeys);
  const map = reader.map(first.indent, 0);
  const rest = reader.peek();
  if (rest !== undefined) throw new YamlError(rest.number, "the indentation matches no line above");
  return map;
}

/** Writes a map. Text that could be read as another type is quoted. */
export function writeYaml(map: YamlMap, plainKeys: ReadonlySet<string>): string {
  return Object.entries(map)
    .map(([key, value]) => {
      if (plainKeys.has(key) && typeof value === "string") return `${key}: ${value}\n`;
      return writeEntry(key, value, "");
    })
    .join("");
}

interface Line {
  readonly number: number;
  readonly indent: number;
  readonly text: string;
}

function toLines(text: string): Line[] {
  return text
    .split(/\r?\n/)
    .map((line, number) => ({
      number,
      indent: /^ */.exec(line)?.[0].length ?? 0,
      text: line.trim(),
      line,
    }))
    .filter((line) => line.text !== "" && !line.text.startsWith("#"))
    .map(({ line, ...rest }) => {
      if (/^ *\t/.test(line)) throw new YamlError(rest.number, "a tab in the indentation");
      return rest;
    });
}

class BlockReader {
  readonly #lines: readonly Line[];
  readonly #textKeys: ReadonlySet<string>;
  #at = 0;

  constructor(lines: readonly Line[], textKeys: ReadonlySet<string>) {
    this.#lines = lines;
    this.#textKeys = textKeys;
  }

  peek(): Line | undefined {
    return this.#lines[this.#at];
  }

  map(indent: number, depth: number): YamlMap {
    const entries = new Map<string, HeaderValue>();
    for (let line = this.peek(); line?.indent === indent; line = this.peek()) {
      if (depth > MAX_DEPTH) throw new YamlError(line.number, "maps are nested too deeply");
      this.#at++;
      const scalars = new ScalarReader(line);
      const key = scalars.key();
      if (entries.has(key)) throw new YamlError(line.number, `the key ${key} is repeated`);
      const isText = depth === 0 && this.#textKeys.has(key);
      entries.set(key, scalars.isAtEnd ? this.#below(indent, depth) : scalars.last(isText));
    }
    return Object.fromEntries(entries);
  }

  /** The block below a key without a value. A list may have the key's own indentation. */
  #below(indent: number, depth: number): HeaderValue {
    const line = this.peek();
    if (line === undefined || line.indent < indent) return null;
    if (isItem(line)) return this.#list(line.indent);
    return line.indent > indent ? this.map(line.indent, depth + 1) : null;
  }

  #list(indent: number): HeaderValue[] {
    const items: HeaderValue[] = [];
    for (let line = this.peek(); line?.indent === indent && isItem(line); line = this.peek()) {
      this.#at++;
      const scalars = new ScalarReader({ ...line, text: line.text.slice(1).trim() });
      items.push(scalars.isAtEnd ? null : scalars.last(false));
    }
    return items;
  }
}

function isItem({ text }: Line): boolean {
  return text === "-" || text.startsWith("- ");
}

/** Reads the values on one line. */
class ScalarReader {
  readonly #text: string;
  readonly #number: number;
  #at = 0;

  constructor({ text, number }: Line) {
    this.#text = text;
    this.#number = number;
  }

  /** Whether only a comment is left. */
  get isAtEnd(): boolean {
    this.#skipSpace();
    return this.#at >= this.#text.length || this.#isComment();
  }

  /** `key:`, at the beginning of a line. */
  key(): string {
    const quoted = this.#quoted();
    const end = this.#colon(this.#at);
    if (end < 0) throw this.#error("expected a key, a colon and a value");
    const between = this.#text.slice(this.#at, end);
    this.#at = end + 1;
    if (quoted !== undefined) {
      if (between.trim() !== "") throw this.#error("unexpected text after a quoted key");
      return quoted;
    }
    return this.#plain(between.trim());
  }

  /** The value up to the end of the line. */
  last(isText: boolean): HeaderValue {
    const value = this.#value("", 0, isText);
    if (!this.isAtEnd) throw this.#error("unexpected text after a value");
    return value;
  }

  /** `ends`: characters that end a plain scalar, inside flow lists and maps. */
  #value(ends: string, depth: number, isText: boolean): HeaderValue {
    this.#skipSpace();
    if (depth > MAX_DEPTH) throw this.#error("lists are nested too deeply");
    const quoted = this.#quoted();
    if (quoted !== undefined) return quoted;
    const character = this.#text[this.#at];
    if (character === "[") return this.#flowList(depth + 1);
    if (character === "{") return this.#flowMap(depth + 1);
    const start = this.#at;
    while (this.#at < this.#text.length && !this.#endsPlain(ends)) this.#at++;
    const plain = this.#plain(this.#text.slice(start, this.#at).trim());
    return isText ? plain : toScalar(plain);
  }

  #flowList(depth: number): HeaderValue[] {
    const items: HeaderValue[] = [];
    this.#at++;
    while (!this.#accept("]")) {
      items.push(this.#value(",]", depth, false));
      if (!this.#accept(",") && !this.#isNext("]")) throw this.#error("a list that is not closed");
    }
    return items;
  }

  #flowMap(depth: number): YamlMap {
    const entries = new Map<string, HeaderValue>();
    this.#at++;
    while (!this.#accept("}")) {
      this.#skipSpace();
      const key = this.key();
      if (entries.has(key)) throw this.#error(`the key ${key} is repeated`);
      entries.set(key, this.#value(",}", depth, false));
      if (!this.#accept(",") && !this.#isNext("}")) throw this.#error("a map that is not closed");
    }
    return Object.fromEntries(entries);
  }

  #quoted(): string | undefined {
    const rest = this.#text.slice(this.#at);
    if (rest.startsWith("'")) {
      const match = /^'((?:[^']|'')*)'/.exec(rest);
      if (match === null) throw this.#error("a quoted text is not closed");
      this.#at += match[0].length;
      return (match[1] ?? "").replaceAll("''", "'");
    }
    if (!rest.startsWith('"')) return undefined;
    const match = /^"(?:[^"\\]|\\.)*"/.exec(rest);
    if (match === null) throw this.#error("a quoted text is not closed");
    this.#at += match[0].length;
    return this.#unescape(match[0]);
  }

  /** Decodes JSON's escapes. */
  #unescape(quoted: string): string {
    try {
      return String(JSON.parse(quoted.replaceAll("\t", "\\t")));
    } catch {
      throw this.#error("an escape that JSON does not support");
    }
  }

  #plain(text: string): string {
    if (/^[&*!|>%@`]/.test(text)) throw this.#error(`${text[0]} begins no plain text`);
    if (/^(?:[?:,\]}]|-)(?:\s|$)/.test(text) || /^[,\]}]/.test(text)) {
      throw this.#error("expected text, found punctuation");
    }
    if (text === "") throw this.#error("a text is missing");
    if (/:(?:\s|$)/.test(text)) throw this.#error("a colon inside text: quote the text");
    return text;
  }

  #endsPlain(ends: string): boolean {
    return ends.includes(this.#text[this.#at] ?? "") ? ends !== "" : this.#isComment();
  }

  /** A `#` with a space before it. */
  #isComment(): boolean {
    return (
      this.#text[this.#at] === "#" && (this.#at === 0 || /\s/.test(this.#text[this.#at - 1] ?? ""))
    );
  }

  /** The colon after a key: followed by a space or the end of the line. */
  #colon(from: number): number {
    const match = /:(?=\s|$)/.exec(this.#text.slice(from));
    return match === null ? -1 : from + match.index;
  }

  #accept(character: string): boolean {
    const isNext = this.#isNext(character);
    if (isNext) this.#at++;
    return isNext;
  }

  #isNext(character: string): boolean {
    this.#skipSpace();
    if (this.#at >= this.#text.length) throw this.#error("a list or map is not closed on its line");
    return this.#text[this.#at] === character;
  }

  #skipSpace(): void {
    while (/[ \t]/.test(this.#text[this.#at] ?? "")) this.#at++;
  }

  #error(problem: string): YamlError {
    return new YamlError(this.#number, problem);
  }
}

const NUMBER = /^[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?$/;

function toScalar(plain: string): HeaderValue {
  if (plain === "true" || plain === "false") return plain === "true";
  if (plain === "null" || plain === "~") return null;
  if (!NUMBER.test(plain)) return plain;
  const number = Number(plain);
  return Number.isFinite(number) ? number + 0 : plain;
}

function writeEntry(key: string, value: HeaderValue, indent: string): string {
  const name = `${indent}${writeText(key)}:`;
  if (typeof value === "string") return `${name} ${writeText(value)}\n`;
  if (!isMap(value) || Object.keys(value).length === 0) return `${name} ${writeFlow(value)}\n`;
  const below = Object.entries(value).map(([each, inner]) =>
    writeEntry(each, inner, `${indent}  `),
  );
  return `${name}\n${below.join("")}`;
}

/** Texts in lists are quoted, as in the header of the specification. */
function writeFlow(value: HeaderValue): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (value === null || typeof value !== "object") return String(value);
  if (!isMap(value)) return `[${value.map(writeFlow).join(", ")}]`;
  const entries = Object.entries(value).map(
    ([key, each]) => `${writeText(key)}: ${writeFlow(each)}`,
  );
  return `{${entries.join(", ")}}`;
}

function isMap(value: HeaderValue): value is YamlMap {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Words that some YAML readers do not read as text. */
const WORDS = /^(?:true|false|null|yes|no|on|off)$/i;

function writeText(text: string): string {
  const isPlain =
    /^[\p{L}_][\p{L}\p{N}_.+/@ -]*$/u.test(text) && !text.endsWith(" ") && !WORDS.test(text);
  return isPlain ? text : JSON.stringify(text);
}
