/** Starts the gateway (store, port, engines, application) and shuts it down in reverse order. */
import { withoutSecrets } from "../../config/resolve.ts";
import { toBackends } from "../../config/backends.ts";
import type { Settings } from "../../config/settings.ts";
import { WEB_SOCKET_PATHS } from "../../app.ts";
import { toPublicUrl } from "../../engines/server-url.ts";
import type { ModelOptions } from "../../models/models.ts";
import { createShutdown } from "../../models/shutdown.ts";
import type { Log } from "../../telemetry/log.ts";
import { createRegistry } from "../../telemetry/metrics.ts";
import { createConsoleLog } from "../console/console-log.ts";
import { openLogOutput } from "../console/log-output.ts";
import type { FetchHandler } from "./direct-sse.ts";
import { createEngineTransport } from "../engine-http/engine-transport.ts";
import { createGeneration, type Shared } from "./generation.ts";
import { listen, type ListenOptions } from "./listen.ts";
import { openMetricsPort } from "./metrics-port.ts";
import { createLlamas } from "../llama/engines.ts";
import { openToolbox } from "../toolbox.ts";
import { openStore } from "../open-store.ts";
import { startTracing } from "../telemetry/start-tracing.ts";
import { startRecording } from "../telemetry/recording.ts";
import { registerProcessMetrics } from "./process-metrics.ts";
import { keepFixed } from "./reload.ts";
import { readVersion } from "../version.ts";
import { openWebSockets } from "./web-sockets.ts";

export interface ServeOptions {
  /** Replaces the configured engines. */
  readonly models?: readonly ModelOptions[];
  /** Absent: JSON lines on stdout. */
  readonly log?: Log;
  /** Lines that `log` could not write. Absent: it does not say. */
  readonly droppedLines?: () => number;
  /** Absent: the demo engine writes without delay. */
  readonly demoTokensPerSecond?: number;
  /** Variables of OpenTelemetry, which say whether and where traces are sent. Absent: nowhere. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

export interface Gateway {
  /** `http://127.0.0.1:8787/v1` */
  readonly baseUrl: string;
  /**
   * Serves new requests by other settings: engines, keys, limits. Requests in flight end under the old ones. Settings of
   * the listener, the store and the log cannot change; those that differ are in the log. Later settings replace those that
   * are still being tried.
   */
  reload(settings: Settings): Promise<void>;
  /** Waits for in-flight requests and background work, for at most `shutdownGraceMs`, then stops the rest. */
  close(): Promise<void>;
}

/** Rejects when the port or the store is not available. An engine that does not answer is reported and probed again. */
export async function startGateway(
  settings: Settings,
  options: ServeOptions = {},
): Promise<Gateway> {
  const { log, droppedLines = () => 0 } = options.log
    ? { ...options, log: options.log }
    : openJsonLog(settings);
  const llamas = createLlamas(log);
  const opened = await openStore(settings);
  const tools = await openToolbox(settings, log).catch(async (error: unknown) => {
    await opened.close();
    throw error;
  });
  const recording = await startRecording(settings, log, options.models !== undefined).catch(
    async (error: unknown) => {
      await Promise.all([opened.close(), tools.close()]);
      throw error;
    },
  );
  const tracing = await startTracing(options.environment ?? {}, log);
  const shutdown = createShutdown();
  const transport = createEngineTransport();
  const webSockets = await openWebSockets(settings.maxBodyBytes);
  const shared: Shared = {
    ...options,
    log,
    shutdown,
    store: opened.store,
    toolbox: tools.toolbox,
    recorder: recording.recorder,
    tracesContent: tracing.capturesContent,
    inspector: recording.inspector,
    registry: createRegistry(),
    counts: new Map(),
    transport,
    createNativeLlama: llamas.create,
    upgrade: webSockets?.upgrade,
  };
  registerProcessMetrics(shared.registry, droppedLines);
  let current = createGeneration(settings, shared);
  const handler: FetchHandler = (request, env) => current.fetch(request, env);
  const { server, own } = await openPorts(settings, handler, {
    ...settings,
    webSockets,
    webSocketPaths: WEB_SOCKET_PATHS,
    shutdown,
  }).catch(async (error: unknown) => {
    await Promise.all([opened.close(), tools.close(), recording.close(), tracing.close()]);
    throw error;
  });
  const host = settings.host.includes(":") ? `[${settings.host}]` : settings.host;
  const baseUrl = `http://${host}:${server.port}/v1`;
  log.debug("settings", withoutSecrets(settings));
  log.info("start", {
    baseUrl,
    version: readVersion(),
    keys: settings.keys.length,
    store: settings.store === "memory" ? "memory" : settings.store.replace(/:.*/s, ""),
    seconds: process.uptime(),
    backends: describeBackends(settings, options.models),
    inspect: recording.inspector?.toUrl(baseUrl.replace(/\/v1$/, "")),
    metrics: own.port === undefined ? undefined : `http://${host}:${own.port}/metrics`,
  });
  current.monitor();

  let reloading = Promise.resolve();
  /** The last settings that were read and not yet tried. */
  let wanted: Settings | undefined;
  /** Aborted when the settings that are being tried are no longer wanted. */
  let trying = new AbortController();

  async function tryWanted(): Promise<void> {
    if (wanted === undefined) return;
    const { settings: next, restartFor } = keepFixed(settings, wanted);
    wanted = undefined;
    const { signal } = (trying = new AbortController());
    const successor = createGeneration(next, shared);
    await successor.firstProbe(next.connectTimeoutMs, signal);
    if (signal.aborted) return successor.retire();
    const former = current;
    current = successor;
    await former.stopMonitoring();
    await former.retire();
    successor.monitor();
    log.debug("settings", withoutSecrets(next));
    log.info("settings read again", {
      ...(restartFor.length > 0 && { restartFor }),
      backends: describeBackends(next, options.models),
    });
  }

  return {
    baseUrl,
    reload(next) {
      wanted = next;
      trying.abort();
      const done = reloading.then(tryWanted);
      reloading = done.catch(() => {});
      return done;
    },
    async close() {
      // Accepts no more connections from here on.
      const closed = server.close(settings.shutdownGraceMs);
      wanted = undefined;
      trying.abort();
      await reloading;
      await Promise.all([closed, current.stopMonitoring()]);
      // Until here it says that the process is shutting down, and how many turns are left.
      await own.close();
      await Promise.all([opened.close(), tools.close(), current.retire(), recording.close()]);
      await Promise.all([llamas.close(), tracing.close(), transport.destroy()]);
      log.info("stop");
    },
  };
}

/** The port for clients, and this process's own one. */
async function openPorts(settings: Settings, handler: FetchHandler, options: ListenOptions) {
  const own = await openMetricsPort(settings, handler, options.shutdown);
  try {
    return { own, server: await listen(handler, options) };
  } catch (error) {
    await own.close();
    throw error;
  }
}

/** For the log: no keys, and URLs without credentials. */
function describeBackends(settings: Settings, models: readonly ModelOptions[] | undefined) {
  if (models !== undefined) {
    return models.map(({ id, engine }) => ({
      model: id,
      backend: engine.name,
      engine: engine.name,
    }));
  }
  return toBackends(settings).map(({ servedName, name, engine, url }) => ({
    model: servedName,
    backend: name,
    engine,
    ...(url !== undefined && { url: toPublicUrl(url) }),
  }));
}

function openJsonLog({
  log: level,
}: Settings): Required<Pick<ServeOptions, "log" | "droppedLines">> {
  const output = openLogOutput();
  const log = createConsoleLog({ log: level, logFormat: "json" }, output);
  return { log, droppedLines: () => output.dropped };
}
