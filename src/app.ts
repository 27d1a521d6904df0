/** The application: what happens to every request, and which route answers it. Knows no runtime. */
import { Hono, type MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import { cors } from "hono/cors";
import { methodNotAllowed } from "hono/method-not-allowed";
import { routePath } from "hono/route";
import { authenticate } from "./api/auth.ts";
import { chatCompletions } from "./api/chat-completions/route.ts";
import type { ApiEnv } from "./api/client.ts";
import { describeError, RequestError, toErrorResponse } from "./api/errors.ts";
import { healthRoutes } from "./api/health.ts";
import { modelRoutes } from "./api/models.ts";
import { createResponsesContext } from "./api/responses/context.ts";
import { toResponsesErrorResponse } from "./api/responses/errors.ts";
import { responses } from "./api/responses/route.ts";
import type { SocketOptions } from "./api/responses/socket-route.ts";
import type { Settings } from "./config/settings.ts";
import { isLoopback } from "./config/resolve.ts";
import type { Log } from "./telemetry/log.ts";
import { createRegistry } from "./telemetry/metrics.ts";
import {
  createMeters,
  describeFailure,
  type Meters,
  observeModels,
} from "./telemetry/observe-models.ts";
import { registerBackendMetrics } from "./telemetry/backend-metrics.ts";
import {
  openReasoningStore,
  createCipher,
  reportCorrupt,
  toMemoryStore,
  watchStore,
} from "./store/reasoning.ts";
import type { Store } from "./store/store.ts";
import type { Models } from "./models/models.ts";
import { createShutdown, type Shutdown } from "./models/shutdown.ts";

export interface AppDeps {
  readonly settings: Settings;
  readonly models: Models;
  /** What outlives a request; it may fail. Absent: memory. */
  readonly store?: Store;
  /** Absent: nothing tells the application that the process is about to end. */
  readonly shutdown?: Shutdown;
  /** Absent: this runtime has no WebSockets. */
  readonly webSockets?: SocketOptions;
  /** The address that is listened on. Absent: the runtime decides who can reach the gateway. */
  readonly host?: string;
  readonly log: Log;
  readonly now: () => Date;
  /** Letters and digits, unguessable. */
  readonly randomId: () => string;
}

/** OpenAI's clients are given `…/v1` as base URL, OpenRouter's `…/api/v1`. */
const API_PREFIXES = ["/v1", "/api/v1"];

/** The same Responses API with the event names of the Open Responses schema. */
const OPEN_RESPONSES_PREFIX = "/open-responses/v1";

/** Asked every few seconds by machines: not worth a line each. */
const WATCHED = new Set(["/health", "/ready", "/metrics"]);

/** For the log and the metrics; no client sees it. nginx's code for the same. */
const CLIENT_LEFT = 499;

/** Response headers a web page may read. */
const EXPOSED_HEADERS = [
  "x-request-id",
  "x-generation-id",
  "x-harmony-cot",
  "x-harmony-reasoning-effort",
  "retry-after",
];

export function createApp(deps: AppDeps): Hono<ApiEnv> {
  const { settings, log, shutdown = createShutdown() } = deps;
  const registry = createRegistry();
  const meters = createMeters(registry);
  registerBackendMetrics(deps.models, registry);
  const models = observeModels(shutdown.watch(deps.models), {
    meters,
    log,
    now: () => deps.now().getTime(),
    logContent: settings.logContent,
  });
  const watching = { log, meters, now: deps.now };
  const store = watchStore(deps.store ?? toMemoryStore(settings), settings, watching);
  const cipher = createCipher(settings, log);
  const reasoning = openReasoningStore(store, cipher, settings, watching);
  const app = new Hono<ApiEnv>();

  app.use(identify(deps.randomId), record({ log, meters, now: deps.now }));
  app.use(checkHost(settings, deps.host), webPages(settings));
  app.use(methodNotAllowed({ app, onMethodNotAllowed: (_, methods) => wrongMethod(methods) }));

  app.route("/", healthRoutes(models, toHealthOptions(settings, shutdown)));
  if (settings.metrics === "key") app.use("/metrics", authenticate(settings));
  if (settings.metrics !== "off") {
    app.get("/metrics", (c) => {
      return c.text(registry.toText(), 200, { "content-type": "text/plain; version=0.0.4" });
    });
  }

  const responsesContext = createResponsesContext({
    models,
    reasoning,
    cipher,
    store,
    ttlSeconds: settings.storeTtlSeconds,
    onCorrupt: reportCorrupt(watching),
    system: (now) => toSystemOptions(settings, now),
    limits: settings,
    maxBodyBytes: settings.maxBodyBytes,
    unsupported: { kinds: settings.unsupportedTools, media: settings.mediaInput },
    keepAliveMs: settings.keepAliveMs,
    clientIdleTimeoutMs: settings.clientIdleTimeoutMs,
    maxBackgroundOf: (tenant) => {
      const key = settings.keys.find(({ name }) => name === tenant);
      return key?.maxBackgroundPerKey ?? settings.maxBackgroundPerKey;
    },
    maxBackground: settings.maxBackground,
    shutdown,
    now: deps.now,
    randomId: deps.randomId,
    onSkippedTools: (id, kinds) => log.info("tools skipped", { id, kinds }),
    onRestored: (outcome) => meters.reasoningReturned.add({ outcome }),
  });
  for (const prefix of [...API_PREFIXES, OPEN_RESPONSES_PREFIX]) {
    app.use(`${prefix}/*`, authenticate(settings), limitBody(settings.maxBodyBytes));
  }
  app.route(
    OPEN_RESPONSES_PREFIX,
    responses({ ...responsesContext, reasoningEvents: "reasoning" }, deps.webSockets),
  );
  for (const prefix of API_PREFIXES) {
    app.route(prefix, responses(responsesContext, deps.webSockets));
    app.route(prefix, modelRoutes(models));
    app.route(
      prefix,
      chatCompletions({
        models,
        reasoning,
        system: (now) => toSystemOptions(settings, now),
        limits: settings,
        keepAliveMs: settings.keepAliveMs,
        clientIdleTimeoutMs: settings.clientIdleTimeoutMs,
        now: deps.now,
        randomId: deps.randomId,
      }),
    );
  }

  app.notFound(() => toErrorResponse(notFound()));
  app.onError((error, c) => {
    if (isLeaving(error, c.req.raw.signal)) return new Response(null, { status: CLIENT_LEFT });
    const { status } = describeError(error);
    if (status === 500)
      log.error("failure", { id: c.get("requestId"), ...describeFailure(error, settings) });
    const response = isResponsesPath(c.req.path)
      ? toResponsesErrorResponse(error)
      : toErrorResponse(error);
    if (status === 401) response.headers.set("www-authenticate", "Bearer");
    return response;
  });
  return app;
}

/**
 * Whether a request failed because its client left: its signal aborted, or, while the body was still arriving, Node's
 * error for a connection that closed. Nobody's mistake, and nobody is left to tell.
 */
function isLeaving(error: Error, signal: AbortSignal): boolean {
  if (signal.aborted && (error === signal.reason || error.name === "AbortError")) return true;
  return error.message === "aborted" && "code" in error && error.code === "ECONNRESET";
}

/** Whose errors have their own envelope. */
function isResponsesPath(path: string): boolean {
  return /\/v1\/(responses|conversations)(\/|$)/.test(path);
}

/** The request's id: the client's, if it is one that may stand in a log line and a header. */
function identify(randomId: () => string): MiddlewareHandler<ApiEnv> {
  return async (c, next) => {
    const sent = c.req.header("x-request-id") ?? "";
    const id = /^[\w.:-]{1,128}$/.test(sent) ? sent : `req_${randomId()}`;
    c.set("requestId", id);
    await next();
    // Not `c.header`, which makes the whole response anew: 20 µs of every request.
    c.res.headers.set("x-request-id", id);
  };
}

function record(deps: { log: Log; meters: Meters; now: () => Date }): MiddlewareHandler<ApiEnv> {
  return async (c, next) => {
    const started = deps.now().getTime();
    await next();
    const status = c.res.status;
    // The pattern, not the path: a path may hold anything. Where only middleware matched, there is none.
    const pattern = routePath(c, -1);
    const route = pattern.endsWith("*") ? "unknown" : pattern;
    deps.meters.requests.add({ route, status: String(status) });
    const isMinor = WATCHED.has(route) || status === CLIENT_LEFT;
    deps.log[isMinor ? "debug" : "info"]("request", {
      id: c.get("requestId"),
      method: c.req.method,
      route,
      status,
      ms: deps.now().getTime() - started,
      tenant: c.get("client")?.tenant,
    });
  };
}

/**
 * Whether the gateway is called by a name of this machine, where nobody needs a key because nobody else can reach it. A
 * web page can: when the name it was loaded from leads here all of a sudden, the browser takes the gateway for the page's
 * own server, and only `Host` still tells the name.
 */
function checkHost(settings: Settings, host: string | undefined): MiddlewareHandler<ApiEnv> {
  const { keys, open, allowedHosts } = settings;
  const guarded = host !== undefined && isLoopback(host) && keys.length === 0 && !open;
  if (!guarded) return (_, next) => next();
  return (c, next) => {
    const sent = c.req.header("host");
    if (sent === undefined || isLocalHost(sent) || allowedHosts.includes(withoutPort(sent))) {
      return next();
    }
    throw new RequestError(
      `The gateway does not answer to the name ${withoutPort(sent)}; the setting allowedHosts allows it.`,
      { status: 403, type: "permission_error", errorType: "permission_denied" },
    );
  };
}

/** An address, or a name that is this machine wherever it is resolved. */
function isLocalHost(host: string): boolean {
  const name = withoutPort(host);
  return /^(\d{1,3}(\.\d{1,3}){3}|\[[\da-f:.]+\]|([\w-]+\.)*localhost\.?)$/i.test(name);
}

function withoutPort(host: string): string {
  return host.replace(/:\d*$/, "").toLowerCase();
}

/**
 * Web pages of other origins. With a key they need one like anybody; without, any page a user opens
 * could use the gateway on that user's machine behind their back, so only local pages may.
 */
function webPages(settings: Settings): MiddlewareHandler<ApiEnv> {
  const guarded = settings.keys.length === 0 && !settings.open;
  const allowed = settings.corsOrigins ?? (guarded ? undefined : ["*"]);
  const isAllowed = (origin: string) =>
    allowed === undefined ? isLocal(origin) : allowed.includes("*") || allowed.includes(origin);
  // Without a list of headers the middleware allows those the page asks for: the SDKs send a family
  // of `x-stainless-*`, and OpenRouter's clients `http-referer`, `x-title` and others.
  const allow = cors({
    origin: (origin) => (isAllowed(origin) ? origin : null),
    exposeHeaders: EXPOSED_HEADERS,
    maxAge: 86_400,
  });
  return async (c, next) => {
    const origin = c.req.header("origin");
    if (origin === undefined) return next();
    if (guarded && !isAllowed(origin)) {
      throw new RequestError(
        `Web pages from ${origin} may not use this gateway; the setting corsOrigins allows them.`,
        { status: 403, type: "permission_error", errorType: "permission_denied" },
      );
    }
    return allow(c, next);
  };
}

function isLocal(origin: string): boolean {
  return /^https?:\/\/(localhost|127(\.\d+){3}|\[::1\])(:\d+)?$/.test(origin);
}

function limitBody(maxBytes: number): MiddlewareHandler<ApiEnv> {
  const refuse = () => {
    throw new RequestError(`The request body is larger than ${maxBytes} bytes.`, {
      status: 413,
      errorType: "payload_too_large",
    });
  };
  // Hono's touches the body stream even when the length is announced, which on Node makes reading slow.
  const limitUnannounced = bodyLimit({ maxSize: maxBytes, onError: refuse });
  return async (c, next) => {
    const length = c.req.header("content-length");
    if (length === undefined || c.req.header("transfer-encoding") !== undefined) {
      return limitUnannounced(c, next);
    }
    if (Number(length) > maxBytes) refuse();
    return next();
  };
}

function toHealthOptions(settings: Settings, { closing }: Shutdown) {
  return {
    showReasons: settings.keys.length === 0 && !settings.open,
    probeTimeoutMs: settings.connectTimeoutMs,
    closing,
  };
}

/** What the operator says about the system message. */
/** What the operator says about the system message, on a given day. */
export function toSystemOptions(settings: Settings, now: Date) {
  const { identity, knowledgeCutoff, date } = settings;
  return {
    identity,
    knowledgeCutoff,
    ...(date !== "none" && { date: date === "today" ? now.toISOString().slice(0, 10) : date }),
  };
}

function notFound(): RequestError {
  return new RequestError("There is nothing at this address. The API begins at /v1.", {
    status: 404,
    type: "not_found_error",
    errorType: "not_found",
  });
}

function wrongMethod(methods: readonly string[]): Response {
  const allow = methods.join(", ");
  const response = toErrorResponse(
    new RequestError(`This address answers to ${allow} only.`, { status: 405 }),
  );
  response.headers.set("allow", allow);
  return response;
}
