/**
 * Parses the `# Tools` section: TypeScript signatures to JSON Schemas.
 *
 * Keywords that are not printed cannot be recovered: bounds, formats, `additionalProperties`. Nothing in this text is
 * escaped, so callers must print the schemas again and compare.
 */
import type { ToolFunction, ToolNamespace } from "./conversation.ts";
import { fromPlainJson, type Json, JsonSyntaxError, parseJson } from "./json.ts";

/** `text`: the section without its heading. Undefined: the text differs from the renderer's output. */
export function readToolsSection(section: string): readonly ToolNamespace[] | undefined {
  const namespaces = section.split(/\n\n(?=## )/).map(readNamespace);
  return namespaces.every((namespace) => namespace !== undefined) ? namespaces : undefined;
}

function readNamespace(text: string): ToolNamespace | undefined {
  const [, name = "", body] = /^## ([^\n]*)\n\n?(.*)$/s.exec(text) ?? [];
  if (body === undefined) return undefined;
  const named = { key: name, name };
  const start = `namespace ${name} {\n\n`;
  const at = body.startsWith(start) ? 0 : body.indexOf(`\n${start}`) + 1;
  if (at === 0 && !body.startsWith(start)) {
    return { ...named, ...(body !== "" && { description: body }), functions: [] };
  }
  const end = `} // namespace ${name}`;
  if (!body.endsWith(end)) return undefined;
  const description = readComment(body.slice(0, at).split("\n").slice(0, -1));
  const functions = readFunctions(body.slice(at + start.length, -end.length));
  if (description === undefined || functions === undefined) return undefined;
  return { ...named, ...(description !== "" && { description }), functions };
}

/** Parses functions. Each ends with an empty line. */
function readFunctions(text: string): readonly ToolFunction[] | undefined {
  const functions: ToolFunction[] = [];
  const lines = new Lines(text);
  while (!lines.isAtEnd) {
    const comments: string[] = [];
    while (lines.peek().startsWith("// ")) comments.push(lines.next());
    const description = readComment(comments);
    const declaration = /^type ([^\n=]+) = \((_: )?/.exec(lines.rest());
    if (declaration === null || description === undefined) return undefined;
    lines.skip(declaration[0].length);
    const parameters = declaration[2] === undefined ? undefined : readType(lines, "");
    if (declaration[2] !== undefined && parameters === undefined) return undefined;
    if (!lines.accept(") => any;\n\n")) return undefined;
    const name = declaration[1] ?? "";
    functions.push({ name, description, ...(parameters !== undefined && { parameters }) });
  }
  return functions;
}

function readComment(lines: readonly string[]): string | undefined {
  if (lines.some((line) => !line.startsWith("// "))) return undefined;
  return lines.map((line) => line.slice(3)).join("\n");
}

/** Maximum nesting; deeper schemas are left as text. */
const MAX_INDENT = 4 * 24;

/** `indent`: the indentation of the following lines. A comment before the brace describes the object. */
function readType(lines: Lines, indent: string): Json | undefined {
  if (indent.length > MAX_INDENT) return undefined;
  const schema = new Map<string, Json>();
  const comment = /^ *\/\/ ([^\n]*)\n(?=\{)/.exec(lines.rest());
  if (comment !== null) {
    lines.skip(comment[0].length);
    schema.set("description", comment[1] ?? "");
  }
  if (lines.accept("{\n")) {
    if (!readProperties(lines, indent, schema)) return undefined;
    return readSuffixes(lines, schema);
  }
  if (comment !== null) return undefined;
  const strings = readStrings(lines);
  if (strings !== undefined) {
    return readSuffixes(
      lines,
      new Map<string, Json>([
        ["type", "string"],
        ["enum", strings],
      ]),
    );
  }
  if (lines.accept("Array<any>")) return readSuffixes(lines, new Map([["type", "array"]]));
  const words = /^[a-z]+(?: \| [a-z]+)*/.exec(lines.rest())?.[0];
  if (words === undefined) return undefined;
  lines.skip(words.length);
  return readSuffixes(lines, toSchema(words.split(" | ")));
}

function toSchema(words: readonly string[]): Json {
  const [word = ""] = words;
  if (words.length === 1 && word === "any") return new Map();
  if (words.length === 1 && ["string", "number", "boolean"].includes(word)) {
    return new Map([["type", word]]);
  }
  return new Map([["type", words]]);
}

/** `"a" | "b"` */
function readStrings(lines: Lines): readonly string[] | undefined {
  const found = /^"[^"\n]*"(?: \| "[^"\n]*")*/.exec(lines.rest())?.[0];
  if (found === undefined) return undefined;
  lines.skip(found.length);
  return found.slice(1, -1).split('" | "');
}

/** ` | null`, and brackets, which apply to the whole type before them. */
function readSuffixes(lines: Lines, schema: Json): Json {
  let read = schema;
  for (;;) {
    if (lines.accept("[]")) {
      read = new Map<string, Json>([
        ["type", "array"],
        ["items", read],
      ]);
    } else if (read instanceof Map && !read.has("nullable") && lines.accept(" | null")) {
      read = new Map([...read, ["nullable", true]]);
    } else {
      return read;
    }
  }
}

/** Parses properties up to the closing brace. */
function readProperties(lines: Lines, indent: string, schema: Map<string, Json>): boolean {
  const properties = new Map<string, Json>();
  const required: string[] = [];
  while (!lines.accept(`${indent}}`)) {
    const about = readAbout(lines, indent);
    const label = /^([^\n:]*?)(\??): /.exec(lines.rest());
    if (label === null || !label[0].startsWith(indent)) return false;
    lines.skip(label[0].length);
    const name = (label[1] ?? "").slice(indent.length);
    if (properties.has(name)) return false;
    const type = readType(lines, `${indent}    `);
    if (!(type instanceof Map) || !lines.accept(",")) return false;
    const described = new Map([...type, ...about]);
    if (lines.accept(" // default: ")) described.set("default", readDefault(lines.next(), type));
    else if (!lines.accept("\n")) return false;
    properties.set(name, described);
    if (label[2] === "") required.push(name);
  }
  schema.set("type", "object");
  schema.set("properties", properties);
  if (required.length > 0) schema.set("required", required);
  return true;
}

/** Parses title, description and examples, one line each. */
function readAbout(lines: Lines, indent: string): Map<string, Json> {
  const about = new Map<string, Json>();
  const start = `${indent}// `;
  const title = /^ *\/\/ ([^\n]*)\n *\/\/\n/.exec(lines.rest());
  if (title !== null && title[0].startsWith(start)) {
    lines.skip(title[0].length);
    about.set("title", title[1] ?? "");
  }
  const isExamples = () => lines.peek() === `${start}Examples:`;
  if (lines.peek().startsWith(start) && !isExamples()) {
    about.set("description", lines.next().slice(start.length));
  }
  if (isExamples()) {
    lines.next();
    const examples: string[] = [];
    while (lines.peek().startsWith(`${start}- "`)) {
      examples.push(lines.next().slice(start.length + 3, -1));
    }
    about.set("examples", examples.length === 0 ? fromPlainJson([0]) : examples);
  }
  return about;
}

/** A string is quoted without escapes; next to an enum it is not quoted. */
function readDefault(text: string, type: ReadonlyMap<string, Json>): Json {
  if (type.has("enum")) return text;
  if (/^".*"$/.test(text)) return text.slice(1, -1);
  try {
    return parseJson(text);
  } catch (error) {
    if (error instanceof JsonSyntaxError) return text;
    throw error;
  }
}

/** A text that is consumed from its beginning. */
class Lines {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#text.length;
  }

  /** The remaining text. V8 slices without copying. */
  rest(): string {
    return this.#text.slice(this.#at);
  }

  /** Consumes the next line. Returns it without its line break. */
  peek(): string {
    const end = this.#text.indexOf("\n", this.#at);
    return this.#text.slice(this.#at, end < 0 ? undefined : end);
  }

  next(): string {
    const line = this.peek();
    this.#at += line.length + 1;
    return line;
  }

  skip(length: number): void {
    this.#at += length;
  }

  /** Consumes this text if it comes next. Returns whether it did. */
  accept(text: string): boolean {
    const isNext = this.#text.startsWith(text, this.#at);
    if (isNext) this.#at += text.length;
    return isNext;
  }
}
