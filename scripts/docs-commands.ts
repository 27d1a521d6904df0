/**
 * The commands in the fences of README and docs, checked one by one: those of the gateway run in this process, with the
 * settings they name; scripts and files must exist; those of other programs need a reason why they are not run.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { main } from "../src/node/main.ts";

export interface DocCommand {
  /** `README.md:27` */
  readonly where: string;
  readonly command: string;
}

/** Programs that are not run here, and why. */
export const NOT_RUN: Readonly<Record<string, string>> = {
  vllm: "needs vLLM and a GPU",
  python: "needs SGLang and a GPU",
  "llama-server": "needs llama.cpp and a model of 12 GB",
  "trtllm-serve": "needs TensorRT-LLM and a GPU",
  ollama: "needs Ollama and a model of 13 GB",
  docker: "needs a container engine",
  kubectl: "needs a cluster",
  bun: "is run by npm run smoke",
  deno: "is run by npm run smoke",
  curl: "is run against a gateway by test/docs/commands.test.ts",
  codex: "needs Codex; npm run matrix runs it",
  cline: "needs Cline; npm run matrix runs it",
  claude: "needs Claude Code; npm run matrix runs it",
  eval: "sets variables of the shell of whoever types it",
  export: "sets variables of the shell of whoever types it",
  kill: "needs the id of a process",
  systemctl: "needs systemd",
};

/** Of the root, the docs and their folders. */
export function findPages(root: string): string[] {
  const docs = readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" });
  const pages = [...readdirSync(root), ...docs.map((name) => join("docs", name))];
  return pages.filter((name) => name.endsWith(".md") && name !== "CHANGELOG.md");
}

/** The lines of its `sh` fences, those that end in a backslash joined, comments and chains taken apart. */
export function readCommands(root: string, page: string): DocCommand[] {
  const text = readFileSync(join(root, page), "utf8");
  return Array.from(text.matchAll(/^```sh\n([\s\S]*?)^```/gm)).flatMap((match) => {
    const line = text.slice(0, match.index).split("\n").length;
    const body = (match[1] ?? "").replaceAll(/\s*\\\n\s*/g, " ");
    return body
      .split("\n")
      .map((each) => each.replace(/\s+#.*$|^#.*$/, "").trim())
      .flatMap((each) => (each.startsWith("curl ") ? [each] : each.split(" && ")))
      .filter((command) => command !== "")
      .map((command) => ({ where: `${page}:${line}`, command }));
  });
}

/** What is wrong with a command; undefined if nothing is. */
export async function checkCommand(root: string, command: string): Promise<string | undefined> {
  // Where the output goes does not matter here.
  const words = command.replace(/\s+[|>].*$/, "").split(/\s+/);
  const first = words.findIndex((word) => !/^[A-Z_]+=/.test(word));
  const variables = words.slice(0, first);
  const [program = "", ...args] = words.slice(first);
  const environment = Object.fromEntries(
    variables.map((each) => fill(each).split(/=(.*)/s).slice(0, 2)),
  );
  switch (program) {
    case "harmony-gateway":
      return checkOwn(args, environment);
    case "npm":
      return args[0] === "start" && args[1] === "--"
        ? checkOwn(args.slice(2), environment)
        : checkScript(root, args);
    case "npx":
    case "node": {
      const files = args.filter((arg) => /^(?!-).*\.(ts|js|mjs)$/.test(arg));
      const missing = files.filter((file) => !existsSync(join(root, file)));
      return missing.length > 0 ? `there is no ${missing.join(", ")}` : undefined;
    }
    default:
      return program in NOT_RUN ? undefined : `${program} is not run, and no reason is given`;
  }
}

/** What readers replace by their own. */
const PLACEHOLDERS: Readonly<Record<string, string>> = {
  "<hash>": "0".repeat(64),
  "<sealing-keys>": "0".repeat(43),
};

function fill(text: string): string {
  return text.replaceAll(/<[\w-]+>/g, (name) => PLACEHOLDERS[name] ?? name);
}

/** Commands that serve are run as `config`, which reads and checks the same settings and ends. */
async function checkOwn(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Promise<string | undefined> {
  const filled = args.map((arg) => fill(arg));
  const [command = "--"] = filled;
  // What these read and write is not in the repository. Their flags are in their tests.
  if (["convert", "render", "parse"].includes(command)) return undefined;
  const serves = command === "serve" || command.startsWith("-");
  const run = serves ? ["config", ...filled.filter((arg) => arg !== "serve")] : filled;
  const complaints: string[] = [];
  await main(withoutFile(run), {
    environment,
    print: () => {},
    complain: (text) => void complaints.push(text),
    fail: () => {},
  });
  return complaints.length > 0 ? complaints.join(" ") : undefined;
}

/** A config file of the reader's own. */
function withoutFile(args: readonly string[]): readonly string[] {
  const at = args.indexOf("--config");
  return at < 0 ? args : args.toSpliced(at, 2);
}

const manifest = z.object({ scripts: z.record(z.string(), z.string()) });

const NPM_COMMANDS = new Set(["ci", "install", "pack", "start", "test"]);

function checkScript(root: string, [verb = "", name = ""]: readonly string[]): string | undefined {
  if (NPM_COMMANDS.has(verb)) return undefined;
  const { scripts } = manifest.parse(JSON.parse(readFileSync(join(root, "package.json"), "utf8")));
  return verb === "run" && name in scripts ? undefined : `there is no script ${name}`;
}
