/**
 * Sets values in the text of a JSON file that people edit: comments and trailing commas are skipped, and everything else stays as
 * it is, byte for byte.
 */
import { EditError, lineBreakOf } from "./edit-error.ts";
import { type JsonNode, readJsonText } from "./json-nodes.ts";

/** A member of an object, or the object of a list whose `member` has the value `is`. */
export type JsonStep = string | { readonly member: string; readonly is: string };

export interface JsonValueAt {
  readonly path: readonly JsonStep[];
  readonly value: unknown;
}

/** Members and objects that do not exist are added. @throws EditError */
export function setJsonValues(text: string, values: readonly JsonValueAt[]): string {
  let edited = text;
  for (const each of values) edited = setValue(edited, each);
  return edited;
}

function setValue(text: string, { path, value }: JsonValueAt): string {
  let node = readJsonText(text);
  for (const [n, step] of path.entries()) {
    const found = findStep(text, node, step);
    if (found === undefined) return insert(text, node, step, nest(path.slice(n + 1), value));
    node = found;
  }
  const written = print(value, indentOf(text, node.start), text);
  return text.slice(0, node.start) + written + text.slice(node.end);
}

/** Wraps the value in the objects that are missing around it. */
function nest(path: readonly JsonStep[], value: unknown): unknown {
  return path.reduceRight<unknown>(
    (inner, step) => (typeof step === "string" ? { [step]: inner } : [inner]),
    value,
  );
}

function findStep(text: string, node: JsonNode, step: JsonStep): JsonNode | undefined {
  if (typeof step === "string") {
    if (node.kind !== "object") throw new EditError(`expected an object around ${step}`);
    // The last of several members with the same key, as in JSON.parse.
    return node.members.findLast(({ key }) => key === step)?.value;
  }
  if (node.kind !== "array") throw new EditError("expected a list");
  return node.items.find((item) => {
    const member = item.kind === "object" && item.members.find(({ key }) => key === step.member);
    if (!member) return false;
    const { start, end } = member.value;
    return text.slice(start, end) === JSON.stringify(step.is);
  });
}

/** Adds a value at the end of an object or a list. */
function insert(text: string, node: JsonNode, step: JsonStep, value: unknown): string {
  if (node.kind === "scalar") throw new EditError("expected an object or a list");
  const lineBreak = lineBreakOf(text);
  const outer = indentOf(text, node.start);
  const last = node.kind === "object" ? node.members.at(-1)?.value : node.items.at(-1);
  const isOneLine = last === undefined || !text.slice(node.start, last.start).includes("\n");
  const inner = isOneLine ? outer + unitOf(text) : indentOf(text, last.start);
  const name = typeof step === "string" ? `${JSON.stringify(step)}: ` : "";
  const written = name + print(value, inner, text);
  if (last === undefined) {
    // The new member follows the comments of an empty object.
    const before = text.slice(0, node.end - 1).trimEnd();
    return `${before}${lineBreak}${inner}${written}${lineBreak}${outer}${text.slice(node.end - 1)}`;
  }
  const { afterComma } = node;
  const at = afterComma ?? last.end;
  // A comment after the last value stays on its line.
  const note = /^[ \t]*(?:\/\/[^\r\n]*|\/\*[^\r\n]*?\*\/[ \t]*)?(?=\r?\n)/.exec(
    text.slice(at),
  )?.[0];
  const comma = afterComma === undefined ? "," : "";
  const rest = text.slice(at + (note?.length ?? 0));
  const ending = afterComma === undefined ? "" : ",";
  return `${text.slice(0, at)}${comma}${note ?? ""}${lineBreak}${inner}${written}${ending}${rest}`;
}

function print(value: unknown, indent: string, text: string): string {
  return JSON.stringify(value, undefined, unitOf(text)).replaceAll(
    "\n",
    lineBreakOf(text) + indent,
  );
}

/** The white space at the beginning of the line of an index. */
function indentOf(text: string, index: number): string {
  const line = text.slice(text.lastIndexOf("\n", index - 1) + 1, index);
  return /^[ \t]*/.exec(line)?.[0] ?? "";
}

/** One step of indentation in the text. */
function unitOf(text: string): string {
  return /^[{[][^\n]*\n([ \t]+)\S/.exec(text.trimStart())?.[1] ?? "  ";
}
