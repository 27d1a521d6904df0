/**
 * The gateway inside another program: settings in, a `fetch` handler out. Also the assembly shared by the Worker and the Node
 * server: models from the settings, and the application with them.
 */
import type { Hono } from "hono";
import { RequestError } from "./api/errors.ts";
import type { ApiEnv } from "./api/request/client.ts";
import { type AppDeps, prepareApp } from "./app.ts";
import { DEFAULT_MODEL, toBackends } from "./config/backends.ts";
import { leaveOutNodeOnly } from "./config/node-only.ts";
import { type SettingOptions, toOptionInputs } from "./config/option-inputs.ts";
import { toPresets } from "./config/presets.ts";
import { resolveSettings, SettingsError } from "./config/resolve.ts";
import type { SettingInput } from "./config/setting-input.ts";
import type { Settings } from "./config/settings.ts";
import type { ConfiguredKind } from "./engines/create-engine.ts";
import type { Engine } from "./engines/engine.ts";
import { isObject } from "./engines/untyped-json.ts";
import { createFetchTransport } from "./engines/fetch-transport.ts";
import { ProcessState } from "./lazy.ts";
import { type BackendDeps, toModelOptions } from "./models/backends.ts";
import { createModelFinder, type ModelFinder } from "./models/find-models.ts";
import { createModels, type ModelOptions, type Models, type ModelStatus } from "./models/models.ts";
import { createProbing } from "./models/probing.ts";
import { createShutdown } from "./models/shutdown.ts";
import { toMemoryStore } from "./store/reasoning.ts";
import type { Store } from "./store/store.ts";
import { createPause } from "./streams/slices.ts";
import { sleep } from "./streams/timers.ts";
import { createRegistry } from "./telemetry/metrics.ts";
import { createLog, createLogWith, type Log, type LogEntry } from "./telemetry/log.ts";
import { reportStatus } from "./telemetry/report-status.ts";
import type { Toolbox } from "./tools/toolbox.ts";
import { createCacheSalts } from "./turn/prompt/cache-salt.ts";

/** Every setting under its own name, and options that only a program can pass. */
export interface GatewayOptions extends Omit<
  SettingOptions,
  "engine" | "store" | "log" | "host" | "port"
> {
  /** A kind of inference server, or a custom engine. Default: detected at `url`; without it, the built-in demo. */
  readonly engine?: ConfiguredKind | Engine;
  /** State kept between requests. Default: in memory. */
  readonly store?: Store;
  /** Tools that the gateway runs for the model. Default: none. */
  readonly tools?: Toolbox;
  /** The least severe level, written to the console as JSON lines, or a function for each entry. Default: `warn`. */
  readonly log?: Settings["log"] | ((entry: LogEntry) => void);
  /** Path at which your server mounts the gateway, if it leaves the path in the request's URL: `/api/llm`. */
  readonly basePath?: string;
  /** Serve the pages `/` and `/api` too. Default: false. */
  readonly pages?: boolean;
  /** The `fetch` for requests to the inference server. Default: the runtime's own. */
  readonly fetch?: typeof fetch;
}

/** The members of a Worker's execution context that are used. */
export interface ExecutionContext {
  waitUntil(promise: Promise<unknown>): void;
}

export interface EmbeddedGateway {
  /** Answers a request. The function is bound, and can be passed on alone. Runtimes may pass more arguments, as Workers do. */
  readonly fetch: (request: Request, env?: unknown, context?: unknown) => Promise<Response>;
  /** Probes each model's engine. Optional: the first request does so as well. */
  readonly ready: (signal?: AbortSignal) => Promise<readonly ModelStatus[]>;
  /** Refuses new requests, waits for answers for at most `shutdownGraceMs`, then stops the rest. */
  readonly close: () => Promise<void>;
  /** The served models. If the options name none, the first request, or `ready`, queries the servers. */
  readonly models: Models;
}

/**
 * Creates the gateway without a request to a server.
 *
 * @throws SettingsError whose sentences name each invalid option
 *
 * @example
 * ```ts
 * import { createGateway } from "harmony-gateway";
 *
 * const gateway = createGateway({ engine: "demo" });
 * const response = await gateway.fetch(new Request("http://localhost/v1/models"));
 * response.status; // => 200
 * ```
 */
export function createGateway(options: GatewayOptions = {}): EmbeddedGateway {
  const { engine, store, tools, log, basePath = "", pages = false, fetch: fetchFn } = options;
  const { inputs, warnings } = leaveOutNodeOnly(toInputs(options));
  const settings = resolveSettings(inputs, { public: false });
  const entries = openLog(settings.log, log);
  for (const message of warnings) entries.warn("warning", { message });
  const prefix = toPrefix(basePath);
  const isKind = engine === undefined || typeof engine === "string";
  const transport = createFetchTransport(fetchFn);
  const shutdown = createShutdown();
  const served = new FoundGateway(settings, isKind ? createModelFinder(transport) : undefined, {
    transport,
    ...(!isKind && { models: [toModel(engine, settings)] }),
    store: store ?? toMemoryStore(settings),
    ...(tools !== undefined && { toolbox: tools }),
    log: entries,
    pages,
    shutdown,
    registry: createRegistry(),
    state: new ProcessState(),
  });
  return {
    get models() {
      return served.models;
    },
    async fetch(request, env, context) {
      const readable = request.bodyUsed ? withReadError(request) : request;
      await served.find();
      const probing = served.probe();
      const waits = isContext(context);
      if (waits) context.waitUntil(probing);
      const bindings = waits
        ? { waitUntil: (work: Promise<unknown>) => context.waitUntil(work) }
        : undefined;
      return served.app.fetch(
        withoutPrefix(readable, prefix),
        isObject(env) ? env : {},
        bindings && { ...bindings, passThroughOnException() {}, props: {} },
      );
    },
    async ready(signal) {
      await served.find(true);
      const within = signal ?? AbortSignal.timeout(settings.connectTimeoutMs);
      return Promise.all(served.models.all.map((model) => model.probe(within)));
    },
    async close() {
      shutdown.begin();
      const end = performance.now() + settings.shutdownGraceMs;
      while (shutdown.inFlight() > 0 && performance.now() < end) await sleep(CLOSE_POLL_MS);
      shutdown.stop();
      await shutdown.idle();
    },
  };
}

const CLOSE_POLL_MS = 20;

/** Maximum delay of a request by an unresponsive server, and the time before the next query. */
const FIND_TIMEOUT_MS = 2_000;
const FIND_AGAIN_MS = 5_000;

/** The assembly for settings that may name no model: it is replaced when servers have listed their models. */
class FoundGateway {
  readonly #settings: Settings;
  readonly #finder: ModelFinder | undefined;
  readonly #deps: AssemblyDeps;
  #current: ReturnType<typeof assemble>;
  #probe: () => Promise<void>;
  #isComplete: boolean;
  #finding: Promise<void> | undefined;
  #nextAt = -Infinity;
  /** The backends that were found last, as JSON. */
  #backends = "";

  /** @param finder undefined: the caller passes the models. */
  constructor(settings: Settings, finder: ModelFinder | undefined, deps: AssemblyDeps) {
    this.#settings = settings;
    this.#finder = finder;
    this.#deps = deps;
    this.#isComplete =
      finder === undefined || toBackends(settings).every((each) => !each.findsModel);
    this.#current = assemble(settings, deps);
    this.#current.enforce();
    this.#probe = this.#probing();
  }

  get app() {
    return this.#current.app;
  }

  get models(): Models {
    return this.#current.models;
  }

  probe(): Promise<void> {
    return this.#probe();
  }

  /**
   * Queries servers for their models, if settings name none. Concurrent callers share one search. Never rejects.
   *
   * @param isWanted whether to query servers again shortly after the last query.
   */
  find(isWanted = false): Promise<void> | undefined {
    const isTooEarly = !isWanted && performance.now() < this.#nextAt;
    if (this.#isComplete || isTooEarly || this.#finding !== undefined) return this.#finding;
    this.#nextAt = performance.now() + FIND_AGAIN_MS;
    return (this.#finding = this.#findNow().finally(() => (this.#finding = undefined)));
  }

  async #findNow(): Promise<void> {
    const found = await this.#finder?.find(this.#settings, AbortSignal.timeout(FIND_TIMEOUT_MS));
    if (found === undefined || found.settings === this.#settings) return;
    this.#isComplete = found.isComplete;
    const backends = JSON.stringify(found.settings.backends);
    if (backends === this.#backends) return;
    this.#backends = backends;
    this.#current = assemble(found.settings, this.#deps);
    this.#current.enforce();
    this.#probe = this.#probing();
  }

  #probing(): () => Promise<void> {
    const { log } = this.#deps;
    return createProbing(this.#current.models, {
      timeoutMs: this.#settings.connectTimeoutMs,
      onStatus: (model, status) => reportStatus(model, status, log),
    });
  }
}

export interface AssemblyDeps
  extends
    Omit<AppDeps, "settings" | "models" | "now" | "randomId" | "inspector" | "transport">,
    Partial<Pick<AppDeps, "now" | "randomId">>,
    Omit<BackendDeps, "settings"> {
  /** Replaces the configured engines. */
  readonly models?: readonly ModelOptions[] | undefined;
  /** Wraps the models, to observe their turns. */
  readonly watchModels?: (models: Models) => Models;
  readonly inspector?: (models: Models) => Hono<ApiEnv> | undefined;
}

/** The models of the settings, and the application with them. */
export function assemble(settings: Settings, deps: AssemblyDeps) {
  const { pause = createPause(), shutdown = createShutdown(), randomId = newRandomId } = deps;
  const { watchModels = (inner) => inner, now = Date.now } = deps;
  const options = deps.models ?? toModelOptions(settings, deps);
  const created = createModels(options, {
    steering: settings,
    newCallId: () => `call_${randomId()}`,
    pause,
    cacheSalts: createCacheSalts(settings),
    presets: toPresets(settings),
  });
  const models = watchModels(created);
  const inspector = deps.inspector?.(models);
  const prepared = prepareApp({
    ...deps,
    inspector,
    settings,
    models,
    pause,
    shutdown,
    now,
    randomId,
  });
  return {
    app: prepared.app,
    models,
    shutdown,
    /** Applies the settings of this assembly, once it receives the requests. */
    enforce: () => {
      for (const { engine } of options) if ("enforce" in engine) engine.enforce();
      prepared.enforce();
    },
  };
}

/** Options that are not settings, or accept more values than a setting. */
const OWN_OPTIONS = ["engine", "store", "tools", "log", "basePath", "pages", "fetch"];
function toInputs(options: GatewayOptions): SettingInput[] {
  const { engine, log = "warn" } = options;
  return toOptionInputs(options, {
    caller: "createGateway",
    own: OWN_OPTIONS,
    isEmbedded: true,
    values: {
      engine: typeof engine === "object" ? undefined : engine,
      log: typeof log === "function" ? "info" : log,
    },
  });
}

/** The model of a program's custom engine. */
export function toModel(
  engine: Engine,
  { model, servedName, aliases, layout }: Settings,
): ModelOptions {
  return { id: servedName ?? model ?? DEFAULT_MODEL, aliases, engine, layout };
}

function openLog(level: Settings["log"], log: GatewayOptions["log"]): Log {
  if (typeof log === "function") return createLogWith(level, log);
  return createLog({ level, now: Date.now, write: (line) => console.log(line) });
}

/** The path without a slash at its end. */
function toPrefix(basePath: string): string {
  if (basePath === "") return "";
  if (basePath.startsWith("/")) return basePath.replace(/\/+$/, "");
  throw new SettingsError([
    `createGateway: basePath: expected a path that begins with /, got ${JSON.stringify(basePath)}.`,
  ]);
}

function withoutPrefix(request: Request, prefix: string): Request {
  if (prefix === "") return request;
  const url = new URL(request.url);
  if (url.pathname !== prefix && !url.pathname.startsWith(`${prefix}/`)) return request;
  url.pathname = url.pathname.slice(prefix.length) || "/";
  return new Request(url, request);
}

/** A request whose body was already read: the API answers with its own error envelope, once it reads the body. */
function withReadError({ url, method, headers }: Request): Request {
  const body = new ReadableStream({
    pull(controller) {
      const message =
        "Something in front of the gateway has read the request's body. Mount the gateway before express.json() and whatever else parses bodies.";
      controller.error(new RequestError(message));
    },
  });
  // Node requires `duplex`, which the types of `fetch` lack.
  const init = { method, headers, body, duplex: "half" as const };
  return new Request(url, init);
}

export function newRandomId(): string {
  return crypto.randomUUID().replaceAll("-", "");
}

function isContext(value: unknown): value is ExecutionContext {
  return isObject(value) && typeof value["waitUntil"] === "function";
}
