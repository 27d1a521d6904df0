/**
 * The results of the clients' programs at their last runs: `clients.json`, from which the pages of docs are written.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { writeJson } from "../../scripts/write-formatted.ts";

export type ClientResult = z.infer<typeof clientResult>;
/** Results by the program's path below `proof/real`. */
type ClientResults = Readonly<Record<string, ClientResult>>;

const clientResult = z.object({
  /** The client, with its version. */
  client: z.string(),
  date: z.iso.date(),
  /** Absent: it calls no tools. */
  reasoning: z.object({ kept: z.int(), had: z.int() }).optional(),
  passed: z.array(z.string()),
  failed: z.array(z.string()),
});

const FILE = "clients.json";

export function readClientResults(): ClientResults {
  const text = readFileSync(join(import.meta.dirname, FILE), "utf8");
  return z.record(z.string(), clientResult).parse(JSON.parse(text));
}

/** Written immediately: a later program may take long, or fail. */
export function recordClientResult(script: string, result: ClientResult): void {
  writeJson(`proof/real/${FILE}`, { ...readClientResults(), [script]: result });
}

export function toReasoningText({ reasoning }: ClientResult): string {
  return reasoning === undefined ? "–" : `${reasoning.kept} of ${reasoning.had}`;
}

/** A table of these programs. */
export function toTable(scripts: readonly string[]): string {
  const results = readClientResults();
  const lines = scripts.flatMap((script) => {
    const result = results[script];
    if (result === undefined) return [];
    const { client, date, passed, failed } = result;
    const checks = [...passed, ...failed.map((name) => `**failed**: ${name}`)].join("; ");
    const link = `[${script}](../../proof/real/${script})`;
    return [`| ${client} | ${date} | ${link} | ${toReasoningText(result)} | ${checks} |`];
  });
  return `| client | run on | program | reasoning kept | seen |
| --- | --- | --- | --- | --- |
${lines.join("\n")}`;
}
