/**
 * The texts of errors in TypeScript sources, found in the syntax tree: what is passed to an error's constructor, to a
 * function that passes it on to one, or to zod, or is the `message` of an object; with the constants and functions of the
 * same file that these use.
 */
import { dirname, join } from "node:path";
import { parseAst } from "vitest/node";

/** The fixed parts of a text, in order. Between two of them stands a value. */
export type Text = readonly string[];

export interface Source {
  readonly name: string;
  readonly code: string;
}

export interface MessageText {
  readonly file: string;
  readonly text: Text;
}

interface Node {
  readonly type: string;
  readonly [member: string]: unknown;
}

/** Every string, template and pattern of a source. */
export function stringsOf({ name, code }: Source): Text[] {
  return nodesIn(parse(name, code)).flatMap((node) => {
    const pattern = isPattern(node["regex"]) ? [[node["regex"].pattern.replaceAll("\\", "")]] : [];
    return isText(node) ? [toText(node)] : pattern;
  });
}

export function messagesOf(sources: readonly Source[]): MessageText[] {
  const files = sources.map(({ name, code }) => new SourceFile(name, parse(name, code)));
  const makers = new Set<string>();
  for (let before = -1; before < makers.size;) {
    before = makers.size;
    for (const file of files) file.collect(makers);
  }
  return files.flatMap((file) => file.messages());
}

/** A function, with the names of its parameters. */
interface NamedFunction {
  readonly name: string;
  readonly parameters: ReadonlySet<string>;
  readonly body: Node;
}

class SourceFile {
  readonly #name: string;
  readonly #functions: Map<string, NamedFunction[]>;
  readonly #constants: Map<string, Node[]>;
  /** For each name that is declared or imported here, the file that declares it, with its name there. */
  readonly #origins: ReadonlyMap<string, string>;
  readonly #candidates: readonly Node[];
  readonly #found = new Set<Node>();

  constructor(name: string, tree: Node) {
    const nodes = nodesIn(tree);
    this.#name = name;
    this.#functions = Map.groupBy(
      nodes.flatMap((node) => toFunction(node)),
      (each) => each.name,
    );
    this.#constants = Map.groupBy(
      nodes.filter(({ type }) => type === "VariableDeclarator"),
      ({ id }) => nameOf(id),
    );
    this.#candidates = nodes.filter(({ type }) => CANDIDATES.has(type));
    const imported = nodes
      .filter(({ type }) => type === "ImportDeclaration")
      .flatMap((node) => importsOf(node, name));
    const own = [...this.#functions.keys()].map((each) => [each, `${name}#${each}`] as const);
    this.#origins = new Map([...imported, ...own]);
  }

  /** Finds expressions that are messages, and adds functions whose parameters are part of one to `makers`. */
  collect(makers: Set<string>): void {
    const isMaker = (name: string) => makers.has(this.#origins.get(name) ?? "");
    const queue = this.#candidates.flatMap((node) => messagesAt(node, isMaker));
    for (let node = queue.pop(); node !== undefined; node = queue.pop()) {
      if (this.#found.has(node)) continue;
      this.#found.add(node);
      queue.push(...this.#usedBy(node));
    }
    const identifiers = [...this.#found].filter(({ type }) => type === "Identifier");
    for (const { name, parameters, body } of [...this.#functions.values()].flat()) {
      if (identifiers.some((node) => parameters.has(nameOf(node)) && isWithin(node, body))) {
        makers.add(`${this.#name}#${name}`);
      }
    }
  }

  messages(): MessageText[] {
    const texts = [...this.#found].filter((node) => isText(node)).map((node) => toText(node));
    return texts.map((text) => ({ file: this.#name, text }));
  }

  /** Parts of an expression, and what its names stand for in this file. */
  #usedBy(node: Node): Node[] {
    if (node.type === "Identifier") {
      const declared = this.#constants.get(nameOf(node)) ?? [];
      return declared.flatMap((each) => nodesAt(each, "init"));
    }
    if (node.type !== "CallExpression") return partsOf(node);
    const called = this.#functions.get(calledName(node) ?? "") ?? [];
    if (called.length === 0) return [];
    return [...argumentsOf(node), ...called.flatMap(({ body }) => returnsOf(body))];
  }
}

const CANDIDATES = new Set(["NewExpression", "CallExpression", "Property"]);

function importsOf(node: Node, file: string): (readonly [string, string])[] {
  const [source] = nodesAt(node, "source");
  const from = join(dirname(file), String(source?.["value"]));
  return nodesAt(node, "specifiers").map(
    ({ local, imported }) => [nameOf(local), `${from}#${nameOf(imported)}`] as const,
  );
}

function isWithin(node: Node, body: Node): boolean {
  return (
    Number(node["start"]) >= Number(body["start"]) && Number(node["end"]) <= Number(body["end"])
  );
}

/** Methods of zod whose texts are messages. */
const CHECKS = new Set(["refine", "min", "max", "length", "regex", "multipleOf"]);

/** The expressions at a node that are messages. */
function messagesAt(node: Node, isMaker: (name: string) => boolean): Node[] {
  if (node.type === "NewExpression") {
    return calledName(node)?.endsWith("Error") === true ? argumentsOf(node) : [];
  }
  if (node.type === "CallExpression") {
    const name = calledName(node) ?? "";
    const isCheck = CHECKS.has(name) && isNode(node["callee"]) && isMember(node["callee"]);
    return name === "super" || isMaker(name) || isCheck ? argumentsOf(node) : [];
  }
  const isMessage = node.type === "Property" && ["message", "error"].includes(keyOf(node));
  return isMessage && isNode(node["value"]) ? [node["value"]] : [];
}

/** The operands of an expression that may be its text. */
function partsOf(node: Node): Node[] {
  const members: Readonly<Record<string, readonly string[]>> = {
    BinaryExpression: ["left", "right"],
    LogicalExpression: ["left", "right"],
    ConditionalExpression: ["consequent", "alternate"],
    TemplateLiteral: ["expressions"],
    ArrowFunctionExpression: ["body"],
    TSAsExpression: ["expression"],
  };
  const parts = (members[node.type] ?? []).flatMap((name) => nodesAt(node, name));
  // Texts within a text are parts of it.
  return isText(node) ? parts.flatMap((each) => (isText(each) ? partsOf(each) : [each])) : parts;
}

function argumentsOf(node: Node): Node[] {
  return nodesAt(node, "arguments").flatMap((each) =>
    // The texts of an object's members that are messages are found by themselves.
    each.type === "ObjectExpression" ? [] : [each],
  );
}

function returnsOf(body: Node): Node[] {
  if (body.type !== "BlockStatement") return [body];
  return nodesIn(body).flatMap((node) =>
    node.type === "ReturnStatement" ? nodesAt(node, "argument") : [],
  );
}

function toFunction(node: Node): NamedFunction[] {
  const isDeclared = node.type === "FunctionDeclaration";
  const holder = node.type === "VariableDeclarator" ? node["init"] : node["value"];
  const made = isDeclared ? node : holder;
  if (!isNode(made) || !isNode(made["body"]) || !/Function/.test(made.type)) return [];
  const name = isDeclared || node.type === "VariableDeclarator" ? nameOf(node["id"]) : keyOf(node);
  const parameters = new Set(nodesAt(made, "params").flatMap((each) => namesIn(each)));
  return [{ name, parameters, body: made["body"] }];
}

function isPattern(value: unknown): value is { readonly pattern: string } {
  return typeof value === "object" && value !== null && "pattern" in value;
}

function isText(node: Node): boolean {
  if (node.type === "BinaryExpression") return node["operator"] === "+";
  return node.type === "TemplateLiteral" || typeof node["value"] === "string";
}

/** A text with adjacent fixed parts joined. */
function toText(node: Node): Text {
  return flatten(node)
    .join("")
    .split(HOLE)
    .filter((part) => part !== "");
}

/** Stands for a value. */
const HOLE = "\u0000";

function flatten(node: Node | undefined): string[] {
  if (node === undefined) return [HOLE];
  if (typeof node["value"] === "string" && node.type === "Literal") return [node["value"]];
  if (node.type === "BinaryExpression" && node["operator"] === "+") {
    return [...nodesAt(node, "left"), ...nodesAt(node, "right")].flatMap((each) => flatten(each));
  }
  if (node.type !== "TemplateLiteral") return [HOLE];
  const values = nodesAt(node, "expressions");
  return nodesAt(node, "quasis").flatMap(({ value }, index) => {
    const cooked = isNode(value) ? "" : cookedOf(value);
    return index < values.length ? [cooked, ...flatten(values[index])] : [cooked];
  });
}

function cookedOf(value: unknown): string {
  const isCooked = typeof value === "object" && value !== null && "cooked" in value;
  return isCooked ? String(value.cooked) : "";
}

function calledName(node: Node): string | undefined {
  const [callee] = nodesAt(node, "callee");
  if (callee?.type === "Super") return "super";
  return callee && nameOf(isMember(callee) ? callee["property"] : callee);
}

function isMember({ type }: Node): boolean {
  return type === "MemberExpression";
}

function nameOf(node: unknown): string {
  return isNode(node) && typeof node["name"] === "string" ? node["name"] : "";
}

function keyOf(node: Node): string {
  return nameOf(node["key"]);
}

function namesIn(node: Node): string[] {
  return nodesIn(node).flatMap((each) => (each.type === "Identifier" ? [nameOf(each)] : []));
}

function nodesAt(node: Node, member: string): Node[] {
  return [node[member]].flat().filter((each) => isNode(each));
}

/** The node and all below it. */
function nodesIn(node: Node): Node[] {
  const below = Object.values(node).flatMap((value) => [value].flat());
  return [node, ...below.flatMap((each) => (isNode(each) ? nodesIn(each) : []))];
}

function isNode(value: unknown): value is Node {
  return (
    typeof value === "object" && value !== null && "type" in value && typeof value.type === "string"
  );
}

function parse(name: string, code: string): Node {
  const tree: unknown = parseAst(code, { lang: "ts" }, name);
  if (!isNode(tree)) throw new Error("no tree");
  return tree;
}
