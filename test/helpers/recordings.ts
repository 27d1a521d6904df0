/** Completions of gpt-oss from public recordings; see `test/fixtures/recordings/README.md`. */
import { readFileSync } from "node:fs";
import * as z from "zod";
import type { TokenId } from "../../src/tokenizer/index.ts";
import { spelledIds } from "./spelled.ts";

const recording = z.object({
  id: z.string(),
  source: z.string(),
  licence: z.string(),
  question: z.string(),
  completion: z.union([z.string(), z.array(z.int())]),
});

export interface Recording extends Omit<z.infer<typeof recording>, "completion"> {
  readonly completion: readonly TokenId[];
}

export function readRecordings(): Recording[] {
  const path = new URL("../fixtures/recordings/recordings.jsonl", import.meta.url);
  const lines = readFileSync(path, "utf8").split("\n");
  return lines
    .filter((line) => line !== "")
    .map((line) => recording.parse(JSON.parse(line)))
    .map(({ completion, ...rest }) => ({
      ...rest,
      completion: typeof completion === "string" ? spelledIds(completion) : completion,
    }));
}
