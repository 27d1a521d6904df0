/**
 * Parses the functions of a developer message from the TypeScript-like text that the model sees:
 *
 *     namespace functions {
 *
 *     // Current weather
 *     type get_weather = (_: {
 *     location: string,
 *     unit?: "celsius" | "fahrenheit", // default: celsius
 *     }) => any;
 *
 *     } // namespace functions
 *
 * and converts each signature back to a JSON Schema. Nothing in that text is escaped, so a hostile description can mislead this
 * parser as it can mislead a model. It always terminates, and returns `any` for unknown text.
 */

export interface DemoTool {
  /** Name with its namespace, unless that is `functions`: `docs.search`. */
  readonly name: string;
  /** Schema of the arguments; undefined if the function takes none. */
  readonly parameters: Schema | undefined;
}

/** The part of JSON Schema that signatures can express. The empty schema is `any`. */
export interface Schema {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
}

/** The recipient of the tool's calls. */
export function addressOf({ name }: { readonly name: string }): string {
  return name.includes(".") ? name : `functions.${name}`;
}

export function readTools(developer: string): DemoTool[] {
  const names = new Set(
    Array.from(developer.matchAll(/^namespace (\S+) \{$/gm), ([, name = ""]) => name),
  );
  return [...names].flatMap((name) => readNamespace(developer, name));
}

function readNamespace(developer: string, name: string): DemoTool[] {
  const open = developer.lastIndexOf(`namespace ${name} {\n`);
  const close = developer.lastIndexOf(`} // namespace ${name}`);
  if (open < 0 || close < open) return [];
  const namespace = developer.slice(open, close);
  const prefix = name === "functions" ? "" : `${name}.`;
  return [...namespace.matchAll(/^type (\S+) = \((_: |\) => any;)/gm)].map((match) => ({
    name: prefix + (match[1] ?? ""),
    parameters:
      match[2] === "_: "
        ? (readType(namespace, match.index + match[0].length)?.schema ?? {})
        : undefined,
  }));
}

/** A type and its end offset. */
interface Read {
  readonly schema: Schema;
  readonly end: number;
}

function readType(text: string, from: number): Read | undefined {
  const at = typeStart(text, from);
  return text[at] === "|" ? readVariants(text, at) : readUnion(text, at);
}

/** `oneOf`: one variant per line, possibly with its own comment. */
function readVariants(text: string, from: number): Read | undefined {
  const variants: Schema[] = [];
  let at = from;
  let end = from;
  while (text[at] === "|") {
    const variant = readUnion(text, typeStart(text, at + 1));
    if (variant === undefined) return undefined;
    variants.push(variant.schema);
    end = variant.end;
    at = skipComments(text, end);
  }
  if (text[at] === "," && text.slice(end, at).includes("\n"))
    return { schema: anyOf(variants), end };
  return bracketed(text, variants, end);
}

/**
 * A property's own union ends with a comma on its own line. Any other union may be the item type of a list; its brackets then
 * follow the last variant or its comment.
 */
function bracketed(text: string, variants: readonly Schema[], end: number): Read {
  const commented = matchAt(/ \/\/.*?((?:\[\])+)(?=,$)/my, text, end);
  if (commented !== undefined) {
    const depth = (commented[1] ?? "").length / "[]".length;
    return { schema: listOf(anyOf(variants), depth), end: end + commented[0].length };
  }
  let [last = {}, depth] = [variants.at(-1), 0];
  while (last.items !== undefined) [last, depth] = [last.items, depth + 1];
  return { schema: listOf(anyOf([...variants.slice(0, -1), last]), depth), end };
}

/** Members on one line. Brackets apply to everything before them: `"a" | "b"[]` is a list of a and b. */
function readUnion(text: string, from: number): Read | undefined {
  let members: Schema[] = [];
  let at = from;
  for (;;) {
    const member = readMember(text, at);
    if (member === undefined) return undefined;
    members.push(member.schema);
    at = member.end;
    while (text.startsWith("[]", at)) {
      members = [listOf(anyOf(members), 1)];
      at += "[]".length;
    }
    if (!text.startsWith(" | ", at)) return { schema: anyOf(members), end: at };
    at += " | ".length;
  }
}

const WORDS: ReadonlyMap<string, Schema> = new Map<string, Schema>([
  ["string", { type: "string" }],
  ["number", { type: "number" }],
  ["boolean", { type: "boolean" }],
  ["null", { type: "null" }],
  ["object", { type: "object" }],
  ["array", { type: "array" }],
  ["Array<any>", { type: "array" }],
  ["any", {}],
]);

function readMember(text: string, from: number): Read | undefined {
  if (text[from] === "{") return readObject(text, from);
  // A member may contain quotes: it ends at a quote that a delimiter follows.
  const quoted = matchAt(/"(.*?)"(?=(?:\[\])*(?:,?$|,? \/\/| \| (?:"|null)|\) =>))/my, text, from);
  if (quoted !== undefined) {
    return { schema: { type: "string", enum: [quoted[1] ?? ""] }, end: from + quoted[0].length };
  }
  const word = matchAt(/Array<any>|\w+/y, text, from)?.[0] ?? "";
  const schema = WORDS.get(word);
  return schema && { schema, end: from + word.length };
}

function readObject(text: string, from: number): Read | undefined {
  const properties: Property[] = [];
  let at = from + "{".length;
  for (;;) {
    at = skipComments(text, at);
    if (at >= text.length) return undefined;
    if (text[at] === "}") return { schema: objectOf(properties), end: at + 1 };
    const property = readProperty(text, at);
    if (property === undefined) {
      // Skips the second line of a description: only the first one is printed as a comment.
      at = lineEnd(text, at);
      continue;
    }
    properties.push(property);
    at = property.end;
  }
}

interface Property extends Read {
  readonly name: string;
  readonly required: boolean;
}

function readProperty(text: string, from: number): Property | undefined {
  const name = matchAt(/(\S.*?)(\??):(?=[ \n])/y, text, from);
  if (name === undefined) return undefined;
  const type = readType(text, from + name[0].length);
  if (type === undefined) return undefined;
  const comma = skipComments(text, type.end);
  if (text[comma] !== ",") return undefined;
  return { name: name[1] ?? "", required: name[2] === "", schema: type.schema, end: comma + 1 };
}

function objectOf(properties: readonly Property[]): Schema {
  return {
    type: "object",
    properties: Object.fromEntries(properties.map(({ name, schema }) => [name, schema])),
    required: properties.filter(({ required }) => required).map(({ name }) => name),
  };
}

function anyOf(members: readonly Schema[]): Schema {
  const [only] = members;
  if (only !== undefined && members.length === 1) return only;
  if (members.every((member) => member.enum !== undefined)) {
    return { type: "string", enum: members.flatMap((member) => member.enum ?? []) };
  }
  return { anyOf: members };
}

function listOf(items: Schema, depth: number): Schema {
  return depth === 0 ? items : { type: "array", items: listOf(items, depth - 1) };
}

/**
 * Start of the type after the description of an object. Further lines of it may contain any text, so the search continues to a
 * line with the brace alone.
 */
function typeStart(text: string, from: number): number {
  if (matchAt(/ *\/\//y, text, from) === undefined) return skipComments(text, from);
  const brace = text.indexOf("\n{\n", from);
  return brace < 0 ? text.length : brace + 1;
}

function skipComments(text: string, from: number): number {
  return from + (matchAt(/(?:\s|\/\/.*)*/y, text, from)?.[0].length ?? 0);
}

function lineEnd(text: string, from: number): number {
  const end = text.indexOf("\n", from);
  return end < 0 ? text.length : end;
}

function matchAt(sticky: RegExp, text: string, at: number): RegExpExecArray | undefined {
  sticky.lastIndex = at;
  return sticky.exec(text) ?? undefined;
}
