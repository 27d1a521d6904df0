/** The corpus's format: see corpus/README.md. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";

const toolCall = z.object({ name: z.string(), arguments: z.string() });

const answer = z.object({
  content: z.string(),
  reasoning: z.string(),
  tool_calls: z.array(toolCall),
});

const promptRule = z.object({
  has: z.array(z.string()).optional(),
  lacks: z.array(z.string()).optional(),
  calls: z.array(toolCall.extend({ result: z.string() })).optional(),
});

const turn = z.object({
  request: z.looseObject({ messages: z.array(z.record(z.string(), z.unknown())) }),
  completion: z.array(z.int()),
  accept: z.array(answer),
  prompt_contains: z.array(z.string()).optional(),
  prompt: promptRule.optional(),
  may_refuse: z.boolean().optional(),
  noted: z.string().optional(),
  finish: z.string().optional(),
  asked_again: z.array(z.int()).optional(),
});

const line = z.object({
  id: z.string(),
  kind: z.enum(["completion", "injection", "loop", "schema", "stop", "recording", "promise"]),
  class: z.string(),
  source: z.string(),
  licence: z.string(),
  turns: z.array(turn).min(1),
});

export type Answer = z.infer<typeof answer>;
export type PromptRule = z.infer<typeof promptRule>;
export type CorpusTurn = z.infer<typeof turn>;
export type CorpusLine = z.infer<typeof line>;

export const KINDS = line.shape.kind.options;

export function readCorpus(): CorpusLine[] {
  return KINDS.flatMap((kind) => {
    const path = join(import.meta.dirname, "corpus", `${kind}s.jsonl`);
    const lines = readFileSync(path, "utf8").split("\n");
    return lines.filter((text) => text !== "").map((text) => line.parse(JSON.parse(text)));
  });
}
