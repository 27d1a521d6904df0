/** Work for a step counter: one place that reads what an engine sends reads a text. */
import { body } from "../../src/doctor/completion.ts";
import { printable } from "../../src/doctor/finding.ts";
import { chooseModel } from "../../src/engines/auto.ts";
import { createEngine } from "../../src/index.ts";
import { createLineSplitter } from "../../src/engines/ollama.ts";
import { readServerError } from "../../src/engines/server-errors.ts";
import { createSseSplitter, type Splitter } from "../../src/engines/sse.ts";
import { limitTokens } from "../../src/turn/sampling/token-limits.ts";
import { complete, jsonAnswer, requestOf, scriptTransport, streamOf } from "./support.ts";

type EngineTextWork = Readonly<Record<"place" | "text", string>>;

const PLACES: Readonly<Record<string, (text: string) => unknown>> = {
  "the text of an error": (text) => readServerError(text, 500),
  "the message of an error in JSON": (text) =>
    readServerError(JSON.stringify({ error: { message: text } }), 500),
  "an answer to a query": async (text) => {
    const transport = scriptTransport(() => jsonAnswer(text));
    const engine = createEngine("vllm", { url: "http://engine:8000", model: "m", transport });
    await engine.probe(new AbortController().signal).catch(() => {});
  },
  "the name of a model": (text) =>
    chooseModel("openai/gpt-oss-20b", { kind: "vllm", models: [text] }),
  "server-sent events in pieces of 100 bytes": (text) => feed(createSseSplitter(), text),
  "lines of JSON in pieces of 100 bytes": (text) => feed(createLineSplitter(), text),
  "text of an answer": (text) => readCompletion([text]),
  "text of an answer in events of one character": (text) => readCompletion(Array.from(text)),
  "what the doctor shows": (text) =>
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
};

export async function work({ place, text }: EngineTextWork): Promise<void> {
  const read = PLACES[place];
  if (read === undefined) throw new Error(`${place} is no place`);
  await read(text);
}

function feed(splitter: Splitter, text: string): void {
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length; at += 100) {
    splitter.push(bytes.subarray(at, at + 100), () => {});
  }
}

/** Reads one completion, an event for each text. */
async function readCompletion(texts: readonly string[]): Promise<void> {
  const events = texts.map((text) => `data: ${JSON.stringify({ choices: [{ text }] })}\n\n`);
  const transport = scriptTransport(() => streamOf(events.join("")));
  const engine = createEngine("completions", { url: "http://engine:8000", model: "m", transport });
  await complete(limitTokens(engine), requestOf({ maxTokens: 131_072 }));
}
