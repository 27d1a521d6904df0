/** Random completions for the Harmony parser: fragments of headers, bodies, markers, ids and broken characters. */
import type { ParserPiece } from "../../src/harmony/index.ts";
import {
  FIRST_SPECIAL_ID,
  o200kHarmony,
  SPECIAL_TOKENS,
  type TokenId,
} from "../../src/tokenizer/index.ts";
import { LAST_SPECIAL_ID } from "../../src/tokenizer/special-tokens.ts";
import { lazy } from "../../src/lazy.ts";
import type { Random } from "./random.ts";

/** Input of one form; its elements may be split anywhere. */
export type ParserSegment =
  | { readonly form: "ids"; readonly items: readonly TokenId[] }
  | { readonly form: "text"; readonly items: string }
  | { readonly form: "pieces"; readonly items: readonly ParserPiece[] };

export interface ParserInput {
  readonly segments: readonly ParserSegment[];
  readonly toolNames: readonly string[];
  readonly reason: "stop" | "length";
  /** Small limits, which short inputs exceed. */
  readonly limits: { readonly maxHeaderLength?: number; readonly maxHeldLength?: number };
}

const WORDS = [
  ..."assistant,user,analysis,commentary,final,comment,assistantfinal, to=, to=functions.,functions.f".split(
    ",",
  ),
  ..."f,search,json, json,code,get_weather,Web Search,browser.search,python,all,to,tool,system".split(
    ",",
  ),
  ...' ,\n,??,{,},],[,{},{"a":1},{"a":"b},",\\,\\u00,Hello, there.,I will,é,💖,<,<|,|>,|,>'.split(
    ",",
  ),
  ..."<|en,<|reserved_2,nnel|>,\u0000,\uFEFF,\u2028,\uD83D,\uDC96,\t\t".split(","),
];

/** Inputs that exceed the small limits. Rare, because each costs as much as twenty others. */
const LONG_WORDS = [
  "word ".repeat(30),
  " ".repeat(130),
  "}".repeat(150),
  `functions.${"x".repeat(100)}`,
];

/** Beginnings that get past the first header. */
const HEADERS = [
  "<|channel|>analysis<|message|>",
  "<|channel|>final<|message|>",
  "<|channel|>commentary<|message|>",
  "<|channel|>commentary to=functions.f <|constrain|>json<|message|>",
  " to=functions.get_weather<|channel|>commentary<|message|>",
  "<|channel|>commentary to=functions.unknown<|message|>{",
  "<|end|><|start|>assistant",
  "<|call|><|start|>assistant<|channel|>commentary to=functions.f<|message|>",
];

const MARKERS = [...Object.keys(SPECIAL_TOKENS), "<|reserved_200500|>", "<|endofprompt|>"];
const SPECIAL_IDS = Object.values(SPECIAL_TOKENS);

const NO_IDS: readonly TokenId[] = [
  -1,
  -200_006,
  LAST_SPECIAL_ID + 1,
  4_294_967_296,
  Number.MAX_SAFE_INTEGER,
  NaN,
  Infinity,
  0.5,
];

const TOOL_NAMES = [[], ["f"], ["get_weather", "search", "search_docs", "Web Search"]];

const LIMITS = [{}, {}, {}, { maxHeaderLength: 128, maxHeldLength: 200 }];

/** The ids of fragments, cached because encoding would take most of the time. */
const fragments = lazy(() => {
  const marks = new RegExp(
    `(${Object.keys(SPECIAL_TOKENS)
      .map((name) => name.replaceAll("|", "\\|"))
      .join("|")})`,
  );
  const special = new Map<string, TokenId>(Object.entries(SPECIAL_TOKENS));
  const toIds = (text: string) =>
    text.split(marks).flatMap((part) => special.get(part) ?? o200kHarmony().encode(part));
  return {
    words: WORDS.map((text) => o200kHarmony().encode(text)),
    long: LONG_WORDS.map((text) => o200kHarmony().encode(text)),
    headers: HEADERS.map(toIds),
    // Markers spelled with ordinary tokens, as a model quotes them.
    spelled: [...MARKERS, ...HEADERS].map((text) => o200kHarmony().encode(text)),
  };
});

export function createParserInput(random: Random): ParserInput {
  const segments: ParserSegment[] = [createSegment(random)];
  while (random.oneIn(6)) segments.push(createSegment(random));
  return {
    segments,
    toolNames: random.pick(TOOL_NAMES),
    reason: random.oneIn(2) ? "length" : "stop",
    limits: random.pick(LIMITS),
  };
}

function createSegment(random: Random): ParserSegment {
  const length = 1 + random.below(random.oneIn(50) ? 40 : 6);
  switch (random.below(4)) {
    case 0:
      return { form: "text", items: createText(random, length) };
    case 1:
      return { form: "pieces", items: createPieces(random, length) };
    default:
      return { form: "ids", items: createIds(random, length) };
  }
}

function createIds(random: Random, length: number): TokenId[] {
  const { words, long, headers, spelled } = fragments();
  const ids: TokenId[] = [];
  for (let i = 0; i < length; i++) {
    switch (random.below(12)) {
      case 0:
      case 1:
      case 2:
        ids.push(random.pick(SPECIAL_IDS));
        break;
      case 3:
        ids.push(random.below(FIRST_SPECIAL_ID));
        break;
      case 4:
        ids.push(FIRST_SPECIAL_ID + random.below(LAST_SPECIAL_ID - FIRST_SPECIAL_ID + 1));
        break;
      case 5:
        // The first 256 ids are single bytes, most of them no characters.
        ids.push(random.below(256));
        break;
      case 6:
        ids.push(random.oneIn(4) ? random.pick(NO_IDS) : random.pick(SPECIAL_IDS));
        break;
      case 7:
        ids.push(...random.pick(headers));
        break;
      case 8:
        if (random.oneIn(3)) ids.push(...random.pick(spelled));
        break;
      default:
        ids.push(...random.pick(random.oneIn(100) ? long : words));
    }
  }
  return ids;
}

function createText(random: Random, length: number): string {
  let text = "";
  for (let i = 0; i < length; i++) {
    switch (random.below(8)) {
      case 0:
      case 1:
        text += random.pick(MARKERS);
        break;
      case 2:
        text += random.pick(HEADERS);
        break;
      case 3:
        text += String.fromCharCode(random.below(random.oneIn(2) ? 128 : 65_536));
        break;
      default:
        text += random.pick(random.oneIn(100) ? LONG_WORDS : WORDS);
    }
  }
  return text;
}

function createPieces(random: Random, length: number): ParserPiece[] {
  return Array.from({ length }, () => {
    if (random.oneIn(3)) return { special: random.pick(SPECIAL_IDS) };
    if (random.oneIn(20)) return { special: random.pick(NO_IDS) };
    return { text: createText(random, random.below(3)) };
  });
}
