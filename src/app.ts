/** The application: middleware for every request, and the list of APIs. Independent of the runtime. */
import { Hono, type HonoRequest } from "hono";
import { TrieRouter } from "hono/router/trie-router";
import {
  type Api,
  BEARER,
  type ErrorEnvelope,
  type Services,
  type WebSocketOptions,
} from "./api/api.ts";
import { createAuthenticate } from "./api/auth.ts";
import { chatCompletionsApi } from "./api/chat-completions/api.ts";
import type { ApiEnv } from "./api/request/client.ts";
import { describeError } from "./api/errors.ts";
import { healthRoutes } from "./api/health.ts";
import { checkHost } from "./api/middleware/check-host.ts";
import { CLIENT_LEFT, identify, logRequests, traced } from "./api/middleware/log-requests.ts";
import { webPages } from "./api/middleware/web-pages.ts";
import { createApiErrorHandler, findApi, mountApis, refuseUnknown } from "./api/mount.ts";
import { createOpenMedia } from "./api/media/open-media.ts";
import type { ReadPdf } from "./api/media/read-pdf.ts";
import { messagesApi } from "./api/messages/api.ts";
import { responsesApi } from "./api/responses/api.ts";
import { pageRoutes } from "./api/pages/routes.ts";
import { ByteBudget, HeldBytes } from "./api/request/byte-budget.ts";
import { isLoopback } from "./config/loopback.ts";
import { createKeySetting, createPromptRules } from "./config/key-setting.ts";
import { systemOptions } from "./config/system-options.ts";
import { hostedDeps } from "./api/tools/hosted-tools.ts";
import type { Settings } from "./config/settings.ts";
import { partOf, ProcessState } from "./lazy.ts";
import { createFetchTransport } from "./engines/fetch-transport.ts";
import type { Transport } from "./engines/transport.ts";
import { chatRoutes, type FoundEngine } from "./pages/chat-routes.ts";
import type { Models } from "./models/models.ts";
import { createShutdown, type Shutdown } from "./models/shutdown.ts";
import {
  createCipher,
  openReasoningStore,
  reportUnreadable,
  toMemoryStore,
  watchStore,
} from "./store/reasoning.ts";
import type { Store } from "./store/store.ts";
import { watchReasoning } from "./store/reasoning-store.ts";
import { registerBackendMetrics } from "./telemetry/backend-metrics.ts";
import { Audit } from "./telemetry/audit.ts";
import type { Log } from "./telemetry/log.ts";
import { createRegistry, type Registry } from "./telemetry/metrics.ts";
import type { Recorder } from "./telemetry/record/recorder.ts";
import { observeTurns } from "./telemetry/observe-models.ts";
import { describeForLog } from "./telemetry/describe-for-log.ts";
import { createMeters, withoutOtherKeys } from "./telemetry/meters.ts";
import type { ServedPages } from "./pages/assets.ts";
import { assetRoutes } from "./pages/routes.ts";
import { watchTurns } from "./telemetry/watch-turns.ts";
import { traceModels } from "./telemetry/tracing/trace-models.ts";
import { limitCalls } from "./tools/call-quota.ts";
import type { RequestPage } from "./tools/browser/fetch-page.ts";
import type { Toolbox } from "./tools/toolbox.ts";
import { createPause, type Pause } from "./streams/slices.ts";
import { BODY_BUDGET, DEFAULT_TEXT_CACHE_BYTES, TEXT_BUDGET } from "./turn/prompt/text-budget.ts";

/** The first API that claims a request handles it. The last one claims every request. */
const APIS: readonly Api[] = [responsesApi, messagesApi, chatCompletionsApi];

/** Whole paths where a GET may open a WebSocket. */
export const WEB_SOCKET_PATHS = new Set(APIS.flatMap((api) => api.webSocketPaths ?? []));

/** The format of errors for a request that does not reach the application. */
export function errorEnvelopeFor(request: HonoRequest): ErrorEnvelope {
  return findApi(APIS, request).errorEnvelope;
}

export interface AppDeps {
  readonly settings: Settings;
  readonly models: Models;
  /** State kept between requests. Operations may fail. Absent: in memory. */
  readonly store?: Store;
  /** Pauses between stages of large requests. Absent: for the event loop. */
  readonly pause?: Pause;
  /** The state of a shutdown. Absent: the runtime does not announce shutdown. */
  readonly shutdown?: Shutdown;
  /** Tools that are run for the model. Absent: none. */
  readonly toolbox?: Toolbox;
  /** The HTTP client for the vision model. Absent: `fetch`. */
  readonly transport?: Transport;
  /** Reads PDFs. Absent: PDFs are not read. */
  readonly readPdf?: ReadPdf | undefined;
  /** Fetches from public addresses only. Absent: images with URLs are not fetched. */
  readonly requestPage?: RequestPage | undefined;
  /** WebSocket support. Absent: this runtime has no WebSockets. */
  readonly webSockets?: WebSocketOptions;
  /**
   * The caller runs `monitorModels`: `/ready` is 503 until the first probe of a model succeeds. Absent: a
   * model without a probe result counts as ready.
   */
  readonly monitored?: boolean;
  /** The listening address. Absent: the runtime decides who can reach the gateway. */
  readonly host?: string;
  /** State of the process, which a later application with the same object continues. Absent: a new one. */
  readonly state?: ProcessState;
  /** The registry of metrics, which a later application with the same object continues. Absent: a new one. */
  readonly registry?: Registry;
  /** Records turns while it has listeners. Absent: no turns are recorded. */
  readonly recorder?: Recorder | undefined;
  /** Receives the lines of the audit, each with its line break. Absent: the audit is off. */
  readonly writeAudit?: ((line: string) => void) | undefined;
  /** Traces may contain prompts and answers. Default: false. */
  readonly tracesContent?: boolean;
  /** Serves the public pages, `/` and `/api`. Default: true. */
  readonly pages?: boolean;
  /** The files of pages that run in browsers. Absent: this runtime has no such files, and `/` is a page of links. */
  readonly assets?: ServedPages | undefined;
  /** Inference servers on this machine, which the chat shows to its operator. Absent: there is no search for them. */
  readonly foundEngines?: (() => readonly FoundEngine[]) | undefined;
  /** Routes of the inspector's page. Absent: the inspector is off. */
  readonly inspector?: Hono<ApiEnv> | undefined;
  readonly log: Log;
  /** Time in milliseconds since 1970. */
  readonly now: () => number;
  /** Monotonic time, in whole milliseconds. Absent: `performance.now()`. */
  readonly clock?: () => number;
  /** The size of text caches if the settings define none. Absent: 16 MiB. */
  readonly textCacheBytes?: number;
  /** Returns letters and digits, unguessable. */
  readonly randomId: () => string;
}

/** Creates an application that serves at once. */
export function createApp(deps: AppDeps): Hono<ApiEnv> {
  const { app, enforce } = prepareApp(deps);
  enforce();
  return app;
}

/**
 * Creates an application that does not serve yet. `enforce`: applies its settings to the state shared by all applications of a
 * process.
 */
export function prepareApp(deps: AppDeps) {
  const { settings, registry = createRegistry() } = deps;
  const enforce = (): void => {
    const cacheBytes = settings.textCacheBytes ?? deps.textCacheBytes ?? DEFAULT_TEXT_CACHE_BYTES;
    TEXT_BUDGET.resize(0.75 * cacheBytes);
    BODY_BUDGET.resize(0.25 * cacheBytes);
    registerBackendMetrics(deps.models, registry);
  };
  const services = createServices(deps, registry);
  const authenticate = createAuthenticate(settings, services.models, deps.now);
  const toErrorResponse = createApiErrorHandler(APIS, { isOperator: isPrivate(deps) });
  // Hono's RegExpRouter refuses a fixed path beside a parameter, such as `/responses/compact` beside `/responses/:id/cancel`. The
  // default router would try it in the first request of every Worker.
  const app = new Hono<ApiEnv>({ router: new TrieRouter() });

  app.use(identify(deps.randomId), traced(), logRequests({ ...services, now: services.clock }));
  app.use(checkHost(settings, deps.host), webPages(settings));
  refuseUnknown(app, APIS, toErrorResponse);

  app.route("/", healthRoutes(services.models, toHealthOptions(deps, services.shutdown)));
  if (deps.pages !== false) {
    const pages = {
      models: deps.models,
      hasKeys: settings.keys.length > 0,
      hasInspector: deps.inspector !== undefined,
      publicUrl: settings.publicUrl,
      hasChat: settings.home === "chat" && deps.assets !== undefined,
      hasLinks: settings.home === "links" || (settings.home === "chat" && !deps.assets),
    };
    if (settings.home === "chat" && deps.assets) {
      const foundEngines = isPrivate(deps) ? deps.foundEngines : undefined;
      app.route("/", chatRoutes({ ...pages, assets: deps.assets, foundEngines }));
    }
    app.route("/", pageRoutes(pages));
  }
  if (deps.assets?.file) app.route("/", assetRoutes(deps.assets.file));
  if (settings.metrics !== "off") {
    app.get("/metrics", async (c) => {
      const client = settings.metrics === "key" ? await authenticate(c.req, BEARER) : undefined;
      let text = registry.toText();
      if (client !== undefined) {
        c.set("client", client);
        // A key is a tenant, which must not see the use of others.
        text = withoutOtherKeys(text, client.tenant);
      }
      return c.text(text, 200, { "content-type": "text/plain; version=0.0.4" });
    });
  }
  if (deps.inspector) app.route("/", deps.inspector);
  mountApis(app, APIS, authenticate, services);

  app.onError((error, c) => {
    if (hasDisconnected(error, c.req.raw.signal))
      return new Response(null, { status: CLIENT_LEFT });
    services.onFailure(error, c.get("requestId"), c.get("client"));
    return toErrorResponse(error, c);
  });
  return { app, enforce };
}

const uploadsIn = partOf(() => new HeldBytes());
const repliesIn = partOf(() => new HeldBytes());

function createServices(deps: AppDeps, registry: Registry): Services {
  const { settings, log, now, clock = monotonicMs, shutdown = createShutdown() } = deps;
  const { state = new ProcessState() } = deps;
  const meters = createMeters(registry);
  const { recorder } = deps;
  const stoppable = shutdown.watch(deps.models);
  const audit = deps.writeAudit && new Audit({ write: deps.writeAudit, now, clock, errorTypeOf });
  const observe = observeTurns({
    meters,
    log,
    now: clock,
    logContent: settings.logContent,
    keys: new Set(settings.keys.map(({ name }) => name)),
  });
  const watched = watchTurns(stoppable, [
    ...(recorder ? [recorder.watchTurn] : []),
    observe,
    ...(audit ? [audit.watchTurn] : []),
  ]);
  const models = traceModels(watched, { capturesContent: deps.tracesContent ?? false });
  const watching = { log, meters, now: clock, state };
  const store = watchStore(deps.store ?? toMemoryStore(settings), settings, watching);
  const cipher = createCipher(settings, log, state);
  const reasoning = openReasoningStore(store, cipher, settings, watching);
  const onUnreadable = reportUnreadable(watching);
  const { transport = createFetchTransport(), pause = createPause(), requestPage, readPdf } = deps;
  const { stopping } = shutdown;
  const loading = { transport, requestPage, readPdf, pause, stopping, state };
  const toolbox = limitCalls(deps.toolbox ?? {}, {
    perHour: createKeySetting(settings, "maxBuiltinCallsPerKey"),
    now: clock,
    state,
  });
  return {
    settings,
    keepAliveMs: settings.keepAliveMs,
    clientIdleTimeoutMs: settings.clientIdleTimeoutMs,
    system: (time) => systemOptions(settings, time),
    promptRules: createPromptRules(settings),
    audit,
    models,
    pause,
    reasoning: recorder ? watchReasoning(reasoning, recorder.noteSource) : reasoning,
    recorder,
    cipher,
    store,
    onUnreadable,
    readsPdfs: readPdf !== undefined,
    openMedia: createOpenMedia(settings, { store, onUnreadable, log, meters, clock, ...loading }),
    shutdown,
    state,
    uploads: new ByteBudget(settings.maxBodyBytes, { held: uploadsIn(state) }),
    replies: new ByteBudget(REPLY_BODIES * settings.maxBodyBytes, {
      doing: "holding replies to",
      held: repliesIn(state),
    }),
    hosted: hostedDeps(settings, toolbox),
    webSockets: deps.webSockets,
    log,
    meters,
    now,
    clock,
    randomId: deps.randomId,
    onRestored: (outcome) => meters.reasoningReturned.add({ outcome }),
    onFailure(error, id, client) {
      if (describeError(error).status !== 500) return;
      const logContent = settings.logContent && !client?.isPrivate;
      log.error("failure", { id, ...describeForLog(error, { logContent }) });
    },
  };
}

/** Maximum size of the replies of a key, in bodies of the largest size. */
const REPLY_BODIES = 4;

function errorTypeOf(error: unknown): string {
  return describeError(error).errorType;
}

function monotonicMs(): number {
  return Math.floor(performance.now());
}

/** Whether only the operator can reach the gateway: it listens on loopback, without keys, and no setting refers to a proxy. */
function isPrivate({ settings: { keys, open, allowedHosts, publicUrl }, host }: AppDeps): boolean {
  const isProxied = allowedHosts.length > 0 || publicUrl !== undefined;
  return host !== undefined && isLoopback(host) && keys.length === 0 && !open && !isProxied;
}

function toHealthOptions({ monitored = false, now, store }: AppDeps, { closing }: Shutdown) {
  return { monitored, closing, now, storeProblem: () => store?.problem?.() };
}

/**
 * Whether the client has disconnected: the signal is aborted, with any error of the engine, or Node reports a closed connection
 * while the body was still arriving. This is not an error, and no response is needed.
 */
function hasDisconnected(error: Error, signal: AbortSignal): boolean {
  if (signal.aborted) return true;
  return error.message === "aborted" && "code" in error && error.code === "ECONNRESET";
}
