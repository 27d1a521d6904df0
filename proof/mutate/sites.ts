/** Places of `src` where one expression can be swapped for another that a test should notice. */
import { createHash } from "node:crypto";
import { dirname } from "node:path";
import { parseAst } from "vitest/node";

/** A line of a file, and its part that is swapped. The line is found by its text, so other lines of the file may change. */
export interface Mutant {
  file: string;
  line: string;
  from: string;
  to: string;
}

/** All mutants of a file, except in lines that the file has twice, and of parts that their line has twice. */
export function findMutants(file: string, text: string): Mutant[] {
  const counts = new Map<string, number>();
  for (const line of text.split("\n")) counts.set(line.trim(), (counts.get(line.trim()) ?? 0) + 1);
  const found: Mutant[] = [];
  const program: unknown = parseAst(text, { lang: "ts" });
  if (!isNode(program)) return [];
  visit(program, (node) => {
    const swapped = swap(node, text);
    if (swapped === undefined) return;
    const { start, end, to } = swapped;
    const from = text.slice(start, end);
    const line = text.slice(text.lastIndexOf("\n", start) + 1, endOfLine(text, start)).trim();
    if (from.includes("\n") || counts.get(line) !== 1 || line.split(from).length !== 2) return;
    found.push({ file, line, from, to });
  });
  return found;
}

/** Returns the file's text with the mutant; `undefined` if the line is gone. */
export function applyMutant({ line, from, to }: Mutant, text: string): string | undefined {
  const lines = text.split("\n");
  const at = lines.findIndex((other) => other.trim() === line);
  if (at === -1) return undefined;
  // The replacement is a function, because `$` has a meaning in a string.
  lines[at] = lines[at]!.replace(from, () => to);
  return lines.join("\n");
}

/** Chooses mutants deterministically, by a hash, and at least `least` of each folder. */
export function chooseMutants(all: readonly Mutant[], count: number, least: number): Mutant[] {
  const inOrder = all
    .map((mutant) => ({ mutant, hash: hashOf(mutant) }))
    .toSorted((a, b) => a.hash.localeCompare(b.hash))
    .map(({ mutant }) => mutant);
  const ofFolder = new Map<string, number>();
  const first: Mutant[] = [];
  const rest: Mutant[] = [];
  for (const mutant of inOrder) {
    const folder = dirname(mutant.file).split("/").slice(0, 3).join("/");
    const had = ofFolder.get(folder) ?? 0;
    ofFolder.set(folder, had + 1);
    (had < least ? first : rest).push(mutant);
  }
  return [...first, ...rest].slice(0, count);
}

function hashOf({ file, line, from, to }: Mutant): string {
  return createHash("sha1")
    .update(JSON.stringify([file, line, from, to]))
    .digest("hex");
}

function endOfLine(text: string, from: number): number {
  const end = text.indexOf("\n", from);
  return end === -1 ? text.length : end;
}

interface Node {
  type: string;
  start: number;
  end: number;
  [key: string]: unknown;
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value && "start" in value;
}

function visit(node: Node, see: (node: Node) => void): void {
  // Nodes that only the compiler reads are skipped.
  if (/^TS(Type|Interface|Enum|Module)/.test(node.type)) return;
  see(node);
  for (const value of Object.values(node))
    for (const child of Array.isArray(value) ? value : [value])
      if (isNode(child)) visit(child, see);
}

const OPERATORS: Record<string, string> = {
  "<": "<=",
  "<=": "<",
  ">": ">=",
  ">=": ">",
  "===": "!==",
  "!==": "===",
  "+": "-",
  "-": "+",
  "*": "/",
  "/": "*",
  "&&": "||",
  "||": "&&",
  "??": "&&",
};

/** The part of the node that is swapped, and its replacement. */
function swap(node: Node, text: string): { start: number; end: number; to: string } | undefined {
  const source = (part: unknown) => (isNode(part) ? text.slice(part.start, part.end) : "");
  const whole = (to: string | undefined) =>
    to === undefined ? undefined : { start: node.start, end: node.end, to };
  switch (node.type) {
    case "BinaryExpression":
    case "LogicalExpression": {
      const other = OPERATORS[String(node["operator"])];
      return whole(other && `(${source(node["left"])}) ${other} (${source(node["right"])})`);
    }
    case "ConditionalExpression": {
      const [test, yes, no] = ["test", "consequent", "alternate"].map((key) => source(node[key]));
      return whole(`(${test}) ? (${no}) : (${yes})`);
    }
    case "UnaryExpression":
      return node["operator"] === "!" ? whole(source(node["argument"])) : undefined;
    case "Literal":
      if (typeof node["value"] === "boolean") return whole(String(!node["value"]));
      return typeof node["value"] === "number" ? whole(String(node["value"] + 1)) : undefined;
    case "ExpressionStatement":
      return isNode(node["expression"]) && EFFECTS.test(node["expression"].type)
        ? whole(";")
        : undefined;
    case "IfStatement": {
      const { test } = node;
      return isNode(test)
        ? { start: test.start, end: test.end, to: `!(${source(test)})` }
        : undefined;
    }
    default:
      return undefined;
  }
}

const EFFECTS = /^(Call|Await|Yield|Assignment|Update)Expression$/;
