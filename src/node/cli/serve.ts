/** `harmony-gateway serve`: runs the gateway until a signal or a key ends it. */
import { inspect } from "node:util";
import type { FoundEngine } from "../../pages/chat-routes.ts";
import { toBackends } from "../../config/backends.ts";
import { SettingsError } from "../../config/resolve.ts";
import type { Settings } from "../../config/settings.ts";
import { createFetchTransport } from "../../engines/fetch-transport.ts";
import { lazy } from "../../lazy.ts";
import type { Log } from "../../telemetry/log.ts";
import { createConsoleLog, type Terminal } from "../console/console-log.ts";
import { KeyReader, readKeys } from "../console/keys.ts";
import { openLogOutput } from "../console/log-output.ts";
import { countQueued, showTraffic } from "../console/traffic-status.ts";
import { ListenError } from "../server/listen-error.ts";
import { type Gateway, serveGateway } from "../server/serve.ts";
import { StoreBusyError } from "../sqlite/protocol.ts";
import {
  type Command,
  type CommandIo,
  commandName,
  EXIT_FAILURE,
  EXIT_USAGE,
} from "./command-io.ts";
import { explainFailure } from "./explain-failure.ts";
import { createServeKeys } from "./serve-keys.ts";
import { type LoadedSettings, loadSettings } from "./settings.ts";
import { closeSync, openSync } from "node:fs";
import { findServer, type FoundServer } from "../../engines/find-kind.ts";
import { servableModels } from "../../engines/auto.ts";
import type { Transport } from "../../engines/transport.ts";

/** Speed of the demo: slow enough that streaming is visible. */
const DEMO_TOKENS_PER_SECOND = 100;
/** Maximum characters of a model's name, which another server chooses. */
const MAX_NAME = 80;

export const SERVE: Command = {
  usage: `\
harmony-gateway serve [settings]    serve; the same as without a command

--help lists the most common settings, --help all every one, --help <setting> one.`,
  run: serve,
};

/** Runs the gateway. An error without an explanation for operators is printed with its stack. */
async function serve(args: readonly string[], io: CommandIo): Promise<number> {
  try {
    await serveUntilSignal(args, io);
    return 0;
  } catch (error) {
    if (error instanceof SettingsError) {
      io.printError(error.problems.join("\n"));
      return EXIT_USAGE;
    }
    const isExplained = error instanceof ListenError || error instanceof StoreBusyError;
    io.printError(isExplained ? error.message : inspect(error));
    return EXIT_FAILURE;
  }
}

async function serveUntilSignal(args: readonly string[], io: CommandIo): Promise<void> {
  const { gateway, settings, log, interrupted, stopShowing } = await start(args, io);
  await interrupted;
  stopShowing();
  log.info("shutdown", { inFlight: gateway.inFlight(), graceMs: settings.shutdownGraceMs });
  await gateway.close();
  // Idle connections to engines would keep the process alive for a while.
  process.exit();
}

/** @throws SettingsError, ListenError or StoreBusyError */
async function start(args: readonly string[], io: CommandIo) {
  const { settings, warnings } = loadSettings(args, io.environment);
  const output = openLogOutput();
  const { log, terminal } = createConsoleLog(settings, output);
  const found: FoundEngine[] = [];
  // Hints about engines help at a terminal only: with the demo, or while the engine is missing.
  const hint = output.isTTY ? engineHints(log, settings, found) : undefined;
  // Errors that Node itself reports on stderr must not end the process.
  process.stderr.on("error", () => {});
  for (const message of warnings) log.warn("warning", { message });
  let tokens = 0;
  const starting = serveGateway(settings, {
    log,
    droppedLines: () => output.dropped,
    isTerminal: output.isTTY,
    foundEngines: () => found,
    ...(hint && { onUnavailable: () => void hint() }),
    ...(terminal && { onTokens: (count: number) => (tokens += count) }),
    demoTokensPerSecond: DEMO_TOKENS_PER_SECOND,
    environment: io.environment,
  });
  // The handler precedes the greeting: without it, a signal would end the process.
  const interrupted = interruption();
  process.on("SIGHUP", () => {
    if (hasLostTerminal()) process.emit("SIGTERM");
    else void reload(starting, () => loadSettings(args, io.environment), log);
  });
  const gateway = await starting;
  if (toBackends(settings).every(({ engine }) => engine === "demo")) void hint?.();
  const stopShowing = terminal
    ? showMore(gateway, { terminal, tokens: () => tokens, settings, args, io })
    : () => {};
  return { gateway, settings, log, interrupted, stopShowing };
}

interface More {
  readonly terminal: Terminal;
  /** Number of tokens that engines have sent since the start. */
  readonly tokens: () => number;
  readonly settings: Settings;
  readonly args: readonly string[];
  readonly io: CommandIo;
}

/** Shows the traffic, and reads keys. Returns a function that stops both. */
function showMore(gateway: Gateway, { terminal, tokens, settings, args, io }: More): () => void {
  const read = () => ({
    inFlight: gateway.inFlight(),
    queued: countQueued(gateway.models),
    tokens: tokens(),
  });
  const stop = showTraffic(read, (text) => terminal.setStatus(text));
  if (process.stdin.isTTY) {
    const keys = createServeKeys(gateway, {
      terminal,
      settings,
      args,
      environment: io.environment,
    });
    const onError = (error: unknown) => {
      terminal.print(`  ${explainFailure(error, "") ?? String(error)}`);
    };
    const reader = new KeyReader(keys, { print: (text) => terminal.print(text), onError });
    if (readKeys(process.stdin, reader)) terminal.print("  h + Enter for help\n");
  }
  return stop;
}

/** Prints the engines on this machine, once. */
function engineHints(log: Log, settings: Settings, found: FoundEngine[]): () => Promise<void> {
  return lazy(async () => {
    const urls = toBackends(settings).flatMap(({ url }) => url ?? []);
    const engines = await findEnginesOnLoopback(createFetchTransport(), urls);
    if (engines.length > 0) log.info("engines found", { engines });
    found.push(...engines.map((engine) => toFoundEngine(engine)));
  });
}

function toFoundEngine({ kind, url, models: [model] }: EngineOnLoopback): FoundEngine {
  const name = model === undefined ? kind : `${kind} with ${model.slice(0, MAX_NAME)}`;
  return { name, command: `${commandName()} --url ${url}` };
}

/** Reads the settings again. Invalid settings have no effect. */
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

/** Interval in which two signals count as one: a signal of the terminal reaches the gateway, and npm, which passes it on. */
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

/** Whether the terminal of this process was closed: SIGHUP stands for that, and for a reload of the settings. */
export function hasLostTerminal(): boolean {
  if (!process.stdout.isTTY) return false;
  try {
    closeSync(openSync("/dev/tty", "r"));
    return false;
  } catch {
    return true;
  }
}

/** The default ports of vLLM and TensorRT-LLM, llama-server, Ollama, LM Studio, SGLang. */
const PORTS = [8000, 8080, 11_434, 1234, 30_000] as const;

const TIMEOUT_MS = 300;

export interface EngineOnLoopback {
  readonly kind: FoundServer["kind"];
  readonly url: string;
  readonly models: readonly string[];
}

/** Finds inference servers with a model to serve. @param exclude URLs that are configured. */
export async function findEnginesOnLoopback(
  transport: Transport,
  exclude: readonly string[] = [],
  ports: readonly number[] = PORTS,
): Promise<EngineOnLoopback[]> {
  const taken = new Set(exclude.map((url) => portOnLoopback(url)));
  const found = await Promise.all(
    ports.filter((port) => !taken.has(port)).map((port) => ask(transport, port)),
  );
  return found.filter((each) => each !== undefined);
}

async function ask(transport: Transport, port: number): Promise<EngineOnLoopback | undefined> {
  const url = `http://127.0.0.1:${port}`;
  try {
    const server = await findServer(
      { url, model: "", transport, connectTimeoutMs: TIMEOUT_MS },
      AbortSignal.timeout(TIMEOUT_MS),
    );
    const models = servableModels(server).slice(0, 4);
    return models.length === 0 ? undefined : { kind: server.kind, url, models };
  } catch {
    return undefined;
  }
}

function portOnLoopback(url: string): number | undefined {
  const { hostname, port, protocol } = new URL(url);
  if (!/^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)) return undefined;
  return Number(port) || (protocol === "https:" ? 443 : 80);
}
