/**
 * The cost of parsing, by input form and content. Each run reads a whole completion, so divide by the number of tokens
 * in its name. Events are counted, so that nothing can be optimized away.
 */
import { test } from "vitest";
import { createParser } from "../../src/harmony/parse.ts";
import type { Parser } from "../../src/harmony/parse.ts";
import { o200kHarmony, SPECIAL_TOKENS } from "../../src/tokenizer/index.ts";
import type { TokenId } from "../../src/tokenizer/index.ts";

const tokenizer = o200kHarmony();
const prose =
  "The quick brown fox doesn't jump; it reads, thinks for a while, and answers at length. ";
const row = '{"id":12345,"name":"Müller \\"the fox\\"","tags":["a","b"],"score":0.75},';

const answer = toIds("<|channel|>final<|message|>", prose, 5_000, "<|return|>");
const analysis = toIds("<|channel|>analysis<|message|>", prose, 5_000, "<|end|>");
const header = '<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"rows":[';
const call = toIds(header, row, 5_000, "<|call|>");
const longCall = toIds(header, row, 50_000, "<|call|>");
const unheaded = toIds("", prose, 5_000, "<|return|>");

function toIds(opening: string, body: string, tokens: number, terminator: string): TokenId[] {
  const once = tokenizer.encode(body);
  const repeated = Array.from({ length: tokens }, (_, index) => once[index % once.length] ?? 0);
  return [...spelled(opening), ...repeated, ...spelled(terminator)];
}

function spelled(text: string): TokenId[] {
  const special = new Map<string, TokenId>(Object.entries(SPECIAL_TOKENS));
  return text.split(/(<\|\w+\|>)/).flatMap((part) => special.get(part) ?? tokenizer.encode(part));
}

function parse(push: (parser: Parser) => number): number {
  const parser = createParser(tokenizer, { toolNames: ["f"] });
  return push(parser) + parser.end("stop").length;
}

function oneByOne(ids: readonly TokenId[]): number {
  return parse((parser) => ids.reduce((sum, id) => sum + parser.pushIds([id]).length, 0));
}

function inReads(ids: readonly TokenId[], length: number): number {
  return parse((parser) => {
    let events = 0;
    for (let at = 0; at < ids.length; at += length) {
      events += parser.pushIds(ids.slice(at, at + length)).length;
    }
    return events;
  });
}

function asText(texts: readonly string[]): number {
  return parse((parser) => texts.reduce((sum, text) => sum + parser.pushText(text).length, 0));
}

const answerTexts = answer.map((id) => tokenizer.decode([id]));
const callTexts = call.map((id) => tokenizer.decode([id]));

test("a token at a time, 5,000 tokens", async ({ bench }) => {
  await bench.compare(
    bench("decode alone", () => {
      const decoder = tokenizer.createDecoder();
      return answer.reduce((sum, id) => sum + decoder.push(id).length, 0);
    }),
    bench("answer", () => oneByOne(answer)),
    bench("analysis", () => oneByOne(analysis)),
    bench("answer without header", () => oneByOne(unheaded)),
    bench("arguments", () => oneByOne(call)),
    bench("answer as text", () => asText(answerTexts)),
    bench("arguments as text", () => asText(callTexts)),
  );
});

test("in reads of 32 tokens, 5,000 tokens", async ({ bench }) => {
  await bench.compare(
    bench("answer", () => inReads(answer, 32)),
    bench("arguments", () => inReads(call, 32)),
  );
});

test("the length of arguments does not change the cost of a token", async ({ bench }) => {
  await bench.compare(
    bench("5,000 tokens, ten times", () => {
      for (let i = 0; i < 10; i++) oneByOne(call);
    }),
    bench("50,000 tokens", () => oneByOne(longCall)),
  );
});
