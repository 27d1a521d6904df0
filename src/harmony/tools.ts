/**
 * Writes the `# Tools` section: functions as TypeScript signatures, printed from their JSON Schemas exactly as
 * openai/harmony 0.0.8 does, including its oddities, because the model was trained on this text.
 *
 * Nothing is escaped and no name is checked, because the text is always encoded as ordinary text.
 */

import type { ToolFunction, ToolNamespace } from "./conversation.ts";
import { isJsonArray, isJsonObject, toCompactJson } from "./json.ts";
import type { Json, JsonObject } from "./json.ts";

/**
 * Returns the section without a newline at its end. Namespaces are sorted by their keys in byte order. If several
 * namespaces have the same key, the last is used.
 *
 * @example
 * ```ts
 * import { toolsSection } from "harmony-gateway/harmony";
 *
 * const now = { name: "now", description: "The time." };
 * toolsSection([{ key: "functions", name: "functions", functions: [now] }]).split("\n")[6]; // => "// The time."
 * ```
 */
export function toolsSection(namespaces: readonly ToolNamespace[]): string {
  const byKey = new Map(namespaces.map((namespace) => [namespace.key, namespace]));
  const sorted = [...byKey.values()].toSorted((a, b) => compareBytes(a.key, b.key));
  return ["# Tools", ...sorted.map(namespaceSection)].join("\n\n");
}

/** `// ` before each line. A line ends at LF or CRLF; an empty line keeps the space. */
export function commentLines(text: string): string[] {
  if (text === "") return [];
  // Not a regular expression per line: a description of megabytes may have a line for each of its characters.
  const unended = text.replace(/\r?\n$/, "");
  return [`// ${unended.replaceAll(/\r?\n/g, "\n// ")}`];
}

function namespaceSection({ name, description = "", functions }: ToolNamespace): string {
  const heading = `## ${name}\n`;
  if (functions.length === 0) return [heading, ...lines(description)].join("\n");
  return [
    heading,
    ...commentLines(description),
    `namespace ${name} {\n`,
    ...functions.flatMap(functionLines),
    `} // namespace ${name}`,
  ].join("\n");
}

function functionLines({ name, description, parameters }: ToolFunction): string[] {
  const takesNone = parameters === undefined || parameters === null;
  const argument = takesNone ? "" : `_: ${parametersType(parameters)}`;
  return [...commentLines(description), `type ${name} = (${argument}) => any;\n`];
}

/**
 * Types by the schema that they print. Parsed schemas are remembered from request to request, and nothing else of one is: printing
 * 20 of them again takes 12 % of a request.
 */
const printed = new WeakMap<JsonObject, string>();

function parametersType(schema: Json): string {
  if (!isJsonObject(schema)) return toTypeScript(schema, "");
  const known = printed.get(schema);
  if (known !== undefined) return known;
  const type = toTypeScript(schema, "");
  printed.set(schema, type);
  return type;
}

function lines(text: string): string[] {
  if (text === "") return [];
  const split = text.split("\n");
  const last = split.pop() ?? "";
  const ended = split.map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line));
  return last === "" ? ended : [...ended, last];
}

/** Prints a schema as a type. `indent`: the indentation of further lines of an object or a union. */
function toTypeScript(schema: Json, indent: string): string {
  if (!isJsonObject(schema)) return "any";
  const variants = schema.get("oneOf");
  if (isJsonArray(variants)) return unionType(variants, indent);
  const type = schema.get("type");
  if (isJsonArray(type)) {
    const words = type.filter((word) => typeof word === "string");
    if (words.length > 0) {
      return words.map((word) => (word === "integer" ? "number" : word)).join(" | ");
    }
  }
  if (type === "object") return objectType(schema, indent);
  if (type === "string") return stringType(schema);
  if (type === "number" || type === "integer") return "number";
  if (type === "boolean") return "boolean";
  if (type === "array") {
    const items = schema.get("items");
    return items === undefined ? "Array<any>" : `${toTypeScript(items, indent)}[]`;
  }
  return "any";
}

function stringType(schema: JsonObject): string {
  const members = schema.get("enum");
  const strings = isJsonArray(members) ? members.filter((value) => typeof value === "string") : [];
  return strings.length === 0 ? "string" : strings.map((value) => `"${value}"`).join(" | ");
}

function objectType(schema: JsonObject, indent: string): string {
  const description = schema.get("description");
  const properties = schema.get("properties");
  const required = schema.get("required");
  const names = new Set(isJsonArray(required) ? required : []);
  let body = "";
  if (isJsonObject(properties)) {
    for (const [name, property] of properties) {
      body += propertyLines(names.has(name) ? name : `${name}?`, property, indent);
    }
  }
  // The type is printed in the middle of a line: the comment is indented, the brace is not.
  const comment = typeof description === "string" ? `${indent}// ${description}\n` : "";
  return `${comment}{\n${body}${indent}}`;
}

/** `label` is the property's name, with `?` unless it is required. */
function propertyLines(label: string, property: Json, indent: string): string {
  const schema = isJsonObject(property) ? property : new Map<string, Json>();
  const title = schema.get("title");
  const description = schema.get("description");
  const variants = schema.get("oneOf");
  let out = "";
  if (typeof title === "string") out += `${indent}// ${title}\n${indent}//\n`;
  if (typeof description === "string" && variants === undefined) {
    out += `${indent}// ${description}\n`;
  }
  out += exampleLines(schema.get("examples"), indent);
  if (isJsonArray(variants)) return out + unionProperty(label, schema, variants, indent);

  out += `${indent}${label}: ${orNull(schema, toTypeScript(schema, `${indent}    `))},`;
  const fallback = variants === undefined ? defaultText(schema, "bare") : undefined;
  return fallback === undefined ? `${out}\n` : `${out} // ${fallback}\n`;
}

function exampleLines(examples: Json | undefined, indent: string): string {
  if (!isJsonArray(examples) || examples.length === 0) return "";
  const strings = examples.filter((example) => typeof example === "string");
  const shown = strings.map((example) => `${indent}// - "${example}"\n`);
  return `${indent}// Examples:\n${shown.join("")}`;
}

/** Prints `oneOf` as a property: one variant per line. Repeated descriptions are printed once or not at all. */
function unionProperty(
  label: string,
  schema: JsonObject,
  variants: readonly Json[],
  indent: string,
): string {
  const description = schema.get("description");
  const described =
    typeof description === "string" && description !== member(variants[0], "description");
  const fallback = defaultText(schema, "bare");
  let out = "";
  if (described) out += `${indent}// ${description}\n`;
  if (fallback !== undefined) out += `${indent}// ${fallback}\n`;
  out += `${indent}${label}:\n`;
  for (const [index, variant] of variants.entries()) {
    const own = member(variant, "description");
    const repeats = own === description || (index === 0 && described);
    out += `${indent} | ${variantText(variant, indent, !repeats, "bare")}\n`;
  }
  return `${out}${indent},\n`;
}

/** Prints `oneOf` anywhere else: nothing is left out, and a string default next to an enum is quoted as JSON. */
function unionType(variants: readonly Json[], indent: string): string {
  return variants
    .map((variant) => `\n${indent} | ${variantText(variant, indent, true, "json")}`)
    .join("");
}

function variantText(
  variant: Json,
  indent: string,
  showDescription: boolean,
  besideEnum: EnumDefault,
): string {
  const type = orNull(variant, toTypeScript(variant, `${indent}   `));
  const description = member(variant, "description");
  const comments = [
    showDescription && typeof description === "string" ? description : undefined,
    defaultText(variant, besideEnum),
  ].filter((comment) => comment !== undefined);
  return comments.length === 0 ? type : `${type} // ${comments.join(" ")}`;
}

/** Adds ` | null` unless the type contains `null` anywhere, even in an enum or a comment. */
function orNull(schema: Json, type: string): string {
  return member(schema, "nullable") === true && !type.includes("null") ? `${type} | null` : type;
}

/** The form of a string default next to an enum. */
type EnumDefault = "bare" | "json";

/** A string default without an enum is quoted, without escapes. */
function defaultText(schema: Json, besideEnum: EnumDefault): string | undefined {
  const value = member(schema, "default");
  if (value === undefined) return undefined;
  if (typeof value !== "string") return `default: ${toCompactJson(value)}`;
  const members = member(schema, "enum");
  if (!isJsonArray(members) || members.length === 0) return `default: "${value}"`;
  return `default: ${besideEnum === "bare" ? value : toCompactJson(value)}`;
}

function member(schema: Json | undefined, key: string): Json | undefined {
  return isJsonObject(schema) ? schema.get(key) : undefined;
}

/** Compares by UTF-8 bytes: the order of code points, not of UTF-16 code units. */
function compareBytes(a: string, b: string): number {
  const [left, right] = [Array.from(a), Array.from(b)];
  for (let i = 0; i < left.length && i < right.length; i++) {
    const order = (left[i]?.codePointAt(0) ?? 0) - (right[i]?.codePointAt(0) ?? 0);
    if (order !== 0) return order;
  }
  return left.length - right.length;
}
