/**
 * A model file of architecture gpt-oss, 40 MB, with the whole vocabulary and hand-made weights, so that
 * tests can run llama.cpp itself: attention sinks, a sliding window, experts, special tokens and all.
 *
 * The weights are an automaton that writes valid Harmony. Each token belongs to a state, which is one dimension of its
 * embedding; the output matrix holds the log probabilities of its successors. Two attention layers add context that a
 * state alone does not have:
 *
 * - layer 0 (sliding window of five tokens) spreads its attention evenly, to detect which of a few tokens came just
 *   before: a body after `analysis` begins differently than one after `final`;
 * - layer 1 (the whole context) looks for `namespace` (tools are offered) and for `functions` shortly
 *   after `<|start|>` (a tool has answered). Its sinks win when there is nothing to find.
 *
 * Its output: an analysis message, which ends in ` ✓`; then, if tools are offered and none has answered yet, a call to
 * `get_weather`, else an answer. At temperature 0 that is always `The user sent a message; I should reply. ✓` and
 * `Hello!👩‍🚀 This is toy text bye`, whose emoji is five tokens, none of them valid UTF-8 alone; otherwise the wording
 * varies.
 */
import { createHash, randomUUID } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import ranks from "js-tiktoken/ranks/o200k_base";
import { SPECIAL_TOKENS } from "../../src/tokenizer/index.ts";
import {
  f32Tensor,
  ggufFile,
  q8Tensor,
  zeroMxfp4Tensor,
  type GgufTensor,
  type GgufValue,
} from "./gguf.ts";

export interface TinyGptOssOptions {
  /**
   * Whether llama.cpp can encode text with the model. The gateway sends ids, and 450,000 pairs of tokens to merge make
   * loading twice as slow. Default false.
   */
  readonly canTokenize?: boolean;
}

/** Path of the file, which is made at the first call and kept in `test/.cache/`. */
export async function tinyGptOss({ canTokenize = false }: TinyGptOssOptions = {}): Promise<string> {
  const sources = [import.meta.url, new URL("gguf.ts", import.meta.url)].map((url) =>
    readFileSync(new URL(url)),
  );
  const version = createHash("sha256").update(Buffer.concat(sources)).digest("hex").slice(0, 12);
  const folder = new URL("../.cache/", import.meta.url);
  const name = `tiny-gpt-oss-${canTokenize ? "text" : "ids"}-${version}.gguf`;
  const path = fileURLToPath(new URL(name, folder));
  if (existsSync(path)) return path;
  await mkdir(folder, { recursive: true });
  // Test files run in parallel: the last rename wins, and no process reads half a file.
  const unfinished = `${path}.${randomUUID()}`;
  await writeFile(unfinished, makeModel(canTokenize));
  await rename(unfinished, path);
  return path;
}

const VOCABULARY_SIZE = 201_088;
const FIRST_SPECIAL_ID = SPECIAL_TOKENS["<|startoftext|>"];
const WIDTH = 64;
const HEADS = 2;
const HEAD_WIDTH = 32;
const LAYERS = 2;
const WINDOW = 5;
const EXPERTS = 4;
const EXPERT_WIDTH = 32;

function makeModel(canTokenize: boolean): Uint8Array {
  const vocabulary = readVocabulary();
  // llama.cpp refuses a file without any merge.
  const merges = vocabulary.tokens
    .slice(0, canTokenize ? undefined : 1000)
    .flatMap((token) => vocabulary.mergesInto(token));
  return ggufFile(metadata(vocabulary, merges), toyWeights(vocabulary));
}

function metadata(vocabulary: Vocabulary, merges: readonly string[]): Record<string, GgufValue> {
  const special = new Map<number, string>(
    Object.entries(SPECIAL_TOKENS).map(([name, id]) => [id, name]),
  );
  const fillers = Array.from(
    { length: VOCABULARY_SIZE - FIRST_SPECIAL_ID },
    (_, index) => index + FIRST_SPECIAL_ID,
  );
  const [NORMAL, CONTROL, UNUSED] = [1, 3, 5];
  return {
    "general.architecture": { text: "gpt-oss" },
    "general.name": { text: "tiny gpt-oss" },
    "general.file_type": { u32: 38 },
    "general.quantization_version": { u32: 2 },
    "gpt-oss.block_count": { u32: LAYERS },
    "gpt-oss.context_length": { u32: 8192 },
    "gpt-oss.embedding_length": { u32: WIDTH },
    "gpt-oss.feed_forward_length": { u32: EXPERT_WIDTH },
    "gpt-oss.attention.head_count": { u32: HEADS },
    "gpt-oss.attention.head_count_kv": { u32: HEADS },
    "gpt-oss.attention.key_length": { u32: HEAD_WIDTH },
    "gpt-oss.attention.value_length": { u32: HEAD_WIDTH },
    "gpt-oss.attention.layer_norm_rms_epsilon": { f32: 1e-5 },
    "gpt-oss.attention.sliding_window": { u32: WINDOW },
    "gpt-oss.rope.freq_base": { f32: 150_000 },
    "gpt-oss.expert_count": { u32: EXPERTS },
    "gpt-oss.expert_used_count": { u32: 2 },
    "gpt-oss.expert_feed_forward_length": { u32: EXPERT_WIDTH },
    "tokenizer.ggml.model": { text: "gpt2" },
    "tokenizer.ggml.pre": { text: "gpt-4o" },
    "tokenizer.ggml.tokens": {
      texts: [
        ...vocabulary.tokens,
        ...fillers.map((id) => special.get(id) ?? `<|reserved_${id}|>`),
      ],
    },
    "tokenizer.ggml.token_type": {
      i32s: [
        ...vocabulary.tokens.map(() => NORMAL),
        ...fillers.map((id) => (special.has(id) ? CONTROL : UNUSED)),
      ],
    },
    "tokenizer.ggml.merges": { texts: merges },
    "tokenizer.ggml.bos_token_id": { u32: SPECIAL_TOKENS["<|startoftext|>"] },
    "tokenizer.ggml.eos_token_id": { u32: SPECIAL_TOKENS["<|return|>"] },
    "tokenizer.ggml.padding_token_id": { u32: SPECIAL_TOKENS["<|endoftext|>"] },
    "tokenizer.ggml.add_bos_token": { bool: false },
  };
}

interface Vocabulary {
  /** The ordinary tokens by id, each byte as one printable character. */
  readonly tokens: readonly string[];
  /** All merges of two tokens into this one, `left right`. */
  mergesInto(token: string): string[];
  idOf(token: string): number;
}

function readVocabulary(): Vocabulary {
  const characters = byteCharacters();
  const spell = (bytes: Uint8Array) => Array.from(bytes, (byte) => characters[byte]).join("");
  const tokens: string[] = [];
  for (const line of ranks.bpe_ranks.split("\n")) {
    const [, offset, ...base64] = line.split(" ");
    for (const [index, token] of base64.entries()) {
      tokens[Number(offset) + index] = spell(Buffer.from(token, "base64"));
    }
  }
  const ids = new Map(tokens.map((token, id) => [token, id]));
  const idOf = (text: string): number => {
    const id =
      new Map<string, number>(Object.entries(SPECIAL_TOKENS)).get(text) ??
      ids.get(spell(Buffer.from(text)));
    if (id === undefined) throw new Error(`Not one token: ${text}`);
    return id;
  };
  return { tokens, mergesInto: (token) => mergesInto(token, ids), idOf };
}

/** The pairs in the order a byte-pair encoder learns them: the older left part first. */
function mergesInto(token: string, ids: ReadonlyMap<string, number>): string[] {
  const pairs: { left: string; right: string; age: number }[] = [];
  for (let cut = 1; cut < token.length; cut++) {
    const [left, right] = [token.slice(0, cut), token.slice(cut)];
    const age = ids.get(left);
    if (age !== undefined && ids.has(right)) pairs.push({ left, right, age });
  }
  return pairs.toSorted((a, b) => a.age - b.age).map(({ left, right }) => `${left} ${right}`);
}

/** GPT-2's table: printable Latin-1 stands for itself, other bytes are moved beyond 0xff. */
function byteCharacters(): string[] {
  let moved = 0;
  return Array.from({ length: 256 }, (_, byte) => {
    const printable = (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte !== 0xad);
    return String.fromCharCode(printable ? byte : 256 + moved++);
  });
}

/** Text of one token, or an id if the token alone is not text. */
type Symbol = string | number;
type Next = readonly (readonly [Symbol, number])[];

const ANALYSIS_END = " ✓";
const EMOJI = [28823, 102, 2524, 112927, 222];

/** The successors of any token of the first list, with their probabilities. */
const TRANSITIONS: readonly (readonly [readonly Symbol[], Next])[] = [
  [["<|start|>"], [["assistant", 1]]],
  [["assistant"], [["<|channel|>", 1]]],
  [["<|channel|>"], []],
  [["<|message|>"], []],
  [["<|end|>"], [["<|start|>", 1]]],
  [["analysis"], [["<|message|>", 1]]],
  [["final"], [["<|message|>", 1]]],
  ...chain([
    "comment",
    "ary",
    " to",
    "=",
    "functions",
    ".get",
    "_weather",
    " ",
    "<|constrain|>",
    "json",
    "<|message|>",
  ]),

  ...chain(["The", " user", " sent"]),
  [
    [" sent"],
    [
      [" a", 0.6],
      [" another", 0.4],
    ],
  ],
  [[" a", " another"], [[" message", 1]]],
  ...chain([" message", ";", " I", " should"]),
  [
    [" should"],
    [
      [" reply", 0.55],
      [" answer", 0.45],
    ],
  ],
  [[" reply", " answer"], [[".", 1]]],
  [
    ["."],
    [
      [ANALYSIS_END, 0.6],
      [" I", 0.4],
    ],
  ],
  [[ANALYSIS_END], [["<|end|>", 1]]],

  ...chain(["Hello", "!"]),
  [
    ["!"],
    [
      [EMOJI[0] ?? 0, 0.7],
      [" This", 0.3],
    ],
  ],
  ...chain([...EMOJI, " This", " is", " toy"]),
  [
    [" toy"],
    [
      [" text", 0.6],
      [" output", 0.4],
    ],
  ],
  [
    [" text", " output"],
    [
      [" bye", 0.55],
      [" and", 0.45],
    ],
  ],
  ...chain([" and", " more", " toy"]),
  [[" bye"], [["<|return|>", 1]]],

  ...chain(['{"', "location", '":"']),
  [
    ['":"'],
    [
      ["Paris", 0.6],
      ["Tokyo", 0.4],
    ],
  ],
  [["Paris", "Tokyo"], [['"}', 1]]],
  [['"}'], [["<|call|>", 1]]],

  // Never written; a state only so that attention can look for it.
  [["namespace"], []],
];

function chain(symbols: readonly Symbol[]): [[Symbol], Next][] {
  return symbols.slice(0, -1).map((symbol, index) => [[symbol], [[symbols[index + 1] ?? 0, 1]]]);
}

/** Dimensions in addition to those of the states. */
const CONSTANT = WIDTH - 1;
const RECENT = {
  analysis: WIDTH - 2,
  final: WIDTH - 3,
  constrain: WIDTH - 4,
  analysisEnd: WIDTH - 5,
  start: WIDTH - 6,
};
const TOOLS_OFFERED = WIDTH - 7;
const TOOL_ANSWERED = WIDTH - 8;

/** Large beside the other dimensions, so that their sum hardly changes what normalisation divides by. */
const CONSTANT_SIZE = 4;
const NORMALISED = 1 / Math.sqrt((CONSTANT_SIZE ** 2 + 1) / WIDTH);

/** Logits of a certain successor, of a token in the table that does not follow, and of all other tokens. */
const CERTAIN = 12;
const UNLIKELY = -20;
const OTHER = -30;
const UNUSED = -40;

function toyWeights(vocabulary: Vocabulary): GgufTensor[] {
  const idOf = (symbol: Symbol) => (typeof symbol === "number" ? symbol : vocabulary.idOf(symbol));
  const stateOf = new Map(
    TRANSITIONS.flatMap(([symbols], state) =>
      symbols.map((symbol) => [idOf(symbol), state] as const),
    ),
  );
  const state = (symbol: Symbol) => stateOf.get(idOf(symbol)) ?? CONSTANT;
  if (TRANSITIONS.length > TOOL_ANSWERED) throw new Error("More states than dimensions");
  const logits = collectLogits(idOf, state);
  // Under a grammar these close strings and objects early.
  const closers = new Set(['"', '"}', "}", "]", '",', '"]'].map(idOf));

  return [
    q8Tensor("token_embd.weight", [WIDTH, VOCABULARY_SIZE], (id, row) => {
      row[CONSTANT] = CONSTANT_SIZE;
      const own = stateOf.get(id);
      if (own !== undefined) row[own] = 1;
    }),
    q8Tensor("output.weight", [WIDTH, VOCABULARY_SIZE], (id, row) => {
      const own = logits.get(id);
      row[CONSTANT] = restingLogit(id, own !== undefined, closers) / (CONSTANT_SIZE * NORMALISED);
      for (const [dimension, logit] of own ?? [])
        row[dimension] = (row[dimension] ?? 0) + logit / NORMALISED;
    }),
    f32Tensor("output_norm.weight", [WIDTH], () => 1),
    ...layer(0, recentTokens(state)),
    ...layer(1, wholeContext(state)),
  ];
}

type Logits = Map<number, Map<number, number>>;

/** Contributions to the logit of each token in the table, by input dimension. */
function collectLogits(
  idOf: (symbol: Symbol) => number,
  state: (symbol: Symbol) => number,
): Logits {
  const logits: Logits = new Map();
  const add = (symbol: Symbol, added: readonly (readonly [number, number])[]) => {
    const own = logits.get(idOf(symbol)) ?? new Map<number, number>();
    for (const [dimension, logit] of added) own.set(dimension, (own.get(dimension) ?? 0) + logit);
    logits.set(idOf(symbol), own);
  };
  for (const [index, [symbols, next]] of TRANSITIONS.entries()) {
    for (const symbol of symbols) if (symbol !== "namespace") add(symbol, []);
    for (const [symbol, probability] of next) {
      add(symbol, [[index, CERTAIN - UNLIKELY + Math.log(probability)]]);
    }
  }
  // Conditions beyond the state. The terms that hold add up to 32, or fall well short of it.
  const [channel, message] = [state("<|channel|>"), state("<|message|>")];
  add("The", [
    [message, 16],
    [RECENT.analysis, 16],
  ]);
  add("Hello", [
    [message, 16],
    [RECENT.final, 16],
  ]);
  add('{"', [
    [message, 16],
    [RECENT.constrain, 16],
  ]);
  add("analysis", [
    [channel, 34],
    [RECENT.analysisEnd, -26],
  ]);
  add("final", [
    [channel, 14],
    [RECENT.analysisEnd, 18],
    [TOOLS_OFFERED, -24],
    [TOOL_ANSWERED, 24],
  ]);
  add("comment", [
    [channel, 12],
    [RECENT.analysisEnd, 8],
    [TOOLS_OFFERED, 12],
    [TOOL_ANSWERED, -40],
  ]);
  return logits;
}

function restingLogit(id: number, inTable: boolean, closers: ReadonlySet<number>): number {
  if (inTable) return UNLIKELY;
  if (closers.has(id)) return UNLIKELY - 2;
  if (id >= FIRST_SPECIAL_ID) return UNUSED;
  // Spread, so that a grammar does not always leave the same token on top.
  return OTHER + ((Math.imul(id, 0x9e3779b1) >>> 0) / 2 ** 32 - 0.5) * 6;
}

/** Matrices by output row: the input dimensions that matter, with their weights. */
type Rows = readonly (readonly [row: number, column: number, weight: number])[];

interface Attention {
  readonly query: Rows;
  readonly key: Rows;
  readonly value: Rows;
  readonly output: Rows;
  readonly sinks: readonly [number, number];
}

function recentTokens(state: (symbol: Symbol) => number): Attention {
  const noted: readonly (readonly [Symbol, number])[] = [
    ["analysis", RECENT.analysis],
    ["final", RECENT.final],
    ["<|constrain|>", RECENT.constrain],
    [ANALYSIS_END, RECENT.analysisEnd],
    ["<|start|>", RECENT.start],
  ];
  return {
    query: [],
    key: [],
    value: noted.map(([symbol], index) => [index, state(symbol), 1]),
    // Attention gives the mean over the window, so one occurrence counts a fifth.
    output: noted.map(([, dimension], index) => [dimension, index, WINDOW / NORMALISED]),
    sinks: [-10_000, -10_000],
  };
}

function wholeContext(state: (symbol: Symbol) => number): Attention {
  // The slowest pair of the rotary embedding: over a few thousand tokens it hardly turns.
  const slot = HEAD_WIDTH / 2 - 1;
  const size = 13;
  const query = size / (CONSTANT_SIZE * NORMALISED);
  /** The weight that makes the attention score come out as this number. */
  const scoring = (score: number) => (score * Math.sqrt(HEAD_WIDTH)) / size / NORMALISED;
  return {
    query: [
      [slot, CONSTANT, query],
      [HEAD_WIDTH + slot, CONSTANT, query],
    ],
    key: [
      [slot, state("namespace"), scoring(30)],
      [HEAD_WIDTH + slot, state("functions"), scoring(60)],
      [HEAD_WIDTH + slot, RECENT.start, scoring(24)],
      // At the beginning the window is short and a single `<|start|>` would count for more than it should.
      [HEAD_WIDTH + slot, state("<|start|>"), scoring(-100)],
    ],
    value: [
      [0, state("namespace"), 1],
      [HEAD_WIDTH, state("functions"), 1],
    ],
    output: [
      [TOOLS_OFFERED, 0, 1 / NORMALISED],
      [TOOL_ANSWERED, HEAD_WIDTH, 1 / NORMALISED],
    ],
    // `namespace` beats the first; the second takes `functions` and `<|start|>` together.
    sinks: [15, 70],
  };
}

function layer(index: number, attention: Attention): GgufTensor[] {
  const name = (part: string) => `blk.${index}.${part}`;
  const inner = HEADS * HEAD_WIDTH;
  return [
    f32Tensor(name("attn_norm.weight"), [WIDTH], () => 1),
    f32Tensor(name("post_attention_norm.weight"), [WIDTH], () => 1),
    matrix(name("attn_q.weight"), [WIDTH, inner], attention.query),
    f32Tensor(name("attn_q.bias"), [inner]),
    matrix(name("attn_k.weight"), [WIDTH, inner], attention.key),
    f32Tensor(name("attn_k.bias"), [inner]),
    matrix(name("attn_v.weight"), [WIDTH, inner], attention.value),
    f32Tensor(name("attn_v.bias"), [inner]),
    matrix(name("attn_output.weight"), [inner, WIDTH], attention.output),
    f32Tensor(name("attn_output.bias"), [WIDTH]),
    f32Tensor(name("attn_sinks.weight"), [HEADS], (head) => attention.sinks[head] ?? 0),
    // Experts that add nothing.
    f32Tensor(name("ffn_gate_inp.weight"), [WIDTH, EXPERTS]),
    f32Tensor(name("ffn_gate_inp.bias"), [EXPERTS]),
    zeroMxfp4Tensor(name("ffn_gate_exps.weight"), [WIDTH, EXPERT_WIDTH, EXPERTS]),
    f32Tensor(name("ffn_gate_exps.bias"), [EXPERT_WIDTH, EXPERTS]),
    zeroMxfp4Tensor(name("ffn_up_exps.weight"), [WIDTH, EXPERT_WIDTH, EXPERTS]),
    f32Tensor(name("ffn_up_exps.bias"), [EXPERT_WIDTH, EXPERTS]),
    zeroMxfp4Tensor(name("ffn_down_exps.weight"), [EXPERT_WIDTH, WIDTH, EXPERTS]),
    f32Tensor(name("ffn_down_exps.bias"), [WIDTH, EXPERTS]),
  ];
}

function matrix(
  name: string,
  [columns, rows]: readonly [number, number],
  weights: Rows,
): GgufTensor {
  const values = new Float32Array(columns * rows);
  for (const [row, column, weight] of weights) values[row * columns + column] = weight;
  return f32Tensor(name, [columns, rows], values);
}
