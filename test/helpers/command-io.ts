/** Runs commands of the command line in this process. */
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import * as z from "zod";
import type { CommandIo } from "../../src/node/cli/command-io.ts";
import { main } from "../../src/node/cli/main.ts";

const QUIET_IO: CommandIo = {
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

export interface CommandRun {
  readonly printed: string;
  /** Text for standard error. */
  readonly errors: string;
  readonly code: number;
}

/** Runs a command whose input is empty unless the test gives one. */
export async function runCommand(
  args: readonly string[],
  io: Partial<CommandIo> = {},
): Promise<CommandRun> {
  const printed: string[] = [];
  const errors: string[] = [];
  const codes: number[] = [];
  await main(args, {
    ...QUIET_IO,
    print: (text) => printed.push(text),
    printError: (text) => errors.push(text),
    fail: (code) => codes.push(code),
    ...io,
  });
  const [code = 0, ...others] = codes;
  if (others.length > 0) throw new Error(`the exit code was set again, to ${others.join()}`);
  return { printed: printed.join("\n"), errors: errors.join("\n"), code };
}

const comparison = z.strictObject({
  differences: z.array(z.strictObject({ where: z.string(), was: z.string(), is: z.string() })),
  same: z.array(z.string()),
  skipped: z.array(z.string()),
});

/** The findings of the command `replay` when it runs a record again. */
export async function replay(record: unknown): Promise<z.infer<typeof comparison>> {
  const path = join(await mkdtemp(join(tmpdir(), "replay-")), "turn.json");
  await writeFile(path, JSON.stringify(record));
  const { printed, errors } = await runCommand(["replay", path, "--json"]);
  if (errors !== "") throw new Error(errors);
  return comparison.parse(JSON.parse(printed));
}
