/** Starts the gateway (store, port, engines, application) and shuts it down in reverse order. */
import type { FoundEngine } from "../../pages/chat-routes.ts";
import { withoutSecrets } from "../../config/without-secrets.ts";
import type { Settings } from "../../config/settings.ts";
import { storeKind } from "../../config/settings/store.ts";
import { WEB_SOCKET_PATHS } from "../../app.ts";
import type { ModelOptions, Models } from "../../models/models.ts";
import { createShutdown } from "../../models/shutdown.ts";
import { ProcessState } from "../../lazy.ts";
import type { Log } from "../../telemetry/log.ts";
import { createRegistry } from "../../telemetry/metrics.ts";
import { createConsoleLog } from "../console/console-log.ts";
import { openLogOutput } from "../console/log-output.ts";
import { createEngineTransport } from "../engine-http/undici-transport.ts";
import type { Shared } from "./generation.ts";
import { Generations } from "./generations.ts";
import { listen } from "./listen.ts";
import { openMetricsPort, registerProcessMetrics } from "./metrics-port.ts";
import { createLlamas } from "../llama/engine.ts";
import { createAssets } from "../pages/assets.ts";
import { findReadPdf } from "../pdf/read-pdf.ts";
import { openToolbox } from "../toolbox.ts";
import { openStore } from "../open-store.ts";
import { startTracing } from "../telemetry/start-tracing.ts";
import { openAuditFile } from "../telemetry/audit-file.ts";
import { MAX_RECORDS } from "../../telemetry/record/limits.ts";
import { startRecording } from "../telemetry/recording.ts";
import { readVersion } from "../version.ts";
import { openWebSockets } from "./web-sockets.ts";

export interface ServeOptions {
  /** Replaces the configured engines. */
  readonly models?: readonly ModelOptions[];
  /** Receives log entries. Absent: JSON lines on stdout. */
  readonly log?: Log;
  /** Speed of the demo engine. Absent: it writes without delay. */
  readonly demoTokensPerSecond?: number;
  /** Environment variables of OpenTelemetry, which set whether and where traces are sent. Absent: nowhere. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

/** Options of the command `serve` alone. */
interface CommandOptions extends ServeOptions {
  /** Number of lines that `log` could not write. Absent: the number is unknown. */
  readonly droppedLines?: () => number;
  /** The log is on a terminal, which turns the inspector on. Default: false. */
  readonly isTerminal?: boolean;
  /** Unused inference servers on this machine, for the chat. Absent: there is no search for them. */
  readonly foundEngines?: () => readonly FoundEngine[];
  /** Called when an engine cannot be reached. */
  readonly onUnavailable?: () => void;
  /** Called with the number of tokens that an engine has just sent. Absent: tokens are not counted. */
  readonly onTokens?: (tokens: number) => void;
}

export interface Gateway {
  /** URL of the APIs: `http://127.0.0.1:8787/v1`. */
  readonly baseUrl: string;
  /** URL for clients, without `/v1`: the setting `publicUrl`, or the listening address. */
  readonly origin: string;
  /** The address of the inspector, with its token. Undefined: the inspector is off. */
  readonly inspectUrl: string | undefined;
  /** The models that answer new requests. */
  readonly models: Models;
  /**
   * Applies other settings to new requests: engines, keys, limits. Requests in flight end under the old ones. Settings of the
   * listener, the store and the log cannot change; changed ones are reported in the log. Later settings replace those that are
   * still being tried.
   */
  reload(settings: Settings): Promise<void>;
  /** Number of turns that have not ended. */
  inFlight(): number;
  /** Waits for in-flight requests and background work, for at most `shutdownGraceMs`, then stops the rest. */
  close(): Promise<void>;
}

/** Rejects when the port or the store is not available. An unresponsive engine is reported and probed again. */
export async function serveGateway(
  settings: Settings,
  options: CommandOptions = {},
): Promise<Gateway> {
  const opened = new CloseStack();
  try {
    return await openGateway(settings, options, opened);
  } catch (error) {
    // The error of the start explains more than an error of closing.
    await opened.close().catch(() => {});
    throw error;
  }
}

async function openGateway(
  settings: Settings,
  options: CommandOptions,
  opened: CloseStack,
): Promise<Gateway> {
  const webSockets = await openWebSockets(settings.maxBodyBytes);
  const opening = await openShared(settings, options, opened);
  const shared: Shared = { ...opening, sockets: webSockets };
  const { log, shutdown, inspector } = shared;
  const generations = await Generations.open(settings, shared);
  opened.defer(() => generations.retire());
  // The port stays open until the server has closed: it reports the shutdown, and the number of turns left.
  const own = opened.use(await openMetricsPort(settings, generations.fetch, shutdown));
  const server = await listen(generations.fetch, {
    ...settings,
    webSockets,
    webSocketPaths: WEB_SOCKET_PATHS,
    shutdown,
  });
  opened.defer(() => Promise.all([server.close(settings.shutdownGraceMs), generations.stop()]));
  const host = settings.host.includes(":") ? `[${settings.host}]` : settings.host;
  const baseUrl = `http://${host}:${server.port}/v1`;
  log.debug("settings", withoutSecrets(settings));
  const origin = (settings.publicUrl ?? baseUrl.replace(/\/v1$/, "")).replace(/\/+$/, "");
  const inspectUrl = inspector?.toUrl(origin);
  log.info("start", {
    baseUrl: `${origin}/v1`,
    version: readVersion(),
    keys: settings.keys.length,
    store: storeKind(settings.store),
    seconds: process.uptime(),
    backends: generations.backends,
    inspect: inspectUrl,
    ...(inspector && { inspectMaxRecords: MAX_RECORDS }),
    metrics:
      own.port === undefined || settings.metrics === "off"
        ? undefined
        : `http://${host}:${own.port}/metrics`,
  });
  generations.monitor();
  return {
    baseUrl,
    origin,
    inspectUrl,
    get models() {
      return generations.models;
    },
    inFlight: () => shutdown.inFlight(),
    reload: (next) => generations.reload(next),
    async close() {
      await opened.close();
      log.info("stop");
    },
  };
}

/** Opens the parts that all generations share, and registers the metrics of the process. */
async function openShared(
  settings: Settings,
  options: CommandOptions,
  opened: CloseStack,
): Promise<Omit<Shared, "sockets">> {
  const { log, droppedLines = () => 0 } = options.log
    ? { ...options, log: options.log }
    : openJsonLog(settings);
  const transport = createEngineTransport();
  opened.defer(() => transport.destroy());
  const tracing = opened.use(await startTracing(options.environment ?? {}, log));
  const llamas = opened.use(createLlamas(log));
  const { store, file } = opened.use(await openStore(settings, log));
  const { toolbox, requestPage } = opened.use(await openToolbox(settings, log));
  const { auditFile } = settings;
  const audit =
    auditFile === undefined ? undefined : opened.use(await openAuditFile(auditFile, log));
  const { isTerminal } = options;
  const assets = createAssets();
  const listeners = { hasOwnEngines: options.models !== undefined, isTerminal };
  const recording = opened.use(await startRecording(settings, log, assets, listeners));
  const shared = {
    ...options,
    log,
    shutdown: createShutdown(),
    store,
    file,
    toolbox,
    requestPage,
    readPdf: findReadPdf(),
    recorder: recording.recorder,
    tracesContent: tracing.capturesContent,
    writeAudit: audit?.write,
    inspector: recording.inspector,
    assets,
    registry: createRegistry(),
    state: new ProcessState(),
    transport,
    createNativeLlama: llamas.create,
  };
  registerProcessMetrics(shared.registry, droppedLines);
  shared.registry.readings(
    "harmony_gateway_audit_lines_dropped_total",
    "Lines of the audit that could not be written: the disk is full, slow or gone.",
    "counter",
    () => [[{}, audit?.dropped() ?? 0]],
  );
  return shared;
}

function openJsonLog({
  log: level,
}: Settings): Required<Pick<CommandOptions, "log" | "droppedLines">> {
  const output = openLogOutput();
  const { log } = createConsoleLog({ log: level, logFormat: "json" }, output);
  return { log, droppedLines: () => output.dropped };
}

/** Closes resources in the reverse order of their opening. Node 22 has no `AsyncDisposableStack`. */
export class CloseStack {
  readonly #closers: (() => unknown)[] = [];

  /** Closes the resource with the stack. */
  use<R extends { close(): unknown }>(resource: R): R {
    this.defer(() => resource.close());
    return resource;
  }

  /** Calls and awaits `close` when the stack is closed. */
  defer(close: () => unknown): void {
    this.#closers.push(close);
  }

  /** Closes everything, even after a failure. Rejects with the first error. */
  async close(): Promise<void> {
    const failures: unknown[] = [];
    for (let close = this.#closers.pop(); close; close = this.#closers.pop()) {
      try {
        await close();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}
