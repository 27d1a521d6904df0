/** Lists with an object on each line, so that a difference shows the entries that changed. */
import { readFileSync, writeFileSync } from "node:fs";
import type { z } from "zod";

export function readList<Entry>(path: string, schema: z.ZodType<Entry>): Entry[] {
  const lines = readFileSync(path, "utf8").trimEnd().split("\n");
  return lines.map((line) => schema.parse(JSON.parse(line)));
}

export function writeList(path: string, list: readonly object[]): void {
  writeFileSync(path, list.map((entry) => `${JSON.stringify(entry)}\n`).join(""));
}
