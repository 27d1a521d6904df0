/** The command line: which command, and how the process ends. */
import { readFileSync } from "node:fs";
import { SettingsError, suggest } from "../config/resolve.ts";
import { toClaudeVariables } from "./claude.ts";
import { CONVERT_USAGE, runConvert } from "./convert/command.ts";
import { toHelp } from "./help.ts";
import { PARSE_USAGE, runParse } from "./inspect-parse.ts";
import { RENDER_USAGE, runRender } from "./inspect-render.ts";
import { runKey } from "./key.ts";
import { ListenError } from "./listen.ts";
import { startGateway } from "./serve.ts";
import { loadSettings } from "./settings.ts";

/** Exit code for invalid arguments or settings. */
const EXIT_USAGE = 2;
const EXIT_FAILURE = 1;
/** Slow enough that streaming is visible. */
const DEMO_TOKENS_PER_SECOND = 100;

const COMMANDS = ["serve", "render", "parse", "convert", "key", "claude"];

export async function main(args: readonly string[]): Promise<void> {
  const [command, ...rest] = args;
  if (args.includes("--help") || args.includes("-h")) return print(helpFor(command));
  if (args.includes("--version") || args.includes("-v")) return print(version());
  if (command === undefined || command.startsWith("-")) return serve(args);
  switch (command) {
    case "key":
      return printOr(runKey(rest), "harmony-gateway key [name], or harmony-gateway key --sealing");
    case "render":
      return inspect(() => runRender(rest, process.env), RENDER_USAGE);
    case "parse":
      return inspect(() => runParse(rest, process.env), PARSE_USAGE);
    case "convert":
      return convert(rest);
    case "claude":
      return printClaudeVariables(rest);
    case "serve":
      return serve(rest);
    default:
      return fail(EXIT_USAGE, `${command}: is no command.${suggest(command, COMMANDS)}`);
  }
}

function helpFor(command: string | undefined): string {
  if (command === "render") return RENDER_USAGE;
  if (command === "convert") return CONVERT_USAGE;
  return command === "parse" ? PARSE_USAGE : toHelp();
}

/** Prints the result, or one line about what is wrong with the arguments or the input. */
function inspect(make: () => string, usage: string): void {
  try {
    print(make());
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    fail(EXIT_USAGE, `${error.message}\n\n${usage}`);
  }
}

async function convert(args: readonly string[]): Promise<void> {
  const { stdin, stdout, stderr, env: environment } = process;
  stdout.on("error", endQuietly);
  try {
    const io = { stdin, stdout, stderr, environment, now: () => performance.now() };
    process.exitCode = await runConvert(args, io);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    fail(EXIT_USAGE, `${error.message}\n\n${CONVERT_USAGE}`);
  }
}

/** A reader such as `head` closes the pipe when it has read enough. This is not a failure. */
function endQuietly(error: NodeJS.ErrnoException): void {
  if (error.code === "EPIPE") process.exit();
  throw error;
}

function printClaudeVariables(args: readonly string[]): void {
  try {
    print(toClaudeVariables(loadSettings(args, process.env).settings));
  } catch (error) {
    failToStart(error);
  }
}

async function serve(args: readonly string[]): Promise<void> {
  let gateway;
  try {
    const { settings, warnings } = loadSettings(args, process.env);
    for (const warning of warnings) complain(warning);
    gateway = await startGateway(settings, {
      print,
      writeLog: complain,
      demoTokensPerSecond: DEMO_TOKENS_PER_SECOND,
    });
  } catch (error) {
    return failToStart(error);
  }
  await interruption();
  print("Shutting down when in-flight requests have ended. Interrupt again to exit immediately.");
  process.once("SIGINT", () => process.exit(EXIT_FAILURE));
  process.once("SIGTERM", () => process.exit(EXIT_FAILURE));
  await gateway.close();
  // Idle connections to engines would keep the process alive for a while.
  process.exit();
}

/** Resolves at the first SIGINT or SIGTERM. */
function interruption(): Promise<void> {
  return new Promise((resolve) => {
    process.once("SIGINT", () => resolve());
    process.once("SIGTERM", () => resolve());
  });
}

function failToStart(error: unknown): void {
  if (error instanceof SettingsError) {
    for (const problem of error.problems) complain(problem);
    return fail(EXIT_USAGE, "harmony-gateway --help lists all settings.");
  }
  if (error instanceof ListenError) return fail(EXIT_FAILURE, error.message);
  throw error;
}

function version(): string {
  const file = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return String(JSON.parse(file).version);
}

function printOr(text: string | undefined, usage: string): void {
  if (text === undefined) fail(EXIT_USAGE, `Usage: ${usage}`);
  else print(text);
}

function fail(code: number, text: string): void {
  complain(text);
  process.exitCode = code;
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

function complain(text: string): void {
  process.stderr.write(`${text}\n`);
}
