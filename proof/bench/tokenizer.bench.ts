/**
 * Compares the tokenizer with js-tiktoken by kind of text: `npx vitest bench --run proof/bench/tokenizer`. Each call
 * gets the next of many texts, more than fit into the cache of pieces, so that nothing is cached. `npm run bench --
 * --suite text` measures more encoders, each in a separate process.
 */
import { Tiktoken } from "js-tiktoken/lite";
import o200kBase from "js-tiktoken/ranks/o200k_base";
import { test } from "vitest";
import * as tokenizer from "../../src/tokenizer/index.ts";
import { CORPORA, corpusOf, WORST } from "./text/corpora.ts";

// Bound once: vitest resolves imports through a getter at each use.
const { createDecoder, o200kHarmony, tokenText } = tokenizer;
const own = o200kHarmony();
const oracle = new Tiktoken(o200kBase);

// The other two are runs of one character, for which js-tiktoken takes minutes.
const ordinary = CORPORA.filter(({ name }) => name !== "repeated" && name !== "space");

test.for(ordinary)("encode 10,000 characters of $title", async (corpus, { bench }) => {
  const texts = Array.from({ length: 40 }, (_, seed) => corpus.create(10_000, seed));
  await bench.compare(
    bench(
      "own",
      inTurn(texts, (text) => own.encode(text).length),
    ),
    bench(
      "js-tiktoken",
      inTurn(texts, (text) => oracle.encode(text, [], []).length),
    ),
  );
});

test("encode a word", async ({ bench }) => {
  await bench.compare(
    bench("own", () => own.encode("assistant").length),
    bench("js-tiktoken", () => oracle.encode("assistant", [], []).length),
  );
});

test("decode the ids of 10,000 characters of prose", async ({ bench }) => {
  const ids = own.encode(corpusOf("prose").create(10_000, 1));
  await bench.compare(
    bench("own", () => own.decode(ids).length),
    bench("own, one by one", () => {
      const decoder = createDecoder();
      return ids.reduce((sum, id) => sum + decoder.push(id).length, 0);
    }),
    bench("own, texts of single ids", () =>
      ids.reduce((sum, id) => sum + (tokenText(id)?.length ?? 0), 0)),
    bench("js-tiktoken", () => oracle.decode(ids).length),
  );
});

test.for(Object.entries(WORST))("encode 100,000 of %s", async ([, create], { bench }) => {
  const text = create(100_000, 1);
  await bench("own", () => own.encode(text).length).run();
});

/** A function that encodes the next text at each call. Its result prevents dead-code elimination. */
function inTurn(texts: readonly string[], measure: (text: string) => number): () => number {
  let turn = 0;
  return () => measure(texts[turn++ % texts.length] ?? "");
}
