/** Work for a step counter: each place reads a text from an engine. */
import { body } from "../../src/doctor/completion.ts";
import { printable } from "../../src/doctor/finding.ts";
import { chooseModel } from "../../src/engines/auto.ts";
import { createEngine, type EngineKind } from "../../src/index.ts";
import { limitTokens } from "../../src/turn/sampling/token-limits.ts";
import {
  type Answer,
  complete,
  jsonAnswer,
  requestOf,
  scriptTransport,
  streamOf,
} from "./support.ts";

type EngineTextWork = Readonly<Record<"place" | "text", string>>;

const PLACES: Readonly<Record<string, (text: string) => unknown>> = {
  "the text of an error": (text) => read("vllm", jsonAnswer(text, 500)),
  "the message of an error in JSON": (text) =>
    read("vllm", jsonAnswer({ error: { message: text } }, 500)),
  "an answer to a query": async (text) => {
    const transport = scriptTransport(() => jsonAnswer(text));
    const engine = createEngine("vllm", { url: "http://engine:8000", model: "m", transport });
    await engine.probe(new AbortController().signal).catch(() => {});
  },
  "the name of a model": (text) =>
    chooseModel("openai/gpt-oss-20b", { kind: "vllm", models: [text] }),
  "server-sent events in pieces of 100 bytes": (text) => read("vllm", inPieces(text)),
  "lines of JSON in pieces of 100 bytes": (text) => read("ollama", inPieces(text)),
  "text of an answer": (text) => readCompletion([text]),
  "text of an answer in events of one character": (text) => readCompletion(Array.from(text)),
  "text that the doctor shows": (text) =>
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
  const readAt = PLACES[place];
  if (readAt === undefined) throw new Error(`${place} is no place`);
  await readAt(text);
}

/** Reads a completion with this answer. */
async function read(kind: EngineKind, answer: Answer): Promise<void> {
  const transport = scriptTransport(() => answer);
  await complete(createEngine(kind, { url: "http://engine:8000", model: "m", transport }));
}

function inPieces(text: string): Answer {
  const bytes = new TextEncoder().encode(text);
  const pieces = [];
  for (let at = 0; at < bytes.length; at += 100) pieces.push(bytes.subarray(at, at + 100));
  return { pieces };
}

/** Reads one completion, an event for each text. */
async function readCompletion(texts: readonly string[]): Promise<void> {
  const events = texts.map((text) => `data: ${JSON.stringify({ choices: [{ text }] })}\n\n`);
  const transport = scriptTransport(() => streamOf(events.join("")));
  const engine = createEngine("completions", { url: "http://engine:8000", model: "m", transport });
  await complete(limitTokens(engine), requestOf({ maxTokens: 131_072 }));
}
