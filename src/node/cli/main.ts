/** The command line: selects the command, and sets the exit code. */
import { homedir } from "node:os";
import { suggest } from "../../config/suggest.ts";
import {
  type CommandIo,
  commandOutput,
  EXIT_USAGE,
  isTerminal,
  printOutput,
} from "./command-io.ts";
import { COMMANDS } from "./commands.ts";
import { explainFailure } from "./explain-failure.ts";
import { readVersion } from "../version.ts";
import { toBareInput } from "./settings.ts";

const PROCESS_IO: CommandIo = {
  environment: process.env,
  print: printOutput,
  printError: (text) => void process.stderr.write(`${text}\n`),
  fail(exitCode) {
    process.exitCode = exitCode;
  },
  home: homedir(),
  hasColours: isTerminal() && !process.env["NO_COLOR"],
  stdin: process.stdin,
  openOutput: commandOutput,
  stderr: process.stderr,
  descriptors: { stdin: 0, stdout: 1 },
};

export async function main(args: readonly string[], io: CommandIo = PROCESS_IO): Promise<void> {
  const [command, ...rest] = args;
  // Arguments after -- belong to the client that connect starts.
  const own = args.includes("--") ? args.slice(0, args.indexOf("--")) : args;
  if (own.includes("--help") || own.includes("-h")) return io.print(await helpFor(own));
  if (own.includes("--version") || own.includes("-v")) return io.print(readVersion());
  if (command === "help") return io.print(await helpFor(rest));
  if (command === undefined || command.startsWith("-") || toBareInput(command)) {
    return run("serve", args, io);
  }
  if (Object.hasOwn(COMMANDS, command)) return run(command, rest, io);
  io.printError(explainCommand(command));
  io.fail(EXIT_USAGE);
}

function explainCommand(command: string): string {
  if (/^[\w.-]+:\d+$/.test(command)) {
    return `There is no command ${command}. For a server's address, write http://${command}.`;
  }
  // The suggestion is serve, although store is as similar.
  if (command === "start") return "There is no command start. Did you mean serve?";
  const hint =
    suggest(command, Object.keys(COMMANDS)) || " harmony-gateway --help lists the commands.";
  return `There is no command ${command}.${hint}`;
}

/** The help of a command, of a setting (`--help port`, `--port --help`), of everything (`--help all`), or the short help. */
async function helpFor(args: readonly string[]): Promise<string> {
  const words = args.filter((arg) => arg !== "--help" && arg !== "-h" && arg !== "help");
  const command = words.find((word) => Object.hasOwn(COMMANDS, word));
  const loaded = command === undefined ? undefined : await COMMANDS[command]?.load();
  if (loaded !== undefined) return loaded.usage;
  const { SHORT_HELP, toFullHelp, toSettingHelp } = await import("./help.ts");
  if (words.includes("all")) return toFullHelp();
  return words.map((word) => toSettingHelp(word)).find((text) => text !== undefined) ?? SHORT_HELP;
}

/** Runs a command, and prints errors in its arguments or input. */
async function run(name: string, args: readonly string[], io: CommandIo): Promise<void> {
  const command = await COMMANDS[name]?.load();
  try {
    const code = await command?.run(args, io);
    if (code) io.fail(code);
  } catch (error) {
    const sentence = explainFailure(error, command?.usage ?? "");
    if (sentence === undefined) throw error;
    io.printError(sentence);
    io.fail(EXIT_USAGE);
  }
}
