/**
 * Measures one encoder in a separate process: MB of UTF-8 per second for each corpus, for uncached text and for the
 * same text again. Argument: the encoder. Sends the numbers to its parent.
 */
import { CORPORA, type Corpus, corpusOf, WORST } from "./corpora.ts";
import { type LoadedEncoder, loadEncoder, toEncoderName } from "./encoders.ts";

export interface EncoderNumbers {
  /** MB/s by corpus. */
  readonly unseen: Readonly<Record<string, number>>;
  readonly repeated: Readonly<Record<string, number>>;
  /** Milliseconds for 100,000 characters, by kind; only for encoders that can encode them. */
  readonly worst: Readonly<Record<string, number>>;
  /** Milliseconds for 100 KB of UTF-8, which are fewer characters, by kind. */
  readonly worst100Kb: Readonly<Record<string, number>>;
  /** Milliseconds of 1, 2, 4 and 8 times 50,000 characters. */
  readonly growth: Readonly<Record<string, readonly number[]>>;
}

/** A quadratic encoder gets shorter input: at most {@link limit} characters of a corpus. */
const SIZE = 400_000;
const MESSAGE = 200;
const WORST_SIZE = 100_000;
const GROWTH_SIZE = 50_000;

const name = toEncoderName(process.argv[2]);
const encoder = await loadEncoder(name);
const isOwn = name === "own";
process.send?.({
  ...throughput(encoder),
  worst: isOwn ? worstCases(encoder, (text) => text) : {},
  worst100Kb: isOwn ? worstCases(encoder, toBytesOfWorstSize) : {},
  growth: isOwn ? growths(encoder) : {},
} satisfies EncoderNumbers);

function throughput(by: LoadedEncoder): Pick<EncoderNumbers, "unseen" | "repeated"> {
  const unseen: Record<string, number> = {};
  const repeated: Record<string, number> = {};
  for (const corpus of CORPORA) {
    const size = Math.min(SIZE, limit(corpus));
    // Compiled and warm, on text of another seed.
    for (let seed = 1; seed <= 3; seed++) run(by, split(corpus, corpus.create(size, seed)));
    const text = corpus.create(size, 1000 + process.pid);
    const pieces = split(corpus, text);
    const megabytes = Buffer.byteLength(text) / 1e6;
    unseen[corpus.name] = megabytes / (run(by, pieces) / 1000);
    repeated[corpus.name] = megabytes / (Math.min(run(by, pieces), run(by, pieces)) / 1000);
  }
  return { unseen, repeated };
}

function limit({ name: corpus }: Corpus): number {
  if (isOwn) return Infinity;
  if (corpus === "repeated" || corpus === "space") return name === "js-tiktoken" ? 1000 : 20_000;
  return name === "js-tiktoken" && corpus === "cjk" ? 40_000 : Infinity;
}

function split(corpus: Corpus, text: string): string[] {
  if (corpus.name !== "messages") return [text];
  return Array.from({ length: text.length / MESSAGE }, (_, i) =>
    text.slice(i * MESSAGE, (i + 1) * MESSAGE),
  );
}

function worstCases(by: LoadedEncoder, cut: (text: string) => string): Record<string, number> {
  return Object.fromEntries(
    Object.entries(WORST).map(([kind, create]) => {
      const text = cut(create(WORST_SIZE, process.pid));
      return [kind, Math.min(run(by, [text]), run(by, [text]), run(by, [text]))];
    }),
  );
}

/** The beginning of a text, of that many bytes at most. */
function toBytesOfWorstSize(text: string): string {
  const bytes = Buffer.from(text).subarray(0, WORST_SIZE);
  // A character that is cut off is left out.
  return new TextDecoder().decode(bytes, { stream: true });
}

function growths(by: LoadedEncoder): Record<string, number[]> {
  const growing: Record<string, (size: number, seed: number) => string> = {
    prose: (size, seed) => corpusOf("prose").create(size, seed),
    "one letter": (size) => "a".repeat(size),
    CJK: (size, seed) => corpusOf("cjk").create(size, seed),
  };
  return Object.fromEntries(
    Object.entries(growing).map(([kind, create]) => [
      kind,
      [1, 2, 4, 8].map((factor) => {
        const times = [1, 2, 3].map((seed) =>
          run(by, [create(GROWTH_SIZE * factor, seed + factor)]),
        );
        return Math.min(...times);
      }),
    ]),
  );
}

/** Milliseconds. The number of ids is used, so that nothing can be left out. */
function run(by: LoadedEncoder, texts: readonly string[]): number {
  const start = process.hrtime.bigint();
  let ids = 0;
  for (const text of texts) ids += by.encode(text).length;
  const ms = Number(process.hrtime.bigint() - start) / 1e6;
  if (ids === 0) throw new Error("no ids");
  return ms;
}
