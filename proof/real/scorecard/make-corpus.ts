/**
 * Writes the corpus: `node proof/real/scorecard/make-corpus.ts`.
 *
 * Completions come from `test/fixtures/harmony-cases`, recordings from `recordings.ts`, the other kinds from `cases.ts` and
 * `promises.ts`.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { spelledIds } from "../../../test/helpers/spelled.ts";
import { CASES } from "./cases.ts";
import { type Answer, type CorpusLine, KINDS } from "./corpus.ts";
import { PROMISES } from "./promises.ts";
import { recordingLines } from "./recordings.ts";

const VOCABULARY_SIZE = 201_088;
const ENDS = new Set(spelledIds("<|return|><|call|><|endoftext|>"));

const fields = z.object({
  reasoning: z.string().nullable(),
  content: z.string().nullable(),
  commentary: z.array(z.string()),
  visible: z.string().nullable(),
  tool_calls: z.array(z.object({ name: z.string(), arguments: z.string() })),
});

const completionCase = z.object({
  id: z.string(),
  class: z.string(),
  source: z.string(),
  token_ids: z.array(z.int()),
  tools: z.array(z.string()),
  expected: fields,
  also_ok: z.array(fields.partial()),
});

const lines: CorpusLine[] = [
  ...readCompletions(),
  ...[...CASES, ...PROMISES].map(toLine),
  ...recordingLines(),
];
for (const kind of KINDS) {
  const own = lines.filter((line) => line.kind === kind);
  const text = own.map((line) => `${JSON.stringify(line)}\n`).join("");
  writeFileSync(join(import.meta.dirname, "corpus", `${kind}s.jsonl`), text);
  console.log(`${kind}s.jsonl: ${own.length}`);
}

function readCompletions(): CorpusLine[] {
  const folder = join(import.meta.dirname, "../../../test/fixtures/harmony-cases");
  const text = readFileSync(join(folder, "harmony-completions.jsonl"), "utf8");
  return (
    text
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => completionCase.parse(JSON.parse(line)))
      // A model cannot write text outside its vocabulary.
      .filter(({ token_ids }) => token_ids.every((id) => id < VOCABULARY_SIZE))
      // No server continues after an end token.
      .filter(({ token_ids }) => token_ids.slice(0, -1).every((id) => !ENDS.has(id)))
      // OpenAI's API allows no other names, so clients cannot offer these.
      .filter(({ tools }) => tools.every((name) => /^[a-zA-Z0-9_-]{1,64}$/.test(name)))
      .map((each) => ({
        id: each.id,
        kind: "completion",
        class: each.class,
        source: each.source,
        licence: licenceOf(each.source),
        turns: [{ request: toRequest(each), completion: each.token_ids, accept: toAnswers(each) }],
      }))
  );
}

function toRequest({ token_ids, tools, expected }: z.infer<typeof completionCase>) {
  const isEnded = ENDS.has(token_ids.at(-1) ?? 0);
  return {
    messages: [{ role: "user", content: "Go on." }],
    // No model stops where there is no end: the limit has to.
    ...(!isEnded && { max_tokens: Math.max(token_ids.length, 1) }),
    ...(tools.length > 0 && {
      tools: tools.map((name) => ({
        type: "function",
        function: { name, description: "A tool.", parameters: toParameters(name, expected) },
      })),
    }),
  };
}

/** A schema that the expected arguments satisfy: some servers hold the model to it. */
function toParameters(name: string, { tool_calls }: z.infer<typeof fields>) {
  const called = tool_calls.filter((call) => call.name === name);
  const names = called.flatMap((call) => Object.keys(readObject(call.arguments)));
  return {
    type: "object",
    properties: Object.fromEntries(names.map((each) => [each, {}])),
    additionalProperties: true,
  };
}

function readObject(text: string): object {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {};
  }
}

/** Preambles may be shown before the answer, with the reasoning, or not at all. */
function toAnswers({ expected, also_ok }: z.infer<typeof completionCase>): Answer[] {
  const others = also_ok.map((other) => fields.parse({ ...expected, ...other }));
  return [expected, ...others].flatMap((each) => {
    const { content, reasoning, visible, commentary, tool_calls } = each;
    const preambles = commentary.join("\n");
    const plain = { content: content ?? "", reasoning: reasoning ?? "", tool_calls };
    if (preambles === "") return [plain];
    return [
      { ...plain, content: visible ?? "" },
      plain,
      { ...plain, reasoning: `${plain.reasoning}\n${preambles}` },
    ];
  });
}

function licenceOf(source: string): string {
  if (/^(ggml-org|ollama|ml-explore)\//.test(source)) return "MIT";
  if (/^(openai|vllm-project|sgl-project|NVIDIA|ai-dynamo|unslothai)\//.test(source)) {
    return "Apache-2.0";
  }
  return "Apache-2.0 (a report's few words, quoted or varied)";
}

function toLine({ turns, ...line }: (typeof CASES)[number]): CorpusLine {
  return {
    ...line,
    source: "harmony-gateway",
    licence: "MIT",
    turns: turns.map(({ completion, asked_again: again, ...turn }) => ({
      ...turn,
      completion: spelledIds(completion),
      ...(again !== undefined && { asked_again: spelledIds(again) }),
    })),
  };
}
