/**
 * The gateway inside another program: settings in, a `fetch` handler out. Also the assembly that the Worker and the Node
 * server share: models by the settings, and the application over them.
 */
import type { Hono } from "hono";
import type * as z from "zod";
import type { ApiEnv } from "./api/request/client.ts";
import { type AppDeps, createApp } from "./app.ts";
import { DEFAULT_MODEL } from "./config/backends.ts";
import { describedSettings } from "./config/describe.ts";
import { leaveOutNodeOnly } from "./config/node-only.ts";
import { toPresets } from "./config/presets.ts";
import { resolveSettings, SettingsError } from "./config/resolve.ts";
import { suggest } from "./config/suggest.ts";
import type { SettingInput } from "./config/setting-input.ts";
import type { SettingName, Settings, settingsSchema } from "./config/settings.ts";
import type { ConfiguredKind } from "./engines/create-engine.ts";
import type { Engine } from "./engines/engine.ts";
import { isObject } from "./engines/untyped-json.ts";
import { createFetchTransport } from "./engines/fetch-transport.ts";
import { type BackendDeps, toModelOptions } from "./models/backends.ts";
import { createModels, type ModelOptions, type Models, type ModelStatus } from "./models/models.ts";
import { createProbing } from "./models/probing.ts";
import { createShutdown } from "./models/shutdown.ts";
import type { Store } from "./store/store.ts";
import { createPause } from "./streams/slices.ts";
import { sleep } from "./streams/timers.ts";
import { createLog, createLogWith, type Log, type LogEntry } from "./telemetry/log.ts";
import type { Toolbox } from "./tools/toolbox.ts";
import { createCacheSalts } from "./turn/prompt/cache-salt.ts";

type SettingOptions = Omit<
  Partial<z.input<typeof settingsSchema>>,
  "engine" | "store" | "log" | "host" | "port"
>;

/** Every setting under its own name, and what only a program can give. */
export interface GatewayOptions extends SettingOptions {
  /** A kind of inference server, or an engine of your own. Default: found at `url`; without it, the built-in demo. */
  readonly engine?: ConfiguredKind | Engine;
  /** Default: in memory. */
  readonly store?: Store;
  /** Tools that the gateway runs for the model. Default: none. */
  readonly tools?: Toolbox;
  /** The least severe level, written to the console as JSON lines, or a function for each entry. Default: `warn`. */
  readonly log?: Settings["log"] | ((entry: LogEntry) => void);
  /** Where your server mounts the gateway, if it leaves the path in the request's URL: `/api/llm`. */
  readonly basePath?: string;
  /** Serve the pages `/` and `/api` too. Default: false. */
  readonly pages?: boolean;
  /** For requests to the inference server. Default: the runtime's own. */
  readonly fetch?: typeof fetch;
}

/** The part of a Worker's execution context that is used. */
export interface ExecutionContext {
  waitUntil(promise: Promise<unknown>): void;
}

export interface EmbeddedGateway {
  /** Answers a request. Bound: it can be handed on alone. Runtimes may pass more arguments, as Workers do. */
  readonly fetch: (request: Request, env?: unknown, context?: unknown) => Promise<Response>;
  /** Probes each model's engine. Optional: the first request does it as well. */
  readonly ready: (signal?: AbortSignal) => Promise<readonly ModelStatus[]>;
  /** Refuses new requests, waits for answers for at most `shutdownGraceMs`, then stops the rest. */
  readonly close: () => Promise<void>;
  readonly models: Models;
}

/**
 * Sends nothing before the first request.
 *
 * @throws SettingsError whose sentences name each option that is wrong
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
  const gateway = assemble(settings, {
    transport: createFetchTransport(fetchFn),
    ...(!isKind && { models: [toModel(engine, settings)] }),
    ...(store !== undefined && { store }),
    ...(tools !== undefined && { toolbox: tools }),
    log: entries,
    pages,
  });
  const { models, shutdown } = gateway;
  const probe = createProbing(models, settings.connectTimeoutMs);
  return {
    models,
    async fetch(request, env, context) {
      const probing = probe();
      const waits = isContext(context);
      if (waits) context.waitUntil(probing);
      const bindings = waits
        ? { waitUntil: (work: Promise<unknown>) => context.waitUntil(work) }
        : undefined;
      return gateway.app.fetch(
        withoutPrefix(request, prefix),
        isObject(env) ? env : {},
        bindings && { ...bindings, passThroughOnException() {}, props: {} },
      );
    },
    ready(signal) {
      const within = signal ?? AbortSignal.timeout(settings.connectTimeoutMs);
      return Promise.all(models.all.map((model) => model.probe(within)));
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

export interface AssemblyDeps
  extends
    Omit<AppDeps, "settings" | "models" | "now" | "randomId" | "inspector" | "transport">,
    Omit<BackendDeps, "settings"> {
  /** Replaces the configured engines. */
  readonly models?: readonly ModelOptions[] | undefined;
  /** Wraps the models, to watch their turns. */
  readonly watchModels?: (models: Models) => Models;
  readonly inspector?: (models: Models) => Hono<ApiEnv> | undefined;
  readonly randomId?: () => string;
}

/** The models that the settings describe, and the application over them. */
export function assemble(settings: Settings, deps: AssemblyDeps) {
  const { pause = createPause(), shutdown = createShutdown(), randomId = newRandomId } = deps;
  const { watchModels = (inner) => inner } = deps;
  const created = createModels(deps.models ?? toModelOptions(settings, deps), {
    steering: settings,
    newCallId: () => `call_${randomId()}`,
    pause,
    cacheSalts: createCacheSalts(settings),
    presets: toPresets(settings),
  });
  const models = watchModels(created);
  const inspector = deps.inspector?.(models);
  const app = createApp({
    ...deps,
    inspector,
    settings,
    models,
    pause,
    shutdown,
    now: Date.now,
    randomId,
  });
  return { app, models, shutdown };
}

/** Options that are no settings. */
const OWN_OPTIONS = ["engine", "store", "tools", "log", "basePath", "pages", "fetch"] as const;
/** Settings of a listener, which the program has itself. */
const LISTENING = new Set(["host", "port", "reusePort", "metricsPort"]);

function toInputs(options: GatewayOptions): SettingInput[] {
  const names = describedSettings().map(({ name }) => name);
  const known: readonly string[] = [
    ...OWN_OPTIONS,
    ...names.filter((name) => !LISTENING.has(name)),
  ];
  const problems = Object.keys(options)
    .filter((name) => !known.includes(name))
    .map((name) => `createGateway: there is no option ${name}.${suggest(name, known)}`);
  if (problems.length > 0) throw new SettingsError(problems);
  return names.flatMap((name) => {
    const value = valueOf(options, name);
    return value === undefined ? [] : { name, value, source: `createGateway: ${name}` };
  });
}

/** The value of a setting, undefined where the option holds an object in its place. */
function valueOf(options: GatewayOptions, name: SettingName): unknown {
  const { engine, log = "warn" } = options;
  if (name === "engine") return typeof engine === "object" ? undefined : engine;
  if (name === "log") return typeof log === "function" ? "info" : log;
  if (name === "store" || LISTENING.has(name)) return undefined;
  return Object.entries(options).find(([option]) => option === name)?.[1];
}

function toModel(engine: Engine, { model, servedName, aliases, layout }: Settings): ModelOptions {
  return { id: servedName ?? model ?? DEFAULT_MODEL, aliases, engine, layout };
}

function openLog(level: Settings["log"], log: GatewayOptions["log"]): Log {
  if (typeof log === "function") return createLogWith(level, log);
  return createLog({ level, now: Date.now, write: (line) => console.log(line) });
}

/** Without a slash at its end. */
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

export function newRandomId(): string {
  return crypto.randomUUID().replaceAll("-", "");
}

function isContext(value: unknown): value is ExecutionContext {
  return isObject(value) && typeof value["waitUntil"] === "function";
}
