/** Checks a command without running it: its flags, and that the scripts and files it names exist. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { readDoctorFlags } from "../../src/node/cli/doctor/command.ts";
import { main } from "../../src/node/cli/main.ts";
import { readCommand } from "./read-command.ts";

/** The problem of a command; undefined if there is none. */
export async function checkStatically(root: string, command: string): Promise<string | undefined> {
  // Redirections of the output do not matter here.
  const words = command.replace(/\s+[|>].*$/, "");
  const { kind, args, variables } = readCommand(words);
  if (kind === "serve") return checkSettings(args, variables);
  if (args[0] === "doctor") return checkSettings(readDoctorFlags(args.slice(1)).rest, variables);
  const [program, ...rest] = words.split(/\s+/);
  if (program === "npm" && rest[0] === "run") return checkScript(root, rest[1] ?? "");
  if (program !== "node" && program !== "npx") return undefined;
  const files = rest.filter((arg) => /^(?!-).*\.(ts|js|mjs)$/.test(arg));
  const missing = files.filter((file) => !existsSync(join(root, file)));
  return missing.length > 0 ? `there is no ${missing.join(", ")}` : undefined;
}

/** `config` reads and checks the same settings, and exits. */
async function checkSettings(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<string | undefined> {
  const errors: string[] = [];
  await main(["config", ...args], {
    environment,
    print: () => {},
    printError: (text) => void errors.push(text),
    fail: () => {},
    home: "",
    hasColours: false,
    stdin: process.stdin,
    openOutput: () => process.stdout,
    stderr: process.stderr,
  });
  return errors.length > 0 ? errors.join(" ") : undefined;
}

const manifest = z.object({ scripts: z.record(z.string(), z.string()) });

function checkScript(root: string, name: string): string | undefined {
  const { scripts } = manifest.parse(JSON.parse(readFileSync(join(root, "package.json"), "utf8")));
  return name in scripts ? undefined : `there is no script ${name}`;
}
