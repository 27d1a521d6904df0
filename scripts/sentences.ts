/** Lists the sentences in the sources, so that a reviewer reads each one that a change adds or rewords. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseAst } from "vitest/node";

const ROOT = join(import.meta.dirname, "..");
/** Descriptions of settings are in docs/settings.md; texts of snippets are code. */
const ELSEWHERE = ["src/config/settings/**", "src/snippets/**"];
/** Four words in one line. */
const SENTENCE = /^[^\n]*\b[\w'’-]+,? [\w'’`…-]+,? [\w'’`…-]+,? [\w'’`…-]+[^\n]*$/;

interface Node {
  readonly type: string;
  readonly [member: string]: unknown;
}

/** One sentence a line, in the order of the alphabet: a moved file changes nothing. `…` stands for a value. */
export function toSentences(): string {
  const files = globSync("src/**/*.ts", { cwd: ROOT, exclude: ELSEWHERE });
  const sentences = files.flatMap((file) => {
    const tree: unknown = parseAst(readFileSync(join(ROOT, file), "utf8"), { lang: "ts" });
    return textsIn(tree).filter((text) => SENTENCE.test(text));
  });
  return [...new Set(sentences)].toSorted().join("\n") + "\n";
}

/** The texts of a tree; a template and a sum of texts are one. */
function textsIn(tree: unknown): string[] {
  if (Array.isArray(tree)) return tree.flatMap((each) => textsIn(each));
  if (!isNode(tree) || tree.type === "ImportDeclaration") return [];
  const parts = partsOf(tree);
  if (parts === undefined) return Object.values(tree).flatMap((each) => textsIn(each));
  const text = parts.map((part) => (typeof part === "string" ? part : "…")).join("");
  return [text, ...parts.flatMap((part) => textsIn(part))];
}

/** The fixed parts of a text and the values between them, in order. Undefined: the node is no text. */
function partsOf(node: unknown): unknown[] | undefined {
  if (!isNode(node)) return undefined;
  if (node.type === "Literal" && typeof node["value"] === "string") return [node["value"]];
  if (node.type === "BinaryExpression" && node["operator"] === "+") {
    const [left, right] = [node["left"], node["right"]].map((each) => partsOf(each));
    return left || right ? [...(left ?? [node["left"]]), ...(right ?? [node["right"]])] : undefined;
  }
  if (node.type !== "TemplateLiteral") return undefined;
  const values = [node["expressions"]].flat();
  return [node["quasis"]].flat().flatMap((quasi, index) => {
    const value = values[index];
    return [textOf(quasi), ...(index < values.length ? (partsOf(value) ?? [value]) : [])];
  });
}

function textOf(quasi: unknown): string {
  const value = isNode(quasi) ? quasi["value"] : undefined;
  return typeof value === "object" && value !== null && "cooked" in value
    ? String(value.cooked)
    : "";
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value;
}
