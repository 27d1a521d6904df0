/**
 * Generated texts to measure with. Every seed gives a different text: "uncached" must be true for words and pieces, not
 * only for the whole string.
 */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { FIRST_SPECIAL_ID, tokenText } from "../../../src/tokenizer/index.ts";
import { WORDS } from "../streaming/words.ts";

export type CorpusName =
  | "prose"
  | "code"
  | "json"
  | "cjk"
  | "base64"
  | "messages"
  | "repeated"
  | "space";

export interface Corpus {
  readonly name: CorpusName;
  readonly title: string;
  /** A text of about `characters` characters. */
  create(characters: number, seed: number): string;
}

export const CORPORA: readonly Corpus[] = [
  { name: "prose", title: "prose", create: (size, seed) => fill(size, sentences(seed)) },
  { name: "code", title: "code", create: (size, seed) => fill(size, codeLines(seed)) },
  { name: "json", title: "JSON", create: (size, seed) => fill(size, records(seed)) },
  { name: "cjk", title: "CJK", create: (size, seed) => fill(size, clauses(seed)) },
  { name: "base64", title: "base64", create: (size, seed) => fill(size, base64(seed)) },
  {
    name: "messages",
    title: "messages of 200 characters",
    create: (size, seed) => fill(size, sentences(seed)),
  },
  { name: "repeated", title: "one letter", create: (size) => "a".repeat(size) },
  { name: "space", title: "white space", create: (size, seed) => fill(size, spaces(seed)) },
];

export function corpusOf(name: CorpusName): Corpus {
  const corpus = CORPORA.find((each) => each.name === name);
  if (corpus === undefined) throw new RangeError(name);
  return corpus;
}

/** Texts for which merging is slow, each without anything that ends a piece. */
export const WORST: Readonly<Record<string, (characters: number, seed: number) => string>> = {
  "one letter": (size) => "a".repeat(size),
  "one sign": (size) => "=".repeat(size),
  "one space": (size) => " ".repeat(size),
  "line breaks": (size) => "\n".repeat(size),
  "random small letters": (size, seed) => letters(size, seed, "abcdefghijklmnopqrstuvwxyz"),
  "random hex letters": (size, seed) => letters(size, seed, "abcdef"),
  "random Han": (size, seed) => ofRange(size, seed, 0x4e00, 0x9fa5),
  "random Hangul": (size, seed) => ofRange(size, seed, 0xac00, 0xd7a3),
  "random emoji": (size, seed) => ofRange(Math.floor(size / 2), seed, 0x1f300, 0x1f5ff),
  "random signs": (size, seed) => letters(size, seed, "!#$%&*+,-./:;<=>?@^_|~"),
  // Nearly every pair of adjacent units forms a token.
  "Thai tokens": (size, seed) => fill(size, tokensOf(seed, /^[\u0e01-\u0e5b]+$/)),
  "Georgian tokens": (size, seed) => fill(size, tokensOf(seed, /^[\u10a0-\u10ff]+$/)),
  "Hindi tokens": (size, seed) => fill(size, tokensOf(seed, /^[\u0900-\u097f]+$/)),
  "Tamil tokens": (size, seed) => fill(size, tokensOf(seed, /^[\u0b80-\u0bff]+$/)),
  "Khmer tokens": (size, seed) => fill(size, tokensOf(seed, /^[\u1780-\u17ff]+$/)),
};

/** A generator of numbers from 0 up to `below`, the same for the same seed (mulberry32). */
export function createRandom(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

function fill(characters: number, parts: Iterable<string>): string {
  let text = "";
  for (const part of parts) {
    text += part;
    if (text.length >= characters) break;
  }
  return text.slice(0, characters);
}

const ROOT = new URL("../../../", import.meta.url);

function readAll(folder: string, extension: string): string {
  const names = readdirSync(new URL(folder, ROOT), { recursive: true, encoding: "utf8" });
  return names
    .filter((name) => name.endsWith(extension))
    .toSorted()
    .map((name) => readFileSync(fileURLToPath(new URL(`${folder}${name}`, ROOT)), "utf8"))
    .join("\n");
}

let documentWords: string[] | undefined;
let sourceLines: string[] | undefined;

/**
 * The words of our documents in random order; one in eight is any word of the vocabulary, one in thirty is invented.
 */
function* sentences(seed: number): Generator<string> {
  documentWords ??= readAll("docs/", ".md").match(/[A-Za-z][A-Za-z'-]*[,.;:?!]?/g) ?? [];
  const random = createRandom(seed);
  for (let length = 0; ; length++) {
    const kind = random(240);
    if (kind < 30) yield pick(WORDS, random).text;
    else if (kind < 38) yield ` ${madeUp(random)}`;
    else yield ` ${pick(documentWords, random)}`;
    if (length > 0 && random(90) === 0) yield "\n\n";
  }
}

/** Lines of our own sources in random order, with invented names. */
function* codeLines(seed: number): Generator<string> {
  // Tables are excluded: a line of 10,000 letters keeps a quadratic encoder busy for minutes.
  sourceLines ??= readAll("src/", ".ts")
    .split("\n")
    .filter((line) => line.length <= 120);
  const random = createRandom(seed);
  for (;;) {
    yield `${pick(sourceLines, random)}\n`;
    if (random(6) === 0) {
      yield `    const ${madeUp(random)}${pick(WORDS, random).text.trim()} = ${madeUp(random)}(${random(5000)});\n`;
    }
  }
}

function* records(seed: number): Generator<string> {
  const random = createRandom(seed);
  for (;;) {
    yield `${JSON.stringify({
      id: random(10_000_000),
      key: madeUp(random) + random(1000).toString(16),
      title: `${pick(WORDS, random).text} ${pick(WORDS, random).text}`.trim(),
      score: random(100_000) / 1000,
      active: random(2) === 0,
      tags: Array.from({ length: random(4) }, () => pick(WORDS, random).text.trim()),
      at: new Date(random(2_000_000_000) * 1000).toISOString(),
    })},\n`;
  }
}

const CLAUSES = [
  "我们昨天下午在河边散步的时候遇到了一位老朋友",
  "这个问题看起来很简单但是实际上需要仔细考虑",
  "如果明天下雨的话会议就改到星期三上午举行",
  "她把所有的资料都整理好放在桌子上了",
  "新的系统可以同时处理很多不同的请求",
  "天气预报说今晚可能会有大风和暴雨",
  "学生们正在准备下个月的考试和报告",
  "请在提交之前检查一下地址和电话号码",
  "電車が遅れているので少し待ってください",
  "この料理はとても美味しいと思います",
  "来週の会議の資料を準備しなければなりません",
  "新しい機能を追加するには設定を変更します",
  "子供の頃よくこの公園で遊んでいました",
  "오늘은날씨가좋아서산책을하러나갔습니다",
  "회의자료를내일까지준비해야합니다",
  "이문제는생각보다복잡한것같습니다",
];
const STOPS = ["，", "。", "、", "？", "。\n", "；"];

/** Recombined halves of clauses, as runs without a space: mostly Chinese, some Japanese, some Korean. */
function* clauses(seed: number): Generator<string> {
  const random = createRandom(seed);
  for (;;) {
    const first = pick(CLAUSES, random);
    const second = pick(CLAUSES, random);
    const odd = ofRange(random(3), random(1_000_000), 0x4e00, 0x9fa5);
    yield first.slice(0, 2 + random(first.length)) + odd + second.slice(random(second.length));
    yield pick(STOPS, random);
  }
}

function* base64(seed: number): Generator<string> {
  const random = createRandom(seed);
  for (;;) {
    const bytes = Uint8Array.from({ length: 57 }, () => random(256));
    yield Buffer.from(bytes).toString("base64");
  }
}

function* spaces(seed: number): Generator<string> {
  const random = createRandom(seed);
  for (;;) yield pick([" ", "\n", "\t", "\r\n", "\u00a0", "\u3000"], random).repeat(1 + random(40));
}

/** Random tokens of the vocabulary whose text matches. */
function* tokensOf(seed: number, pattern: RegExp): Generator<string> {
  const random = createRandom(seed);
  const texts = Array.from({ length: FIRST_SPECIAL_ID }, (_, id) => tokenText(id) ?? "");
  const matching = texts.filter((text) => pattern.test(text));
  for (;;) yield pick(matching, random);
}

function madeUp(random: (below: number) => number): string {
  return Array.from({ length: 4 + random(7) }, () => String.fromCharCode(97 + random(26))).join("");
}

function letters(size: number, seed: number, alphabet: string): string {
  const random = createRandom(seed);
  return Array.from({ length: size }, () => alphabet[random(alphabet.length)]).join("");
}

function ofRange(size: number, seed: number, low: number, high: number): string {
  const random = createRandom(seed);
  return Array.from({ length: size }, () =>
    String.fromCodePoint(low + random(high - low + 1)),
  ).join("");
}

function pick<T>(from: readonly T[], random: (below: number) => number): T {
  const picked = from[random(from.length)];
  if (picked === undefined) throw new RangeError("nothing to pick from");
  return picked;
}
