/** The command line: which command, and how the process ends. */
import { toBackends } from "../../config/backends.ts";
import { SettingsError } from "../../config/resolve.ts";
import { withoutSecrets } from "../../config/without-secrets.ts";
import { suggest } from "../../config/suggest.ts";
import type { Settings } from "../../config/settings.ts";
import { createFetchTransport } from "../../engines/fetch-transport.ts";
import { lazy } from "../../lazy.ts";
import { findEnginesOnLoopback } from "./engines-on-loopback.ts";
import { commandOutput, isTerminal, printOutput } from "./command-io.ts";
import { createConsoleLog } from "../console/console-log.ts";
import { openLogOutput } from "../console/log-output.ts";
import { CONVERT_USAGE, runConvert } from "./convert/command.ts";
import { DOCTOR_USAGE } from "./doctor/usage.ts";
import { explainFailure } from "./explain-failure.ts";
import { SHORT_USAGES, toFullHelp, toSettingHelp, toShortHelp } from "./help.ts";
import { PARSE_USAGE, runParse } from "./parse.ts";
import { RENDER_USAGE, runRender } from "./render.ts";
import { runKey } from "./key.ts";
import { runStore, STORE_USAGE } from "./store.ts";
import { ListenError } from "../server/listen-error.ts";
import { REPLAY_USAGE, runReplay } from "./replay/command.ts";
import { type Gateway, startGateway } from "../server/serve.ts";
import { type LoadedSettings, loadSettings, toBareInput } from "./settings.ts";
import { StoreBusyError } from "../sqlite/store-busy-error.ts";
import { hasLostTerminal } from "./terminal.ts";
import { readVersion } from "../version.ts";
import type { Log } from "../../telemetry/log.ts";

/** Exit code for invalid arguments or settings. */
const EXIT_USAGE = 2;
const EXIT_FAILURE = 1;
/** Slow enough that streaming is visible. */
const DEMO_TOKENS_PER_SECOND = 100;

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

/** What a command needs of its process. */
export interface CommandIo {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** To standard output. */
  print(text: string): void;
  /** To standard error. */
  printError(text: string): void;
  /** Set once, when the command has failed. */
  fail(exitCode: number): void;
}

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
  if (args.includes("--help") || args.includes("-h")) return io.print(await helpFor(args));
  if (args.includes("--version") || args.includes("-v")) return io.print(readVersion());
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

async function serve(args: readonly string[], io: CommandIo): Promise<void> {
  let gateway: Gateway;
  let log: Log;
  let interrupted: Promise<void>;
  let graceMs: number;
  try {
    const { settings, warnings } = loadSettings(args, io.environment);
    const output = openLogOutput();
    log = createConsoleLog(settings, output);
    if (output.isTTY) log = withEngineHints(log, settings);
    // What Node itself reports there must not end the process either.
    process.stderr.on("error", () => {});
    for (const message of warnings) log.warn("warning", { message });
    const starting = startGateway(settings, {
      log,
      droppedLines: () => output.dropped,
      isTerminal: output.isTTY,
      demoTokensPerSecond: DEMO_TOKENS_PER_SECOND,
      environment: io.environment,
    });
    // Before the gateway says that it has started: without a handler a signal ends the process.
    interrupted = interruption();
    process.on("SIGHUP", () => {
      if (hasLostTerminal()) process.emit("SIGTERM");
      else void reload(starting, () => loadSettings(args, io.environment), log);
    });
    gateway = await starting;
    graceMs = settings.shutdownGraceMs;
  } catch (error) {
    if (error instanceof SettingsError) return refuse(error, io);
    if (!(error instanceof ListenError || error instanceof StoreBusyError)) throw error;
    io.printError(error.message);
    return io.fail(EXIT_FAILURE);
  }
  await interrupted;
  log.info("shutdown", { inFlight: gateway.inFlight(), graceMs });
  await gateway.close();
  // Idle connections to engines would keep the process alive for a while.
  process.exit();
}

/** Names engines on this machine, once: at the start of the demo, or when an engine cannot be reached. */
function withEngineHints(log: Log, settings: Settings): Log {
  const backends = toBackends(settings);
  const isDemo = backends.every(({ engine }) => engine === "demo");
  const name = lazy(async () => {
    const urls = backends.flatMap(({ url }) => url ?? []);
    const engines = await findEnginesOnLoopback(createFetchTransport(), urls);
    if (engines.length > 0) log.info("engines found", { engines });
  });
  return {
    ...log,
    info(event, fields) {
      log.info(event, fields);
      if (event === "start" && isDemo) void name();
    },
    warn(event, fields) {
      log.warn(event, fields);
      if (event === "engine unavailable") void name();
    },
  };
}

/** Settings that are wrong change nothing. */
async function reload(
  gateway: Promise<Gateway>,
  load: () => LoadedSettings,
  log: Log,
): Promise<void> {
  try {
    const { settings, warnings } = load();
    for (const message of warnings) log.warn("warning", { message });
    await (await gateway).reload(settings);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    log.error("settings refused", { reason });
  }
}

/** A signal of the terminal reaches the gateway, and npm, which passes it on: both together are one. */
const SAME_SIGNAL_MS = 500;

/** Resolves at the first SIGINT or SIGTERM. A later one ends the process at once. */
function interruption(): Promise<void> {
  return new Promise((resolve) => {
    let firstAt: number | undefined;
    const interrupt = () => {
      firstAt ??= performance.now();
      if (performance.now() - firstAt > SAME_SIGNAL_MS) process.exit(EXIT_FAILURE);
      resolve();
    };
    process.on("SIGINT", interrupt);
    process.on("SIGTERM", interrupt);
  });
}
