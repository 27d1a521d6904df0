/** A command's input and output for tests: the input is empty, and output is dropped unless a test reads it. */
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import * as z from "zod";
import type { CommandIo } from "../../src/node/cli/command-io.ts";
import { main } from "../../src/node/cli/main.ts";

export const QUIET_IO: CommandIo = {
  environment: {},
  print: () => {},
  printError: () => {},
  fail: () => {},
  home: "/nowhere",
  hasColours: false,
  stdin: new PassThrough(),
  openOutput: () => new PassThrough(),
  stderr: new PassThrough(),
};

const comparison = z.strictObject({
  differences: z.array(z.strictObject({ where: z.string(), was: z.string(), is: z.string() })),
  same: z.array(z.string()),
  skipped: z.array(z.string()),
});

/** The findings of the command `replay` when it runs a record again. */
export async function replay(record: unknown): Promise<z.infer<typeof comparison>> {
  const path = join(await mkdtemp(join(tmpdir(), "replay-")), "turn.json");
  await writeFile(path, JSON.stringify(record));
  const printed: string[] = [];
  const problems: string[] = [];
  await main(["replay", path, "--json"], {
    ...QUIET_IO,
    print: (text) => printed.push(text),
    printError: (text) => problems.push(text),
  });
  if (problems.length > 0) throw new Error(problems.join("\n"));
  return comparison.parse(JSON.parse(printed.join("\n")));
}
