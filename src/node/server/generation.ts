/**
 * The application and its models under one set of settings. A reload of settings creates another generation; streams of the
 * former one end in it.
 *
 * State belongs to the process, settings to a generation: random keys, limits in use, background work, queues and counters are in
 * `Shared`. `docs/architecture.md` lists each object that a generation creates anew, with the reason; a test compares the two.
 */
import { assemble } from "../../gateway.ts";
import { setImmediate } from "node:timers/promises";
import type { ReadPdf } from "../../api/media/read-pdf.ts";
import type { Settings } from "../../config/settings.ts";
import type { CreateNativeLlama } from "../../engines/llama.ts";
import type { Transport } from "../../engines/transport.ts";
import type { Model, ModelOptions, Models } from "../../models/models.ts";
import { monitorModels } from "../../models/probing.ts";
import type { Shutdown } from "../../models/shutdown.ts";
import type { Store } from "../../store/store.ts";
import type { ProcessState } from "../../lazy.ts";
import type { Log } from "../../telemetry/log.ts";
import type { Registry } from "../../telemetry/metrics.ts";
import type { Recorder } from "../../telemetry/record/recorder.ts";
import type { RequestPage } from "../../tools/browser/fetch-page.ts";
import type { Toolbox } from "../../tools/toolbox.ts";
import { createPause } from "../../streams/slices.ts";
import type { FetchHandler } from "./direct-sse.ts";
import type { FoundEngine } from "../../pages/chat-routes.ts";
import type { PageAssets } from "../../pages/assets.ts";
import { openMcp } from "../mcp/open-mcp.ts";
import type { Inspector } from "../inspect/open-inspector.ts";
import { randomId } from "../random-id.ts";
import type { SqliteStore } from "../sqlite/sqlite-store.ts";
import { registerStoreMetrics } from "../sqlite/store-metrics.ts";
import { countTokens } from "../console/traffic-status.ts";
import type { WebSockets } from "./web-sockets.ts";
import { reportStatus } from "../../telemetry/report-status.ts";
import { toBackends } from "../../config/backends.ts";
import { toPresets } from "../../config/presets.ts";
import type { BackendState } from "../../engines/pool/backend.ts";
import { describeKind } from "../../engines/pool/error-class.ts";

/** State shared by all generations. */
export interface Shared {
  /** Replaces the configured engines. */
  readonly models?: readonly ModelOptions[];
  readonly demoTokensPerSecond?: number;
  /** Called when an engine cannot be reached. */
  readonly onUnavailable?: () => void;
  /** Called with the number of tokens that an engine has just sent. Absent: tokens are not counted. */
  readonly onTokens?: (tokens: number) => void;
  readonly log: Log;
  readonly shutdown: Shutdown;
  readonly store: Store;
  /** Absent: the store is not in a file. */
  readonly file?: SqliteStore | undefined;
  readonly toolbox: Toolbox;
  readonly requestPage: RequestPage;
  /** Undefined: PDFs are not read. */
  readonly readPdf: ReadPdf | undefined;
  /** Undefined: turns are not recorded. */
  readonly recorder: Recorder | undefined;
  readonly tracesContent?: boolean;
  /** Undefined: the audit is off. */
  readonly writeAudit?: ((line: string) => void) | undefined;
  /** Undefined: the inspector is off. */
  readonly inspector: Inspector | undefined;
  /** The files of the pages for browsers. */
  readonly assets: PageAssets;
  /** Unused inference servers on this machine. */
  readonly foundEngines?: () => readonly FoundEngine[];
  /** The registry of metrics, which continue after a reload of settings. */
  readonly registry: Registry;
  readonly state: ProcessState;
  /** Undefined: this process supports no WebSockets. */
  readonly sockets: Pick<WebSockets, "upgrade" | "limit"> | undefined;
  readonly transport: Transport;
  readonly createNativeLlama: CreateNativeLlama;
}

export interface Generation {
  readonly fetch: FetchHandler;
  readonly models: Models;
  /** Applies the limits of this generation, and registers its metrics: it receives new requests now. */
  enforce(): void;
  /** Resolves when each engine has answered or failed once, at the latest after `timeoutMs` or when the signal is aborted. */
  firstProbe(timeoutMs: number, signal: AbortSignal): Promise<void>;
  /**
   * Probes engines until they are ready, then checks their health.
   *
   * @param onReady called instead of a log entry when a model is ready.
   */
  monitor(onReady?: () => void): void;
  stopMonitoring(): Promise<void>;
  /** Requests in flight continue. Resources for new requests are closed: connections to MCP servers, and idle WebSockets. */
  retire(): Promise<void>;
}

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 30_000;
/**
 * Default size of the text caches. A conversation of 400,000 tokens takes 6.5 MB, and several have to fit: a conversation that is
 * evicted between its turns is encoded again.
 */
export const TEXT_CACHE_BYTES = 64 * 1024 * 1024;

export function createGeneration(settings: Settings, shared: Shared): Generation {
  const { log, onTokens } = shared;
  const pause = createPause(setImmediate);
  const mcp = openMcp(settings, log, { state: shared.state });
  const retired = new AbortController();
  const closing = AbortSignal.any([shared.shutdown.closing, retired.signal]);
  const assembled = assemble(settings, {
    ...shared,
    ...(shared.sockets && { webSockets: { upgrade: shared.sockets.upgrade, closing } }),
    inspector: (inspected) => {
      const { shutdown, writeAudit } = shared;
      const own = { settings, models: inspected, log, shutdown, writeAudit, pause };
      return shared.inspector?.routes(
        { ...own, textCacheBytes: TEXT_CACHE_BYTES },
        shutdown.closing,
      );
    },
    toolbox: { ...shared.toolbox, ...(mcp.toolbox && { mcp: mcp.toolbox }) },
    pause,
    host: settings.host,
    monitored: true,
    textCacheBytes: TEXT_CACHE_BYTES,
    randomId,
    ...(onTokens && { watchModels: (inner: Models) => countTokens(inner, onTokens) }),
  });
  const { models } = assembled;
  const stop = new AbortController();
  let monitoring = Promise.resolve();

  return {
    fetch: assembled.app.fetch,
    models,
    enforce() {
      assembled.enforce();
      shared.sockets?.limit(settings.maxBodyBytes);
      const { file, registry } = shared;
      if (file !== undefined) registerStoreMetrics(registry, settings, () => file.lastCounts);
    },
    async firstProbe(timeoutMs, signal) {
      const within = AbortSignal.any([AbortSignal.timeout(timeoutMs), signal]);
      await Promise.all(models.all.map((model) => model.probe(within)));
    },
    monitor(onReady) {
      reportLeftOut(models, settings, log);
      monitoring = monitorModels(models, {
        timeoutMs: settings.connectTimeoutMs,
        firstWaitMs: FIRST_WAIT_MS,
        longestWaitMs: LONGEST_WAIT_MS,
        healthIntervalMs: settings.healthIntervalMs,
        onStatus: (model, status) => {
          if (onReady !== undefined && status.state === "ready") onReady();
          else reportStatus(model, status, log);
          if (status.state === "unavailable") shared.onUnavailable?.();
        },
        onBackend: (model, backend, what) =>
          what === "health"
            ? reportHealth(model, backend, log)
            : reportMissingCheck(model, backend, log),
        signal: stop.signal,
      });
    },
    async stopMonitoring() {
      stop.abort();
      await monitoring;
    },
    retire() {
      retired.abort();
      return mcp.retire();
    },
  };
}

/** Reports presets whose model no server offers. If the operator has named all models, such a preset is an error at start. */
function reportLeftOut({ presets }: Models, settings: Settings, log: Log): void {
  if (toBackends(settings).some(({ findsModel }) => findsModel)) return;
  const served = new Set(presets.map(({ preset }) => preset.name));
  for (const { name, model } of toPresets(settings)) {
    if (served.has(name)) continue;
    const message = `presets.${name} is left out: no server offers its model ${model}.`;
    log.warn("warning", { message });
  }
}

function reportHealth(model: Model, { id, health, reason }: BackendState, log: Log): void {
  const fields = { model: model.id, backend: id };
  switch (health) {
    case "up":
      log.info("backend up", fields);
      return;
    case "down":
    case "degraded":
      log.warn(`backend ${health}`, {
        ...fields,
        reason: reason === undefined ? "a health check failed" : describeKind(reason),
      });
      return;
    case "unknown":
      return;
    default:
      health satisfies never;
  }
}

/** Reports an engine without a health check, unless a check was found since. */
function reportMissingCheck(model: Model, { id, missingCheck }: BackendState, log: Log): void {
  if (missingCheck === undefined) return;
  log.warn("no health check", { model: model.id, backend: id, reason: missingCheck });
}
