/** Reads the lines that openai/harmony 0.0.8 gave for random texts and ids. */

import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { z } from "zod";

const encodeCase = z.object({
  id: z.string(),
  kind: z.string(),
  text: z.string(),
  expected_token_ids: z.array(z.number()),
});

const largeEncodeCase = z.object({
  id: z.string(),
  recipe: z.object({ kind: z.string(), seed: z.number(), length: z.number() }),
  text_sha256: z.string(),
  expected_count: z.number(),
  expected_ids_sha256: z.string(),
});

const decodeCase = z.object({
  id: z.string(),
  kind: z.string(),
  token_ids: z.array(z.number()),
  expected_text: z.string(),
});

const lines = readLines("differential-encode.jsonl.gz");

export const ENCODE_CASES = z.array(encodeCase).parse(lines.filter((line) => "text" in line));
export const LARGE_ENCODE_CASES = z
  .array(largeEncodeCase)
  .parse(lines.filter((line) => "recipe" in line));
export const DECODE_CASES = z.array(decodeCase).parse(readLines("differential-decode.jsonl.gz"));

/** U+2028 stands unescaped in some lines, so they end at line feeds only. */
function readLines(name: string): object[] {
  const packed = readFileSync(new URL(`../fixtures/harmony-cases/${name}`, import.meta.url));
  return gunzipSync(packed)
    .toString("utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => z.looseObject({}).parse(JSON.parse(line)));
}
