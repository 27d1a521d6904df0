/**
 * The worst texts that an engine can send, at 10 KB and at the most that is read of them. Steps are counted, not timed: how often V8
 * runs each block of the modules that read them (its precise coverage), and how many characters they hand to patterns.
 */
import { Session } from "node:inspector/promises";
import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { body } from "../../src/doctor/completion.ts";
import { printable } from "../../src/doctor/printable.ts";
import { chooseModel } from "../../src/engines/auto.ts";
import { createEngine, type EngineKind } from "../../src/engines/create-engine.ts";
import { createLineSplitter } from "../../src/engines/ndjson.ts";
import { readServerError } from "../../src/engines/server-errors.ts";
import { createSseSplitter, type Splitter } from "../../src/engines/sse.ts";
import { limitTokens } from "../../src/turn/sampling/token-limits.ts";
import { complete, jsonAnswer, requestOf, scriptTransport, streamOf } from "./support.ts";

const READERS = /\/src\/(?:engines|doctor|turn|node\/llama)\//;
const coverage = z.object({
  result: z.array(
    z.object({
      url: z.string(),
      functions: z.array(z.object({ ranges: z.array(z.object({ count: z.number() })) })),
    }),
  ),
});

interface Steps {
  readonly blocks: number;
  readonly patternChars: number;
}

async function countSteps(run: () => unknown): Promise<Steps> {
  const session = new Session();
  session.connect();
  const exec = z.function().parse(Reflect.get(RegExp.prototype, "exec"));
  let patternChars = 0;
  const patterns = vi.spyOn(RegExp.prototype, "exec");
  patterns.mockImplementation(function count(this: RegExp, text: string) {
    const from = this.lastIndex;
    const match: RegExpExecArray | null = Reflect.apply(exec, this, [text]);
    patternChars += (match === null ? text.length : match.index + match[0].length) - from;
    return match;
  });
  try {
    await session.post("Profiler.enable");
    await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
    await session.post("Profiler.takePreciseCoverage");
    await run();
    patterns.mockRestore();
    const { result } = coverage.parse(await session.post("Profiler.takePreciseCoverage"));
    const blocks = result
      .filter(({ url }) => READERS.test(url))
      .flatMap(({ functions }) => functions.flatMap(({ ranges }) => ranges))
      .reduce((sum, { count }) => sum + count, 0);
    return { blocks, patternChars };
  } finally {
    patterns.mockRestore();
    session.disconnect();
  }
}

const SMALL = 10_000;

function repeat(pattern: string, length: number): string {
  return pattern.repeat(Math.ceil(length / pattern.length)).slice(0, length);
}

function feed(splitter: Splitter, text: string, size: number): void {
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length; at += size) {
    splitter.push(bytes.subarray(at, at + size), () => {});
  }
}

/** The answer to one completion. */
async function answer(kind: EngineKind, text: string): Promise<void> {
  const transport = scriptTransport(() => streamOf(text));
  const engine = createEngine(kind, { url: "http://engine:8000", model: "m", transport });
  await complete(limitTokens(engine), requestOf({ maxTokens: 131_072 }));
}

const quote = (text: string): string => JSON.stringify(text);

/** What reads it, the most of it, the patterns it is made of, and how it is read. */
const PLACES: readonly (readonly [string, number, readonly string[], (text: string) => unknown])[] =
  [
    [
      "the text of an error",
      1_000_000,
      ["<a", "<title", "<title>", "< ", " ", "\n", "<a>"],
      (text) => readServerError(text, 500),
    ],
    [
      "the message of an error in JSON",
      1_000_000,
      ["<a", "<title", " "],
      (text) => readServerError(`{"error":{"message":${quote(text)}}}`, 500),
    ],
    [
      "an answer to a query",
      1_000_000,
      ["NaN,", "[", ":Infinity"],
      async (text) => {
        const transport = scriptTransport(() => jsonAnswer(text));
        const engine = createEngine("vllm", { url: "http://engine:8000", model: "m", transport });
        await engine.probe(new AbortController().signal).catch(() => {});
      },
    ],
    [
      "the name of a model",
      1_000_000,
      ["gptoss", "gpt-oss "],
      (text) => chooseModel("openai/gpt-oss-20b", { kind: "vllm", models: [text] }),
    ],
    [
      "server-sent events in pieces of 100 bytes",
      1_000_000,
      ["data: x", ": ping\n", "data: x\n", "data: x\n\n", "\r", "\n\n", "data: \u00e4\n\n"],
      (text) => feed(createSseSplitter(), text, 100),
    ],
    [
      "lines of JSON in pieces of 100 bytes",
      1_000_000,
      ["{", "\n", "{}\n", " \n"],
      (text) => feed(createLineSplitter(), text, 100),
    ],
    [
      "text of an answer",
      100_000,
      ["a", " ", "<|", "<|end|", "word "],
      (text) => answer("completions", `data: {"choices":[{"text":${quote(text)}}]}\n\n`),
    ],
    [
      "text of an answer in events of one character",
      40_000,
      [" ", "<", "a "],
      (text) =>
        answer(
          "completions",
          Array.from(text, (one) => `data: {"choices":[{"text":${quote(one)}}]}\n\n`).join(""),
        ),
    ],
    [
      "what the doctor shows",
      1_000_000,
      ["<|end|>", "<|a|>", "|>", "<|end|> ", "\u001b"],
      (text) =>
        printable(
          body({
            form: "text",
            ids: [],
            text,
            tokens: 0,
            logprobs: [],
            reads: [],
            finish: undefined,
            overran: false,
            ms: 0,
          }),
        ),
    ],
  ];

describe.each(PLACES)("%s", (_, most, patterns, read) => {
  test.each(patterns)("made of %j takes steps in proportion to its length", async (pattern) => {
    // Once before, so that what is built on first use is not counted.
    await read(repeat(pattern, 100));
    const small = await countSteps(() => read(repeat(pattern, SMALL)));
    const large = await countSteps(() => read(repeat(pattern, most)));
    const allowed = (1.5 * most) / SMALL;
    expect(large.blocks).toBeLessThanOrEqual(allowed * small.blocks);
    expect(large.patternChars).toBeLessThanOrEqual(allowed * Math.max(SMALL, small.patternChars));
  });
});

test("no pattern is given more than 4 KB of an error", async () => {
  const { patternChars } = await countSteps(() => readServerError(repeat("<a", 1_000_000), 500));
  // Three patterns read the text, and nothing else is that long.
  expect(patternChars).toBeLessThanOrEqual(4 * 4096);
});
