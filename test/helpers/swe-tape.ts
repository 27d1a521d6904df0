/** A real run of gpt-oss-20b; see `test/fixtures/swe-tape/README.md`. */
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import * as z from "zod";

const call = z.object({ recipient: z.string(), arguments: z.string() });

const reading = z.object({
  reasoning: z.string().nullable(),
  call: call.nullable(),
  final: z.string().nullable(),
});

const turn = z.object({
  turn: z.int(),
  prompt_delta: z.string(),
  response: z.string(),
  tools: z.array(z.string()),
  expected: reading.extend({ malformed: z.string().nullable() }),
  also_ok: z.array(reading.partial()).optional(),
});

export type TapeTurn = z.infer<typeof turn>;

export function readTape(): TapeTurn[] {
  const path = new URL("../fixtures/swe-tape/swe-tape.jsonl.gz", import.meta.url);
  const lines = gunzipSync(readFileSync(path)).toString("utf8").split("\n");
  return lines.filter((line) => line !== "").map((line) => turn.parse(JSON.parse(line)));
}
