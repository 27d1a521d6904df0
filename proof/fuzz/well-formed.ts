/** Generates well-formed completions with the expected result: every character of every body, and nothing else. */
import { o200kHarmony, SPECIAL_TOKENS, type TokenId } from "../../src/tokenizer/index.ts";
import type { ParserInput } from "./parser-input.ts";
import type { Random } from "./random.ts";

export interface WellFormed {
  readonly input: ParserInput;
  /** The parts with their texts, as the fuzzer writes them. */
  readonly parts: string;
}

const TOOLS = ["f", "get_weather"];

/** No header words: if a body spells one, the parser may hesitate. */
const WORDS = [
  ..."Hello,there, I will,é,💖,<,|,>,{,},[,json,code,\n,\t,\u2028, x ,word ,<|en,<|,|>".split(","),
  // Short enough that text without a header stays reasoning: at its 400th character it becomes an answer.
  "word ".repeat(10),
];

/** Markers quoted with ordinary tokens, as in an answer about the format. */
const QUOTED = ["<|start|>", "<|end|>", "<|message|>", "<|channel|>", "<|call|>", "<|return|>"];

/** Most completions have every marker in its place. In some, an answer or an analysis message lacks its header; none of its text may be lost. */
export function createWellFormed(random: Random): WellFormed {
  const completion = random.oneIn(4)
    ? createBare(random)
    : random.oneIn(6)
      ? createSpelled(random)
      : createMessages(random);
  return {
    input: {
      segments: completion.segments,
      toolNames: TOOLS,
      reason: random.oneIn(4) ? "length" : "stop",
      limits: {},
    },
    parts: completion.parts.join(""),
  };
}

type Completion = Pick<ParserInput, "segments"> & { readonly parts: readonly string[] };

function createMessages(random: Random): Completion {
  const ids: TokenId[] = [];
  const parts: string[] = [];
  const add = (header: readonly (string | TokenId)[], body: string, end: TokenId) => {
    if (parts.length > 0) ids.push(...toIds([SPECIAL_TOKENS["<|start|>"], "assistant"]));
    ids.push(...toIds([...header, SPECIAL_TOKENS["<|message|>"], body, end]));
  };
  const channel = SPECIAL_TOKENS["<|channel|>"];
  for (let more = random.below(3); more > 0; more--) {
    const body = createBody(random);
    const isAnalysis = random.oneIn(2);
    const name = isAnalysis ? "analysis" : "commentary";
    add([channel, name], body, SPECIAL_TOKENS["<|end|>"]);
    parts.push(`[${isAnalysis ? "reasoning" : "preamble"} ${body}]`);
  }
  if (random.oneIn(2)) {
    const body = createBody(random);
    add([channel, "final"], body, SPECIAL_TOKENS["<|return|>"]);
    parts.push(`[content ${body}]`);
  } else {
    for (let calls = 1 + random.below(2); calls > 0; calls--) {
      const name = random.pick(TOOLS);
      const body = JSON.stringify({ a: createBody(random) });
      const constrain = SPECIAL_TOKENS["<|constrain|>"];
      const header = [channel, `commentary to=functions.${name} `, constrain, "json"];
      add(header, body, SPECIAL_TOKENS["<|call|>"]);
      parts.push(`[tool-call ${name} ${body}]`);
    }
  }
  return { segments: [{ form: "ids", items: ids }], parts };
}

function createBare(random: Random): Completion {
  const text = createBody(random);
  const end = { special: SPECIAL_TOKENS["<|return|>"] };
  return { segments: [{ form: "pieces", items: [{ text }, end] }], parts: [`[content ${text}]`] };
}

/** A completion whose markers are all spelled with ordinary tokens, the first after some text. */
function createSpelled(random: Random): Completion {
  // White space between messages belongs to neither of them.
  const analysis = createBody(random, []).trimEnd();
  const body = createBody(random, []);
  const text = `${analysis}<|end|><|start|>assistant<|channel|>final<|message|>${body}<|return|>`;
  const items = o200kHarmony().encode(text);
  return {
    segments: [{ form: "ids", items }],
    parts: [`[reasoning ${analysis}]`, `[content ${body}]`],
  };
}

function createBody(random: Random, quoted: readonly string[] = QUOTED): string {
  let body = "Well";
  for (let words = random.below(6); words > 0; words--) {
    body += ` ${random.pick(random.oneIn(6) && quoted.length > 0 ? quoted : WORDS)}`;
  }
  return body;
}

function toIds(parts: readonly (string | TokenId)[]): TokenId[] {
  return parts.flatMap((part) => (typeof part === "string" ? o200kHarmony().encode(part) : [part]));
}
