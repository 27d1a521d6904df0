/** The command line: which command, and how the process ends. */
import { withoutSecrets } from "../../config/without-secrets.ts";
import { suggest } from "../../config/suggest.ts";
import {
  type CommandIo,
  commandOutput,
  EXIT_USAGE,
  isTerminal,
  printOutput,
} from "./command-io.ts";
import { CONVERT_USAGE, runConvert } from "./convert/command.ts";
import { DOCTOR_USAGE } from "./doctor/usage.ts";
import { explainFailure } from "./explain-failure.ts";
import { SHORT_HELP, SHORT_USAGES, toFullHelp, toSettingHelp } from "./help.ts";
import { PARSE_USAGE, runParse } from "./parse.ts";
import { RENDER_USAGE, runRender } from "./render.ts";
import { runKey } from "./key.ts";
import { runStore, STORE_USAGE } from "./store.ts";
import { REPLAY_USAGE, runReplay } from "./replay.ts";
import { serve } from "./serve.ts";
import { loadSettings, toBareInput } from "./settings.ts";
import { readVersion } from "../version.ts";

const COMMANDS = [
  "serve",
  "render",
  "parse",
  "convert",
  "replay",
  "doctor",
  "key",
  "store",
  "connect",
  "claude",
  "codex",
  "config",
];

const PROCESS_IO: CommandIo = {
  environment: process.env,
  print: printOutput,
  printError: (text) => void process.stderr.write(`${text}\n`),
  fail(exitCode) {
    process.exitCode = exitCode;
  },
};

export async function main(args: readonly string[], io: CommandIo = PROCESS_IO): Promise<void> {
  const [command, ...rest] = args;
  const { environment } = io;
  // What follows -- is for a client that connect starts.
  const own = args.includes("--") ? args.slice(0, args.indexOf("--")) : args;
  if (own.includes("--help") || own.includes("-h")) return io.print(await helpFor(own));
  if (own.includes("--version") || own.includes("-v")) return io.print(readVersion());
  if (command === undefined || command.startsWith("-") || toBareInput(command)) {
    return serve(args, io);
  }
  switch (command) {
    case "help":
      return io.print(await helpFor(rest));
    case "key":
      return printResult(() => runKey(rest), io);
    case "store":
      return printResult(() => runStore(rest, environment), io, STORE_USAGE);
    case "render":
      return printResult(() => runRender(rest, environment), io, RENDER_USAGE);
    case "parse":
      return printResult(() => runParse(rest, environment), io, PARSE_USAGE);
    case "convert":
      return convert(rest, io);
    case "replay":
      return replay(rest, io);
    case "doctor":
      return doctor(rest, io);
    case "connect":
      return connect(rest, io);
    case "claude":
    case "codex":
      return printResult(async () => {
        const { printClient } = await import("./connect/aliases.ts");
        return printClient(command, rest, environment);
      }, io);
    case "config":
      return printResult(() => {
        const { settings } = loadSettings(rest, environment);
        return JSON.stringify(withoutSecrets(settings), undefined, 2);
      }, io);
    case "serve":
      return serve(rest, io);
    default:
      io.printError(explainCommand(command));
      io.fail(EXIT_USAGE);
  }
}

function explainCommand(command: string): string {
  if (/^[\w.-]+:\d+$/.test(command)) {
    return `There is no command ${command}. For a server's address, write http://${command}.`;
  }
  // Not store, which is as near.
  if (command === "start") return "There is no command start. Did you mean serve?";
  const hint = suggest(command, COMMANDS) || " harmony-gateway --help lists the commands.";
  return `There is no command ${command}.${hint}`;
}

const USAGES: Readonly<Record<string, string | (() => Promise<string>)>> = {
  // Loaded when it is used, as doctor is: serving does without it.
  connect: async () => (await import("./connect/command.ts")).CONNECT_USAGE,
  convert: CONVERT_USAGE,
  doctor: DOCTOR_USAGE,
  parse: PARSE_USAGE,
  render: RENDER_USAGE,
  replay: REPLAY_USAGE,
  store: STORE_USAGE,
  ...SHORT_USAGES,
};

/** Of a command, of a setting (`--help port`, `--port --help`), of everything (`--help all`), or the short one. */
async function helpFor(args: readonly string[]): Promise<string> {
  const words = args.filter((arg) => arg !== "--help" && arg !== "-h" && arg !== "help");
  const command = words.find((word) => Object.hasOwn(USAGES, word));
  const usage = command === undefined ? undefined : USAGES[command];
  if (usage !== undefined) return typeof usage === "string" ? usage : usage();
  if (words.includes("all")) return toFullHelp();
  return words.map((word) => toSettingHelp(word)).find((text) => text !== undefined) ?? SHORT_HELP;
}

/** Runs a command, which resolves with its exit code. Prints what is wrong with its arguments or its input. */
async function attempt(run: () => Promise<number>, io: CommandIo, usage = ""): Promise<void> {
  try {
    const code = await run();
    if (code !== 0) io.fail(code);
  } catch (error) {
    const sentence = explainFailure(error, usage);
    if (sentence === undefined) throw error;
    io.printError(sentence);
    io.fail(EXIT_USAGE);
  }
}

function printResult(
  make: () => string | Promise<string>,
  io: CommandIo,
  usage?: string,
): Promise<void> {
  const run = async () => {
    io.print(await make());
    return 0;
  };
  return attempt(run, io, usage);
}

function convert(args: readonly string[], io: CommandIo): Promise<void> {
  const run = () =>
    runConvert(args, {
      stdin: process.stdin,
      stdout: commandOutput(),
      stderr: process.stderr,
      descriptors: { stdin: 0, stdout: 1 },
      environment: io.environment,
      now: () => performance.now(),
    });
  return attempt(run, io, CONVERT_USAGE);
}

async function connect(args: readonly string[], io: CommandIo): Promise<void> {
  const { CONNECT_USAGE, runConnect } = await import("./connect/command.ts");
  const own = { environment: io.environment, print: (text: string) => io.print(text) };
  return attempt(() => runConnect(args, own), io, CONNECT_USAGE);
}

function replay(args: readonly string[], io: CommandIo): Promise<void> {
  const run = async () => {
    const { text, exitCode } = await runReplay(args, io.environment);
    io.print(text);
    return exitCode;
  };
  return attempt(run, io, REPLAY_USAGE);
}

function doctor(args: readonly string[], io: CommandIo): Promise<void> {
  const { environment } = io;
  const colours = isTerminal() && !environment["NO_COLOR"];
  const run = async () => {
    // Loaded here: serving does without it.
    const { runDoctor } = await import("./doctor/command.ts");
    return runDoctor(args, { environment, print: (text) => io.print(text), colours });
  };
  return attempt(run, io, DOCTOR_USAGE);
}
