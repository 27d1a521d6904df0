/**
 * Compares the replies and events of `test/api/pages/answers.test.ts` with the types that clients in Python and Java
 * publish. The test compares those of TypeScript.
 *
 *     proof/real/setup-python.sh && proof/real/setup-sdks.sh && node proof/real/published-types.ts
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Deviations, withoutDeviations } from "../../test/helpers/deviations.ts";

const DEVIATIONS: Deviations = [
  [/ response\.reasoning\.(delta|done)/, "Open Responses' spelling"],
  [/^Responses\.CompactedResponse/, "OpenAI's have messages of users too"],
  [/^Chat\.ChatCompletionChunk.*(FinishReason: error|'error')/, "OpenRouter's, beside an error"],
  [/^Chat\.ChatCompletionChunk.*(custom|Type: custom)/, "OpenAI streams custom calls so too"],
];

const folder = mkdtempSync(join(tmpdir(), "answers-"));
const file = join(folder, "answers.jsonl");
try {
  const test = ["vitest", "run", "--project", "node", "test/api/pages/answers.test.ts"];
  run("npx", test, { ANSWERS_FILE: file });
  const python = join(import.meta.dirname, ".python/inspect/bin/python");
  compare("Python", python, [join(import.meta.dirname, "python/published_types.py"), file]);
  const classPath = readFileSync(join(import.meta.dirname, ".sdks/java-classpath"), "utf8");
  const source = join(import.meta.dirname, "java/PublishedTypes.java");
  compare("Java", "java", ["-cp", classPath, source, file]);
} finally {
  rmSync(folder, { recursive: true });
}

/** A program prints each problem, then the number of values that it checked. */
function compare(language: string, command: string, args: readonly string[]): void {
  const lines = run(command, args).trim().split("\n");
  const count = /^([1-9]\d*) values/.exec(lines.pop() ?? "")?.[1];
  const problems = withoutDeviations(lines, DEVIATIONS);
  console.log(language, count ?? "no", "values", ...problems.map((each) => `\n${each}`));
  if (count === undefined || problems.length > 0) process.exitCode = 1;
}

function run(command: string, args: readonly string[], env: Record<string, string> = {}): string {
  const { stdout, status } = spawnSync(command, args, {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, ...env },
    maxBuffer: 1e8,
  });
  if (status !== 0) throw new Error(`${command} ended with ${status}: ${stdout}`);
  return stdout;
}
