/** Generates texts that a GBNF grammar allows: an independent interpretation of the grammar. */
import { createRandom } from "./random-numbers.ts";

type Node =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "characters"; readonly pattern: RegExp }
  | { readonly type: "rule"; readonly name: string }
  | { readonly type: "sequence"; readonly parts: readonly Node[] }
  | { readonly type: "choice"; readonly options: readonly Node[] }
  | { readonly type: "repeat"; readonly part: Node; readonly least: number; readonly most: number };

/** Deeper recursion prefers the shortest alternative. */
export function sampleGrammar(grammar: string, seed: number): string {
  const random = createRandom(seed);
  const rules = parseGrammar(grammar);
  return sample({ type: "rule", name: "root" }, 0);

  function sample(node: Node, depth: number): string {
    const tired = depth > 24;
    const pick = (length: number) => (tired ? length - 1 : random(length));
    switch (node.type) {
      case "text":
        return node.text;
      case "characters":
        return sampleCharacter(node.pattern, random);
      case "rule": {
        const rule = rules.get(node.name);
        if (rule === undefined) throw new Error(`No rule ${node.name}`);
        return sample(rule, depth + 1);
      }
      case "sequence":
        return node.parts.map((part) => sample(part, depth)).join("");
      case "choice": {
        const option = node.options[pick(node.options.length)];
        return option === undefined ? "" : sample(option, depth);
      }
      case "repeat": {
        const most = Math.min(node.most, node.least + (tired ? 0 : 2));
        const times = node.least + random(most - node.least + 1);
        return Array.from({ length: times }, () => sample(node.part, depth)).join("");
      }
      default:
        return node satisfies never;
    }
  }
}

const CHARACTERS = Array.from('aebnuE09 {}[]:,-_./é日🚀"\\\n\t\u007f');

function sampleCharacter(pattern: RegExp, random: (below: number) => number): string {
  const allowed = CHARACTERS.filter((character) => pattern.test(character));
  const character = allowed[random(allowed.length)];
  if (character === undefined) throw new Error(`No character to choose for ${pattern.source}`);
  return character;
}

function parseGrammar(grammar: string): Map<string, Node> {
  const rules = new Map<string, Node>();
  for (const line of grammar.split("\n")) {
    const [, name, body] = /^([a-z0-9-]+) ::= (.*)$/.exec(line) ?? [];
    if (name !== undefined && body !== undefined) rules.set(name, parseRule(body));
  }
  return rules;
}

const TOKEN = /\s*("(?:[^"\\]|\\.)*"|\[(?:[^\]\\]|\\.)*\]|[a-z0-9-]+|\{\d+(?:,\d*)?\}|[()|?*+])/y;

function parseRule(body: string): Node {
  const tokens: string[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < body.trimEnd().length) {
    const token = TOKEN.exec(body)?.[1];
    if (token === undefined) throw new Error(`Not a grammar: ${body}`);
    tokens.push(token);
  }
  return parseChoice();

  function parseChoice(): Node {
    const options = [parseSequence()];
    while (tokens[0] === "|") {
      tokens.shift();
      options.push(parseSequence());
    }
    return { type: "choice", options };
  }

  function parseSequence(): Node {
    const parts: Node[] = [];
    while (tokens[0] !== undefined && tokens[0] !== "|" && tokens[0] !== ")") {
      parts.push(parseRepeat(parsePart(tokens.shift() ?? "")));
    }
    return { type: "sequence", parts };
  }

  function parsePart(token: string): Node {
    if (token === "(") {
      const inner = parseChoice();
      tokens.shift();
      return inner;
    }
    if (token.startsWith('"')) return { type: "text", text: JSON.parse(token) };
    if (token.startsWith("["))
      return { type: "characters", pattern: new RegExp(`^${token}$`, "u") };
    return { type: "rule", name: token };
  }

  function parseRepeat(part: Node): Node {
    const [, least, comma, most] = /^\{(\d+)(,?)(\d*)\}$/.exec(tokens[0] ?? "") ?? [];
    if (least !== undefined) {
      tokens.shift();
      const upper = most === "" ? (comma === "," ? Infinity : Number(least)) : Number(most);
      return { type: "repeat", part, least: Number(least), most: upper };
    }
    if (tokens[0] !== "?" && tokens[0] !== "*" && tokens[0] !== "+") return part;
    const sign = tokens.shift();
    return { type: "repeat", part, least: sign === "+" ? 1 : 0, most: sign === "?" ? 1 : Infinity };
  }
}
