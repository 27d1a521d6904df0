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
import { SHORT_USAGES, toFullHelp, toSettingHelp, toShortHelp } from "./help.ts";
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
      return attempt(() => runKey(rest), io);
    case "store":
      return attempt(() => runStore(rest, environment), io, STORE_USAGE);
    case "render":
      return attempt(() => runRender(rest, environment), io, RENDER_USAGE);
    case "parse":
      return attempt(() => runParse(rest, environment), io, PARSE_USAGE);
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
      return attempt(async () => {
        const { printClient } = await import("./connect/aliases.ts");
        return printClient(command, rest, environment);
      }, io);
    case "config":
      return attempt(() => {
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
  return (
    words.map((word) => toSettingHelp(word)).find((text) => text !== undefined) ?? toShortHelp()
  );
}

/** Prints the result, or what is wrong with the arguments or the input. */
async function attempt(
  make: () => string | Promise<string>,
  io: CommandIo,
  usage = "",
): Promise<void> {
  try {
    io.print(await make());
  } catch (error) {
    refuse(error, io, usage);
  }
}

function refuse(error: unknown, io: CommandIo, usage = ""): void {
  const sentence = explainFailure(error, usage);
  if (sentence === undefined) throw error;
  io.printError(sentence);
  io.fail(EXIT_USAGE);
}

async function convert(args: readonly string[], io: CommandIo): Promise<void> {
  try {
    const code = await runConvert(args, {
      stdin: process.stdin,
      stdout: commandOutput(),
      stderr: process.stderr,
      descriptors: { stdin: 0, stdout: 1 },
      environment: io.environment,
      now: () => performance.now(),
    });
    if (code !== 0) io.fail(code);
  } catch (error) {
    refuse(error, io, CONVERT_USAGE);
  }
}

async function connect(args: readonly string[], io: CommandIo): Promise<void> {
  const { CONNECT_USAGE, runConnect } = await import("./connect/command.ts");
  try {
    const { environment } = io;
    const code = await runConnect(args, { environment, print: (text) => io.print(text) });
    if (code !== 0) io.fail(code);
  } catch (error) {
    refuse(error, io, CONNECT_USAGE);
  }
}

async function replay(args: readonly string[], io: CommandIo): Promise<void> {
  try {
    const { text, exitCode } = await runReplay(args, io.environment);
    io.print(text);
    if (exitCode !== 0) io.fail(exitCode);
  } catch (error) {
    refuse(error, io, REPLAY_USAGE);
  }
}

async function doctor(args: readonly string[], io: CommandIo): Promise<void> {
  const { environment } = io;
  const colours = isTerminal() && !environment["NO_COLOR"];
  try {
    // Loaded here: serving does without it.
    const { runDoctor } = await import("./doctor/command.ts");
    const code = await runDoctor(args, { environment, print: (text) => io.print(text), colours });
    if (code !== 0) io.fail(code);
  } catch (error) {
    refuse(error, io, DOCTOR_USAGE);
  }
}
