/**
 * Every setting of the gateway, in one schema. Flags, environment variables, `--help`, the table in
 * `docs/settings.md` and the list printed at start are all made from it, so adding a setting is adding
 * one line here and reading it where it is needed.
 *
 * Where values come from is not decided here: see `config/resolve.ts`, and `node/settings.ts` and
 * `worker.ts` for the two places that collect them.
 */
import * as z from "zod";
import { ENGINE_KINDS } from "../engines/create-engine.ts";
import { MAX_JSON_DEPTH } from "../harmony/json.ts";
import { DEFAULT_STEERING } from "../turn/steering.ts";
import { lazy } from "../lazy.ts";

/** The groups settings are listed in, in this order. */
export const SETTING_GROUPS = {
  listening: "Listening",
  engine: "Engine",
  harmony: "Harmony",
  steering: "Steering",
  reasoning: "Reasoning",
  api: "Responses and Messages APIs",
  store: "Store",
  access: "Access",
  limits: "Limits",
  log: "Log",
} as const;

export type SettingGroup = keyof typeof SETTING_GROUPS;

const bytes = () => z.int().min(1);
/** The longest a timer of Node can wait: it takes anything above for 1 ms. */
const MAX_TIMER_MS = 2_147_483_647;
const milliseconds = (least = 1) => z.int().min(least).max(MAX_TIMER_MS);
const count = () => z.int().min(1);
const url = () => z.url({ protocol: /^https?$/, error: "expected an http or https URL" });
const engineKind = () => z.enum(ENGINE_KINDS);
const reasoningPolicy = () => z.enum(["raw", "sealed", "none"]);
const reasoningEvents = () => z.enum(["reasoning_text", "reasoning"]);

/** One configured engine, in `backends`. */
const backend = lazy(() =>
  z.strictObject({
    name: z
      .string()
      .regex(/^[\w.-]{1,64}$/, "expected up to 64 letters, digits, dots, dashes or _")
      .optional(),
    engine: engineKind(),
    url: url().optional(),
    model: z.string().min(1).optional(),
    engineKey: z.string().min(1).optional(),
    servedName: z.string().min(1).optional(),
    aliases: z.array(z.string().min(1)).default([]),
    contextLength: count().optional(),
    maxConcurrent: count().optional(),
    tokenEndpoint: z.boolean().default(false),
    headers: z.record(z.string(), z.string()).optional(),
    extraBody: z.record(z.string(), z.unknown()).optional(),
  }),
);

/** One client key, in `keys`. The short form `name:hash` fits a flag or an environment variable. */
const clientKey = lazy(() =>
  z.preprocess(
    fromShortKey,
    z.strictObject({
      name: z
        .string()
        .regex(/^[\w.@][\w.@-]{0,63}$/, "expected up to 64 letters, digits, dots, dashes, _ or @"),
      sha256: z.string().regex(/^[0-9a-f]{64}$/, "expected a SHA-256 hash in 64 hex digits"),
      reasoningPolicy: reasoningPolicy().optional(),
      reasoningContentMirror: z.boolean().optional(),
      reasoningEvents: reasoningEvents().optional(),
      maxQueuedPerKey: z.int().min(0).optional(),
      maxConcurrentPerKey: count().optional(),
      maxBackgroundPerKey: count().optional(),
      maxSocketsPerKey: count().optional(),
      storeMaxBytesPerKey: bytes().optional(),
      storeMaxEntriesPerKey: count().optional(),
    }),
  ),
);

const sealingKey = lazy(() =>
  z
    .string()
    .regex(
      /^[\w-]{43}=?$/,
      "expected 32 random bytes in base64url, as `harmony-gateway key` prints",
    ),
);

/** What each member of {@link settingsSchema} is for. */
export const settingMetas = z.registry<SettingMeta>();

export const settingsSchema = z.lazy(() =>
  z.strictObject({
    host: setting("listening", z.string().min(1).default("127.0.0.1"), {
      description:
        "Address to listen on. Anything but this machine's loopback needs `keys`, or `open`.",
    }),
    port: setting("listening", z.int().min(0).max(65_535).default(8787), {
      description: "Port to listen on; 0 takes any free one.",
    }),
    shutdownGraceMs: setting("listening", milliseconds(0).default(30_000), {
      description:
        "After SIGINT or SIGTERM, how long in-flight requests and background responses may take. A second before the " +
        "end, what is left is stopped and told so; then connections are cut.",
    }),

    engine: setting("engine", engineKind().default("demo"), {
      description:
        "Kind of inference server. `demo` is built in and answers by rule, not by model.",
    }),
    url: setting("engine", url().optional(), {
      description:
        "Base URL of the inference server, for instance http://127.0.0.1:8000. Absent: where that kind " +
        "listens on this machine by default.",
    }),
    model: setting("engine", z.string().min(1).default("openai/gpt-oss-20b"), {
      description: "The model's name at the inference server.",
    }),
    engineKey: setting("engine", z.string().min(1).optional(), {
      description: "Key the gateway presents to the inference server.",
      secret: true,
    }),
    servedName: setting("engine", z.string().min(1).optional(), {
      description: "The model's name for clients. Absent: the same as `model`.",
    }),
    aliases: setting("engine", z.array(z.string().min(1)).default([]), {
      description: "Further names clients may use for it.",
    }),
    contextLength: setting("engine", count().optional(), {
      description: "Tokens of prompt and answer together. Absent: what the inference server says.",
    }),
    maxConcurrent: setting("engine", count().optional(), {
      description:
        "Requests the inference server gets at a time; more wait in the gateway (`maxQueued`). Absent: all, " +
        "and it queues them itself.",
    }),
    tokenEndpoint: setting("engine", z.boolean().default(false), {
      description:
        "vLLM only: use `/inference/v1/generate` where the server has it. It is still changing from " +
        "version to version.",
    }),
    backends: setting("engine", z.array(backend()).default([]), {
      description:
        "Several engines instead of the one above: a list of objects with `engine`, `url`, `model`, " +
        "`engineKey`, `servedName`, `aliases`, `contextLength`, `maxConcurrent`, `tokenEndpoint`, `name` (in logs " +
        "and metrics), and, sent with every request to it, `headers` and `extraBody`. Those with the same " +
        "`servedName` serve one model together. Best kept in the config file.",
      secret: true,
    }),
    healthIntervalMs: setting("engine", milliseconds().default(5_000), {
      description: "How often inference servers are asked whether they are well. Not on Workers.",
    }),
    breakerFailures: setting("engine", count().default(3), {
      description:
        "Failures to reach an inference server, in a row, after which it gets no requests for a while: a second, " +
        "then longer, up to 15. The last one left gets them all the same.",
    }),

    identity: setting(
      "harmony",
      z.string().default("You are ChatGPT, a large language model trained by OpenAI."),
      {
        description:
          "First line of the system message. The default is what gpt-oss was trained with.",
      },
    ),
    knowledgeCutoff: setting("harmony", z.string().default("2024-06"), {
      description: "The model's knowledge cutoff, as the system message says it.",
    }),
    date: setting("harmony", z.union([z.enum(["today", "none"]), z.iso.date()]).default("today"), {
      description: "The current date told to the model: the day in UTC, a fixed day, or nothing.",
      expected: "today, none or a day such as 2026-01-31",
    }),
    layout: setting("harmony", z.enum(["reference", "channel-first"]).default("reference"), {
      description:
        "Where the channel stands in the header of a tool call: as openai/harmony writes it, or first.",
    }),

    answerReserve: setting("steering", z.int().min(0).default(DEFAULT_STEERING.answerReserve), {
      description:
        "Tokens of a request's output limit that are kept for the answer: reasoning that reaches into " +
        "them is cut. 0: none.",
    }),
    repetitionGuard: setting("steering", z.boolean().default(DEFAULT_STEERING.repetitionGuard), {
      description: "Cut reasoning that has begun to repeat itself, and go on to the answer.",
    }),
    openMissingAnswer: setting(
      "steering",
      z.boolean().default(DEFAULT_STEERING.openMissingAnswer),
      {
        description: "When the model has stopped after its reasoning, have it go on to the answer.",
      },
    ),
    sampleMoreCalls: setting("steering", z.boolean().default(DEFAULT_STEERING.sampleMoreCalls), {
      description:
        "After a tool call, have the model go on to see whether it makes another. Costs a request to " +
        "the engine each time.",
    }),
    refuseUnofferedTools: setting(
      "steering",
      z.boolean().default(DEFAULT_STEERING.refuseUnofferedTools),
      {
        description:
          "Answer a call to a tool that was not offered with a hidden error, once, instead of passing it on.",
      },
    ),
    singleCallConstraint: setting(
      "steering",
      z.boolean().default(DEFAULT_STEERING.singleCallConstraint),
      {
        description:
          "Have the engine hold a whole turn to its demands in one call, where it can (structural tags of " +
          "vLLM and SGLang, token grammars of llama.cpp). Needs a recent server.",
      },
    ),
    allowHiddenMarkers: setting(
      "steering",
      z.boolean().default(DEFAULT_STEERING.allowHiddenMarkers),
      {
        description:
          "Take answers from a text engine that hides the control tokens, and tell thought from answer by the " +
          "words that are left. Off, they are refused with status 502.",
      },
    ),
    defaultMaxOutputTokens: setting(
      "steering",
      count().default(DEFAULT_STEERING.defaultMaxOutputTokens),
      { description: "Output limit where neither the request nor the context length sets one." },
    ),

    reasoningPolicy: setting("reasoning", reasoningPolicy().default("raw"), {
      description:
        "What clients get of the model's reasoning: its text, a sealed copy they can only send back, " +
        "or nothing. A key may have its own.",
    }),
    reasoningContentMirror: setting("reasoning", z.boolean().default(false), {
      description:
        "Repeat `reasoning` as `reasoning_content`, for clients that read only that. A key may have its own.",
    }),
    sealingKeys: setting("reasoning", z.array(sealingKey()).default([]), {
      description:
        "Keys that seal reasoning, newest first: the first seals, all open. Replicas share them.",
      secret: true,
    }),

    reasoningEvents: setting("reasoning", reasoningEvents().default("reasoning_text"), {
      description:
        "How the Responses API calls the events of reasoning: `response.reasoning_text.…`, as OpenAI's and most " +
        "clients do, or `response.reasoning.…`, as the Open Responses schema does. /open-responses/v1 and models " +
        "named with `:open-responses` always have the latter.",
    }),

    unsupportedTools: setting("api", z.enum(["skip", "refuse"]).default("skip"), {
      description:
        "Tools and input items of the Responses API, and server tools of the Messages API, that gpt-oss has no form " +
        "for, such as web_search: leave them out, or answer 400.",
    }),
    mediaInput: setting("api", z.enum(["refuse", "placeholder"]).optional(), {
      description:
        "Images and files in the Responses and Messages APIs: answer 400, or tell the model in their place that " +
        "there was one it cannot see. Absent: refuse in the Responses API, placeholder in the Messages API, whose " +
        "clients would repeat the image, and so the error, in every later request.",
    }),
    claudeAliases: setting(
      "api",
      z.array(z.string().regex(/^(?:[^=*]+\*?=)?[^=*]+$/)).default([]),
      {
        description:
          "Which models the Messages API takes for names it does not serve, for programs that ask for Claude: " +
          "`claude-haiku-*=openai/gpt-oss-20b`, or a model alone for every `claude-*`. The first that matches counts. " +
          "Such programs then believe in the context length of the model they asked for.",
        expected: "names of served models, each after `pattern=` or alone",
      },
    ),

    store: setting(
      "store",
      z
        .string()
        .regex(/^(memory|rediss?:\/\/.+|kv:\w+)$/)
        .default("memory"),
      {
        description:
          "Where reasoning and stored responses are kept: in this process, in Redis (redis://host:6379), " +
          "or, on Workers, in the KV namespace bound under a name (kv:STORE).",
        expected: "memory, a redis:// or rediss:// URL, or kv:BINDING",
        secret: true,
      },
    ),
    storeTtlSeconds: setting("store", count().default(86_400), {
      description: "How long an entry is kept.",
    }),
    storeTimeoutMs: setting("store", milliseconds().default(500), {
      description:
        "Longest wait for the store. After it, reasoning is taken for lost, and requests that depend on a " +
        "stored response or conversation are answered 503.",
    }),
    storeMaxEntries: setting("store", count().default(10_000), {
      description:
        "Most entries in the memory store. When it is full, the tenant with the most loses its oldest.",
    }),
    storeMaxBytes: setting("store", bytes().default(67_108_864), {
      description:
        "Most bytes in the memory store. When it is full, the tenant with the most loses its oldest.",
    }),
    storeMaxEntryBytes: setting("store", bytes().optional(), {
      description:
        "Largest stored response or conversation, in any store; what would be larger is refused with a 413 before " +
        "it is generated or added. Absent: an eighth of `storeMaxBytes`.",
    }),
    storeMaxEntriesPerKey: setting("store", count().optional(), {
      description:
        "Most entries of one key in the memory store, even where there is room; its oldest leave first. Absent: " +
        "no limit of its own.",
    }),
    storeMaxBytesPerKey: setting("store", bytes().optional(), {
      description:
        "Most bytes of one key in the memory store, even where there is room; its oldest entries leave first. " +
        "Absent: no limit of its own.",
    }),

    keys: setting("access", z.array(clientKey()).default([]), {
      description:
        "Who may use the gateway: `name:sha256` pairs, or objects with `name`, `sha256`, and, if they " +
        "differ for this key, `reasoningPolicy`, `reasoningContentMirror`, `reasoningEvents`, `maxQueuedPerKey`, " +
        "`maxConcurrentPerKey`, `maxBackgroundPerKey`, `maxSocketsPerKey`, `storeMaxBytesPerKey` and `storeMaxEntriesPerKey`. Make one with `harmony-gateway key`. None: no key is asked for.",
    }),
    open: setting("access", z.boolean().default(false), {
      description: "Serve without keys even where others can reach the gateway.",
    }),
    allowedHosts: setting("access", z.array(z.string().min(1)).default([]), {
      description:
        "Names the gateway may be called by, besides addresses, `localhost` and `*.localhost`, while it asks for no key " +
        "and listens on this machine only. It guards against web pages that have their own name lead here (DNS rebinding).",
    }),
    isolateCaches: setting("access", z.enum(["auto", "on", "off"]).default("auto"), {
      description:
        "Keep what the inference server remembers of prompts apart by key, so that the time of an answer tells nobody " +
        "what others have sent. A prompt that all keys share is then processed once for each. auto: with more than one key.",
    }),
    metrics: setting("access", z.enum(["key", "open", "off"]).default("key"), {
      description:
        "Who may read `/metrics`: whoever has a key (without `keys`, anybody), anybody, or nobody. They name models and " +
        "backends and count requests and tokens.",
    }),
    corsOrigins: setting("access", z.array(z.string().min(1)).optional(), {
      description:
        "Web pages that may call the gateway, by origin; `*` is any. Absent: any when `keys` or `open` " +
        "is set, otherwise only pages served from this machine.",
    }),

    maxBodyBytes: setting("limits", bytes().default(33_554_432), {
      description: "Largest request body.",
    }),
    maxMessages: setting("limits", count().default(10_000), {
      description: "Most messages or input items in a request.",
    }),
    maxParts: setting("limits", count().default(20_000), {
      description:
        "Most content parts, tool calls and other list entries in all messages or input items of a request together.",
    }),
    maxValues: setting("limits", count().default(250_000), {
      description: "Most JSON values in a request, whatever they are.",
    }),
    maxTools: setting("limits", count().default(512), {
      description: "Most tools in a request.",
    }),
    maxDepth: setting("limits", z.int().min(1).max(MAX_JSON_DEPTH).default(64), {
      description: "Deepest nesting of JSON in a request, schemas included.",
    }),
    maxQueued: setting("limits", z.int().min(0).default(256), {
      description:
        "Most requests for a model that wait for one of its inference servers, where these have " +
        "`maxConcurrent`. Further ones are answered 503 with Retry-After.",
    }),
    maxQueuedPerKey: setting("limits", z.int().min(0).optional(), {
      description:
        "Most of them that are of one key. Further ones are answered 429 with Retry-After. Absent: `maxQueued`, of " +
        "which others take their part when they need it. A key may have its own.",
    }),
    maxConcurrentPerKey: setting("limits", count().optional(), {
      description:
        "Most requests of one key that a model works on at a time, each of `n` choices counted; further ones wait. " +
        "Absent: all there is room for, and an equal share while others wait. A key may have its own.",
    }),
    maxBackgroundPerKey: setting("limits", count().default(32), {
      description:
        "Most responses that are made in the background at a time for one key, queued ones included. Further ones " +
        "are answered 429 with Retry-After. A key may have its own.",
    }),
    maxBackground: setting("limits", count().default(256), {
      description: "Most of them for all keys together. Further ones are answered 503.",
    }),
    maxSocketsPerKey: setting("limits", count().default(128), {
      description:
        "Most WebSockets that one key has open at a time. Further ones are refused with 429. A key may have its own.",
    }),
    queueTimeoutMs: setting("limits", milliseconds().default(60_000), {
      description: "Longest wait of a request for one of its inference servers; 503 after it.",
    }),
    connectTimeoutMs: setting("limits", milliseconds().default(10_000), {
      description: "Longest wait for a connection to the inference server.",
    }),
    firstTokenTimeoutMs: setting("limits", milliseconds().default(600_000), {
      description: "Longest wait for its first token, queueing and prompt processing included.",
    }),
    idleTimeoutMs: setting("limits", milliseconds().default(300_000), {
      description: "Longest silence between two of its tokens.",
    }),
    keepAliveMs: setting("limits", milliseconds().default(15_000), {
      description: "Silence towards a streaming client after which a comment is sent.",
    }),

    clientIdleTimeoutMs: setting("limits", milliseconds().default(60_000), {
      description:
        "How long a client may read nothing of what waits for it before its connection is cut and its turn stopped.",
    }),

    log: setting("log", z.enum(["silent", "error", "warn", "info", "debug"]).default("info"), {
      description: "What is logged; at `info`, a line for each request. Lines are JSON, on stderr.",
    }),
    logContent: setting("log", z.boolean().default(false), {
      description: "Log prompts, reasoning and answers too. For debugging only.",
    }),
  }),
);

export type Settings = z.output<typeof settingsSchema>;

export type SettingName = keyof Settings;

/** One configured engine, all its settings decided. */
export interface BackendSettings {
  /** Distinguishes it from the others of its model. */
  readonly name: string;
  readonly engine: Settings["engine"];
  /** Absent: the engine's usual one, if it has one. */
  readonly url: string | undefined;
  /** The name at the inference server. */
  readonly model: string;
  readonly engineKey: string | undefined;
  /** The name for clients. */
  readonly servedName: string;
  readonly aliases: readonly string[];
  readonly contextLength: number | undefined;
  readonly maxConcurrent: number | undefined;
  readonly tokenEndpoint: boolean;
  /** Further headers for every request to it. */
  readonly headers: Readonly<Record<string, string>> | undefined;
  /** Further fields for every completion, in the server's own words. */
  readonly extraBody: Readonly<Record<string, unknown>> | undefined;
}

/** The engines to serve: those of `backends`, or the one the single settings describe. */
export function toBackends(settings: Settings): readonly BackendSettings[] {
  const given: readonly z.output<ReturnType<typeof backend>>[] =
    settings.backends.length > 0 ? settings.backends : [settings];
  const seen = new Map<string, number>();
  return given.map((each) => {
    const model = each.model ?? settings.model;
    const servedName = each.servedName ?? model;
    const kind = `${each.engine} for ${servedName}`;
    const before = seen.get(kind) ?? 0;
    seen.set(kind, before + 1);
    return {
      name: each.name ?? (before === 0 ? each.engine : `${each.engine}-${before + 1}`),
      engine: each.engine,
      url: each.url,
      model,
      engineKey: each.engineKey,
      servedName,
      aliases: each.aliases,
      contextLength: each.contextLength,
      maxConcurrent: each.maxConcurrent,
      tokenEndpoint: each.tokenEndpoint,
      headers: each.headers,
      extraBody: each.extraBody,
    };
  });
}

/** What a setting is, besides its schema. */
export interface SettingMeta {
  readonly group: SettingGroup;
  /** A sentence or two an operator can decide from. */
  readonly description: string;
  /** Its value never appears in output. */
  readonly secret?: true;
  /** What a value looks like, where the schema does not say it well. */
  readonly expected?: string;
}

function setting<S extends z.ZodType>(
  group: SettingGroup,
  schema: S,
  meta: Omit<SettingMeta, "group">,
): S {
  settingMetas.add(schema, { group, ...meta });
  return schema;
}

function fromShortKey(value: unknown): unknown {
  if (typeof value !== "string") return value;
  const colon = value.lastIndexOf(":");
  return { name: value.slice(0, Math.max(colon, 0)), sha256: value.slice(colon + 1) };
}
