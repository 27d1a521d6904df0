/** Starts the gateway (engines, models, application, port) and shuts it down in reverse order. */
import { randomBytes } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { createApp, WEB_SOCKET_PATHS } from "../app.ts";
import { toModelOptions } from "../models/backends.ts";
import type { Settings } from "../config/settings.ts";
import { withoutSecrets } from "../config/resolve.ts";
import type { BackendState } from "../engines/pool/backend.ts";
import { describeKind } from "../engines/pool/judge.ts";
import { createFetchTransport } from "../engines/fetch-transport.ts";
import type { CreateNativeLlama } from "../engines/llama.ts";
import type { Transport } from "../engines/transport.ts";
import { createLog, type Log } from "../telemetry/log.ts";
import { monitorModels } from "../models/monitor.ts";
import { createCacheSalts } from "../turn/cache-salt.ts";
import { createPause } from "../turn/slices.ts";
import { createShutdown } from "../models/shutdown.ts";
import { createModels, type Model, type ModelOptions, type ModelStatus } from "../models/models.ts";
import { listen } from "./listen.ts";
import { createNativeLlama, type NativeLlama } from "./llama/engine.ts";
import { createDownloadReport } from "./llama/model-file.ts";
import { openStore } from "./open-store.ts";
import { createUndiciTransport } from "./undici-transport.ts";
import { openWebSockets } from "./web-sockets.ts";

export interface ServeOptions {
  /** Replaces the configured engines. */
  readonly models?: readonly ModelOptions[];
  /** Prints a message for the operator. */
  readonly print: (text: string) => void;
  /** Absent: the demo engine writes without delay. */
  readonly demoTokensPerSecond?: number;
  /** Receives the log, line by line. */
  readonly writeLog: (line: string) => void;
}

export interface Gateway {
  /** `http://127.0.0.1:8787/v1` */
  readonly baseUrl: string;
  /** Waits for in-flight requests and background work, for at most `shutdownGraceMs`, then stops the rest. */
  close(): Promise<void>;
}

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 30_000;

/** Rejects when the port or the store is not available. An engine that does not answer is reported and probed again. */
export async function startGateway(settings: Settings, options: ServeOptions): Promise<Gateway> {
  const log = createLog({ level: settings.log, now: Date.now, write: options.writeLog });
  const llamas: NativeLlama[] = [];
  const createLlama: CreateNativeLlama = (llamaOptions) => {
    const onDownload = createDownloadReport(llamaOptions.model, options.print);
    const llama = createNativeLlama({ ...llamaOptions, onDownload });
    llamas.push(llama);
    return llama;
  };
  const pause = createPause(setImmediate);
  const models = createModels(
    options.models ??
      toModelOptions(settings, {
        transport: createTransport(),
        createNativeLlama: createLlama,
        ...(options.demoTokensPerSecond !== undefined && {
          demoTokensPerSecond: options.demoTokensPerSecond,
        }),
      }),
    {
      steering: settings,
      newCallId: () => `call_${randomId()}`,
      pause,
      cacheSalts: createCacheSalts(settings),
    },
  );
  const opened = await openStore(settings);
  const shutdown = createShutdown();
  const webSockets = await openWebSockets(settings.maxBodyBytes, shutdown.closing);
  const app = createApp({
    settings,
    models,
    pause,
    store: opened.store,
    shutdown,
    ...(webSockets && { webSockets: webSockets.options }),
    host: settings.host,
    monitored: true,
    log,
    now: () => new Date(),
    randomId,
  });
  const server = await listen(app.fetch, {
    ...settings,
    webSockets,
    webSocketPaths: WEB_SOCKET_PATHS,
    shutdown,
  }).catch(async (error: unknown) => {
    await opened.close();
    throw error;
  });
  const host = settings.host.includes(":") ? `[${settings.host}]` : settings.host;
  const baseUrl = `http://${host}:${server.port}/v1`;
  log.info("start", { baseUrl, settings: withoutSecrets(settings) });
  options.print(toGreeting(baseUrl, models.all, settings));

  const stop = new AbortController();
  const looking = monitorModels(models, {
    timeoutMs: settings.connectTimeoutMs,
    firstWaitMs: FIRST_WAIT_MS,
    longestWaitMs: LONGEST_WAIT_MS,
    healthIntervalMs: settings.healthIntervalMs,
    onStatus: (model, status) => report(model, status, options.print, log),
    onHealth: (model, backend) => reportHealth(model, backend, options.print, log),
    signal: stop.signal,
  });

  return {
    baseUrl,
    async close() {
      stop.abort();
      await Promise.all([server.close(settings.shutdownGraceMs), looking]);
      await opened.close();
      await Promise.all(llamas.map((llama) => llama.close()));
      log.info("stop");
    },
  };
}

/** Bun replaces undici with its own module, which has `fetch` but no dispatcher. */
function createTransport(): Transport {
  return process.versions["bun"] === undefined ? createUndiciTransport() : createFetchTransport();
}

const ID_BYTES = 12;

let pool = randomBytes(0);
let taken = 0;

/** Draws random bytes for many ids at once: each draw takes 7 µs, and a request needs three ids. */
function randomId(): string {
  if (taken === pool.length) {
    pool = randomBytes(256 * ID_BYTES);
    taken = 0;
  }
  return pool.toString("hex", taken, (taken += ID_BYTES));
}

function toGreeting(baseUrl: string, models: readonly Model[], settings: Settings): string {
  const body = JSON.stringify({
    model: models[0]?.id,
    messages: [{ role: "user", content: "Hello!" }],
  });
  const key = settings.keys.length > 0 ? " -H 'Authorization: Bearer <key>'" : "";
  return `\
harmony-gateway listens at ${baseUrl}

curl ${baseUrl}/chat/completions -H 'Content-Type: application/json'${key} -d '${body}'
`;
}

function reportHealth(
  model: Model,
  { id, health, reason }: BackendState,
  print: (text: string) => void,
  log: Log,
): void {
  switch (health) {
    case "up":
      print(`${model.id}: backend ${id} is up.`);
      log.info("backend up", { model: model.id, backend: id });
      return;
    case "down":
    case "degraded":
      print(`${model.id}: backend ${id} is ${health}${reason ? `: ${describeKind(reason)}` : ""}.`);
      log.warn(`backend ${health}`, { model: model.id, backend: id, reason });
      return;
    case "unknown":
      return;
    default:
      health satisfies never;
  }
}

function report(model: Model, status: ModelStatus, print: (text: string) => void, log: Log): void {
  switch (status.state) {
    case "ready": {
      const { description, capabilities } = status.probe;
      print(`${model.id}: ready, ${description}.`);
      log.info("engine ready", {
        model: model.id,
        description,
        contextLength: model.contextLength,
      });
      if (capabilities.idsOut === "unmarked") {
        print(
          `${model.id}: the engine hides control tokens, so its thoughts cannot be told from its answers for certain. ` +
            "Have it show special tokens. Answers are refused unless allowHiddenMarkers is set.",
        );
        log.warn("engine hides control tokens", { model: model.id });
      }
      return;
    }
    case "unavailable":
      print(`${model.id}: not ready. ${status.reason} It is asked again until it is.`);
      log.warn("engine unavailable", { model: model.id, reason: status.reason });
      return;
    case "unknown":
      return;
    default:
      status satisfies never;
  }
}
