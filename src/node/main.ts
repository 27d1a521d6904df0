/** The command line: which command, and how the process ends. */
import { SettingsError, suggest, withoutSecrets } from "../config/resolve.ts";
import { toClaudeVariables } from "./claude.ts";
import { createConsoleLog } from "./console/console-log.ts";
import { CONVERT_USAGE, runConvert } from "./convert/command.ts";
import { toFullHelp, toShortHelp } from "./help.ts";
import { PARSE_USAGE, runParse } from "./inspect-parse.ts";
import { RENDER_USAGE, runRender } from "./inspect-render.ts";
import { runKey } from "./key.ts";
import { ListenError } from "./listen.ts";
import { type Gateway, startGateway } from "./serve.ts";
import { loadSettings } from "./settings.ts";
import { hasLostTerminal } from "./terminal.ts";
import { readVersion } from "./version.ts";
import type { Log } from "../telemetry/log.ts";

/** Exit code for invalid arguments or settings. */
const EXIT_USAGE = 2;
const EXIT_FAILURE = 1;
/** Slow enough that streaming is visible. */
const DEMO_TOKENS_PER_SECOND = 100;

const COMMANDS = ["serve", "render", "parse", "convert", "key", "claude", "config"];

export async function main(args: readonly string[]): Promise<void> {
  const [command, ...rest] = args;
  if (args.includes("--help") || args.includes("-h")) return print(helpFor(args));
  if (args.includes("--version") || args.includes("-v")) return print(readVersion());
  if (command === undefined || command.startsWith("-")) return serve(args);
  switch (command) {
    case "help":
      return print(helpFor(rest));
    case "key":
      return printOr(runKey(rest), "harmony-gateway key [name], or harmony-gateway key --sealing");
    case "render":
      return inspect(() => runRender(rest, process.env), RENDER_USAGE);
    case "parse":
      return inspect(() => runParse(rest, process.env), PARSE_USAGE);
    case "convert":
      return convert(rest);
    case "claude":
      return printSettings(() => toClaudeVariables(loadSettings(rest, process.env).settings));
    case "config":
      return printSettings(() => {
        const { settings } = loadSettings(rest, process.env);
        return JSON.stringify(withoutSecrets(settings), undefined, 2);
      });
    case "serve":
      return serve(rest);
    default:
      return fail(
        EXIT_USAGE,
        `There is no command ${command}.${suggest(command, COMMANDS)} harmony-gateway --help lists them.`,
      );
  }
}

function helpFor(args: readonly string[]): string {
  if (args.includes("render")) return RENDER_USAGE;
  if (args.includes("convert")) return CONVERT_USAGE;
  if (args.includes("parse")) return PARSE_USAGE;
  return args.includes("all") ? toFullHelp() : toShortHelp();
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

function printSettings(make: () => string): void {
  try {
    print(make());
  } catch (error) {
    failToStart(error);
  }
}

async function serve(args: readonly string[]): Promise<void> {
  let gateway: Gateway;
  let log: Log;
  try {
    const { settings, warnings } = loadSettings(args, process.env);
    log = createConsoleLog(settings, process.stdout);
    for (const message of warnings) log.warn("warning", { message });
    gateway = await startGateway(settings, { log, demoTokensPerSecond: DEMO_TOKENS_PER_SECOND });
  } catch (error) {
    return failToStart(error);
  }
  process.on("SIGHUP", () => {
    if (hasLostTerminal()) process.emit("SIGTERM");
    else void reload(gateway, args, log);
  });
  await interruption();
  log.info("shutdown");
  process.once("SIGINT", () => process.exit(EXIT_FAILURE));
  process.once("SIGTERM", () => process.exit(EXIT_FAILURE));
  await gateway.close();
  // Idle connections to engines would keep the process alive for a while.
  process.exit();
}

/** Settings that are wrong change nothing. */
async function reload(gateway: Gateway, args: readonly string[], log: Log): Promise<void> {
  try {
    const { settings, warnings } = loadSettings(args, process.env);
    for (const message of warnings) log.warn("warning", { message });
    await gateway.reload(settings);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    log.error("settings refused", { reason });
  }
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
    process.exitCode = EXIT_USAGE;
    return;
  }
  if (error instanceof ListenError) return fail(EXIT_FAILURE, error.message);
  throw error;
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
