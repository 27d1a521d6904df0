/**
 * Every setting of the gateway, in one schema. Flags, environment variables, `--help`, the table in
 * `docs/settings.md` and the list printed at start are all generated from it. To add a setting, add one line
 * here (in `tool-settings.ts` or `limit-settings.ts` for these groups) and read it where it is needed.
 *
 * `node/settings.ts` and `worker.ts` collect the values, `config/resolve.ts` merges and checks them.
 */
import * as z from "zod";
import { DEFAULT_STEERING } from "../turn/steering.ts";
import { lazy } from "../lazy.ts";
import { backendEntry, engineKind } from "./backend-entry.ts";
import { clientKey, reasoningEvents, reasoningPolicy } from "./client-key.ts";
import { inspectSettings } from "./inspect-settings.ts";
import { limitSettings } from "./limit-settings.ts";
import { bytes, count, milliseconds, setting, url } from "./setting.ts";
import { toolSettings } from "./tool-settings.ts";

const sealingKey = lazy(() =>
  z
    .string()
    .regex(
      /^[\w-]{43}=?$/,
      "expected 32 random bytes in base64url, as `harmony-gateway key --sealing` prints",
    ),
);

export const settingsSchema = z.lazy(() =>
  z.strictObject({
    host: setting("listening", z.string().min(1).default("127.0.0.1"), {
      description:
        "Address to listen on. Any address other than loopback requires `keys` or `open`.",
    }),
    port: setting("listening", z.int().min(0).max(65_535).default(8787), {
      description: "Port to listen on. 0: any free port.",
    }),
    shutdownGraceMs: setting("listening", milliseconds(0).default(30_000), {
      description:
        "After SIGINT or SIGTERM, how long in-flight requests and background responses may continue. One second before " +
        "the end, the rest is stopped with an error; then connections are closed.",
    }),

    engine: setting("engine", engineKind().default("demo"), {
      description:
        "Kind of inference server. `auto` asks the server at `url`, and takes a GGUF file as `model` for `llama`. `demo` is " +
        "built in and answers by fixed rules, without a model. When `url` or `model` is set, the default is auto.",
    }),
    url: setting("engine", url().optional(), {
      description:
        "Base URL of the inference server, for instance http://127.0.0.1:8000. Absent: the default address of " +
        "that kind on this machine.",
    }),
    model: setting("engine", z.string().min(1).default("openai/gpt-oss-20b"), {
      description:
        "The model's name at the inference server, or a GGUF file to run in this process: its path, `hf:user/repository/file.gguf` " +
        "or a URL.",
    }),
    engineKey: setting("engine", z.string().min(1).optional(), {
      description: "API key the gateway sends to the inference server.",
      secret: true,
    }),
    servedName: setting("engine", z.string().min(1).optional(), {
      description:
        "The model's name for clients. Absent: the same as `model`, or the name that a GGUF file stands for.",
    }),
    aliases: setting("engine", z.array(z.string().min(1)).default([]), {
      description: "Additional names clients may use for the model.",
    }),
    contextLength: setting("engine", count().optional(), {
      description:
        "Tokens of prompt and answer together. Absent: as reported by the inference server.",
    }),
    maxConcurrent: setting("engine", count().optional(), {
      description:
        "Maximum concurrent requests to the inference server; further ones wait in the gateway (`maxQueued`). Absent: " +
        "no limit, the server queues them itself.",
    }),
    tokenEndpoint: setting("engine", z.boolean().default(false), {
      description:
        "vLLM only: use `/inference/v1/generate` where the server has it. That endpoint still changes between " +
        "versions.",
    }),
    backends: setting("engine", z.array(backendEntry()).default([]), {
      description:
        "Several engines instead of the one above: a list of objects with `engine`, `url`, `model`, " +
        "`engineKey`, `servedName`, `aliases`, `contextLength`, `maxConcurrent`, `tokenEndpoint`, `name` (in logs " +
        "and metrics), and, sent with every request to it, `headers` and `extraBody`. Those with the same " +
        "`servedName` serve one model together. Preferably set in the config file.",
      secret: true,
    }),
    healthIntervalMs: setting("engine", milliseconds().default(5_000), {
      description: "Interval of health checks of the inference servers. Not on Workers.",
    }),
    breakerFailures: setting("engine", count().default(3), {
      description:
        "Consecutive failures to reach an inference server after which it gets no requests for a while: one second, " +
        "then longer, up to 15. The last server left still gets requests.",
    }),

    identity: setting(
      "harmony",
      z.string().default("You are ChatGPT, a large language model trained by OpenAI."),
      {
        description: "First line of the system message. gpt-oss was trained with the default.",
      },
    ),
    knowledgeCutoff: setting("harmony", z.string().default("2024-06"), {
      description: "The model's knowledge cutoff, as given in the system message.",
    }),
    date: setting("harmony", z.union([z.enum(["today", "none"]), z.iso.date()]).default("today"), {
      description:
        "The current date in the system message: the day in UTC, a fixed day, or no date.",
      expected: "today, none or a day such as 2026-01-31",
    }),
    layout: setting("harmony", z.enum(["reference", "channel-first"]).default("reference"), {
      description:
        "Position of the channel in the header of a tool call: as openai/harmony writes it, or first.",
    }),

    answerReserve: setting("steering", z.int().min(0).default(DEFAULT_STEERING.answerReserve), {
      description:
        "Tokens of a request's output limit that are reserved for the answer: reasoning is cut before it uses " +
        "them. 0: none.",
    }),
    repetitionGuard: setting("steering", z.boolean().default(DEFAULT_STEERING.repetitionGuard), {
      description: "Cut reasoning that repeats itself, and continue with the answer.",
    }),
    openMissingAnswer: setting(
      "steering",
      z.boolean().default(DEFAULT_STEERING.openMissingAnswer),
      {
        description: "When the model stops after its reasoning, have it continue with the answer.",
      },
    ),
    sampleMoreCalls: setting("steering", z.boolean().default(DEFAULT_STEERING.sampleMoreCalls), {
      description:
        "After a tool call, let the model continue, in case it makes another call. Costs one engine request per " +
        "call.",
    }),
    refuseUnofferedTools: setting(
      "steering",
      z.boolean().default(DEFAULT_STEERING.refuseUnofferedTools),
      {
        description:
          "When the model calls a tool that was not offered, answer with an error that only the model sees, once, instead of passing the call on.",
      },
    ),
    singleCallConstraint: setting(
      "steering",
      z.boolean().default(DEFAULT_STEERING.singleCallConstraint),
      {
        description:
          "Enforce all constraints of a turn in one engine call, where the engine can (structural tags of vLLM and " +
          "SGLang, token grammars of llama.cpp). Needs a recent server.",
      },
    ),
    allowHiddenMarkers: setting(
      "steering",
      z.boolean().default(DEFAULT_STEERING.allowHiddenMarkers),
      {
        description:
          "Accept answers from a text engine that hides the control tokens, and tell reasoning from answer by the " +
          "remaining words. Off: refused with status 502.",
      },
    ),
    defaultMaxOutputTokens: setting(
      "steering",
      count().default(DEFAULT_STEERING.defaultMaxOutputTokens),
      { description: "Output limit when neither the request nor the context length sets one." },
    ),

    reasoningPolicy: setting("reasoning", reasoningPolicy().default("raw"), {
      description:
        "How clients receive the model's reasoning: as text, encrypted, to be sent back only, " +
        "as a summary only (needs `reasoningSummaries`; not in the Messages API), or not at all. A key may have its own value.",
    }),
    reasoningSummaries: setting("reasoning", z.boolean().default(false), {
      description:
        "Make summaries of the reasoning for requests that ask for them (`reasoning.summary`; not in the Messages API), and for " +
        "keys with the policy `summary`. Each costs a small completion of the model, and clients such as Codex ask by default.",
    }),
    reasoningSummaryWaitMs: setting("reasoning", milliseconds().default(5_000), {
      description:
        "Longest wait for a summary. What follows the reasoning is held back meanwhile; after it, there is no summary.",
    }),
    reasoningContentMirror: setting("reasoning", z.boolean().default(false), {
      description:
        "Repeat `reasoning` as `reasoning_content`, for clients that read only that. A key may have its own value.",
    }),
    sealingKeys: setting("reasoning", z.array(sealingKey()).default([]), {
      description:
        "Keys for sealed reasoning, newest first: the first one encrypts, all decrypt. Replicas must share them.",
      secret: true,
    }),

    reasoningEvents: setting("reasoning", reasoningEvents().default("reasoning_text"), {
      description:
        "Names of the reasoning events of the Responses API: `response.reasoning_text.…`, which OpenAI's and most other " +
        "clients read, or `response.reasoning.…`, as in the Open Responses schema. /open-responses/v1 and models " +
        "named with `:open-responses` always use the latter.",
    }),

    unsupportedTools: setting("api", z.enum(["skip", "refuse"]).default("skip"), {
      description:
        "Tools and input items of the Responses API, and server tools of the Messages API, that gpt-oss does not " +
        "support, such as web_search: leave them out, or answer 400.",
    }),
    toolNamespaces: setting("api", z.enum(["own", "flat"]).default("own"), {
      description:
        "How the model is shown tools with a namespace, such as those of MCP servers: each namespace as one of its own, " +
        "or all of them as functions named `namespace__tool`. Calls are read in either spelling.",
    }),
    mediaInput: setting("api", z.enum(["refuse", "placeholder"]).optional(), {
      description:
        "Images and files in the Responses and Messages APIs: answer 400, or replace each by a note that the model cannot " +
        "see it. Absent: refuse in the Responses API, placeholder in the Messages API, whose clients would repeat " +
        "the image, and so the error, in every later request.",
    }),
    claudeAliases: setting(
      "api",
      z.array(z.string().regex(/^(?:[^=*]+\*?=)?[^=*]+$/)).default([]),
      {
        description:
          "Which models the Messages API uses for names it does not serve, for programs that ask for Claude: " +
          "`claude-haiku-*=openai/gpt-oss-20b`, or a model alone for every `claude-*`. The first match applies. " +
          "Such programs assume the context length of the model they asked for.",
        expected: "names of served models, each after `pattern=` or alone",
      },
    ),

    ...toolSettings(),

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
        "Longest wait for the store. After it, reasoning counts as lost, and requests that depend on a " +
        "stored response or conversation are answered 503.",
    }),
    storeMaxEntries: setting("store", count().default(10_000), {
      description:
        "Maximum entries in the memory store. When it is full, the tenant with the most entries loses its oldest ones.",
    }),
    storeMaxBytes: setting("store", bytes().default(67_108_864), {
      description:
        "Maximum bytes in the memory store. When it is full, the tenant with the most bytes loses its oldest entries.",
    }),
    storeMaxEntryBytes: setting("store", bytes().optional(), {
      description:
        "Largest stored response or conversation, in any store. Larger ones are refused with 413 before they are " +
        "generated or extended. Absent: an eighth of `storeMaxBytes`.",
    }),
    storeMaxEntriesPerKey: setting("store", count().optional(), {
      description:
        "Maximum entries of one key in the memory store, even when the store has room; the oldest are removed first. " +
        "Absent: no limit per key.",
    }),
    storeMaxBytesPerKey: setting("store", bytes().optional(), {
      description:
        "Maximum bytes of one key in the memory store, even when the store has room; the oldest entries are removed first. " +
        "Absent: no limit per key.",
    }),

    keys: setting("access", z.array(clientKey()).default([]), {
      description:
        "Who may use the gateway: `name:sha256` pairs, or objects with `name`, `sha256` and, where " +
        "this key differs, `reasoningPolicy`, `reasoningContentMirror`, `reasoningEvents`, `maxQueuedPerKey`, " +
        "`maxConcurrentPerKey`, `maxBackgroundPerKey`, `maxSocketsPerKey`, `storeMaxBytesPerKey`, " +
        "`storeMaxEntriesPerKey` and `maxBuiltinCallsPerKey`. Create one with `harmony-gateway key`. None: no key is required.",
    }),
    open: setting("access", z.boolean().default(false), {
      description: "Serve without keys even where other machines can reach the gateway.",
    }),
    allowedHosts: setting("access", z.array(z.string().min(1)).default([]), {
      description:
        "Host names accepted besides addresses, `localhost` and `*.localhost`, while the gateway requires no key and " +
        "listens on loopback only. Protects against web pages that point their own name to it (DNS rebinding).",
    }),
    isolateCaches: setting("access", z.enum(["auto", "on", "off"]).default("auto"), {
      description:
        "Separate the inference server's prefix cache by key, so that response times do not reveal what other keys have " +
        "sent. A prompt that all keys share is then processed once per key. auto: on with more than one key.",
    }),
    metrics: setting("access", z.enum(["key", "open", "off"]).default("key"), {
      description:
        "Access to `/metrics`: with a key (without `keys`, open), open, or off. Metrics name models and backends and " +
        "count requests and tokens.",
    }),
    corsOrigins: setting("access", z.array(z.string().min(1)).optional(), {
      description:
        "Origins of web pages that may call the gateway; `*` is any. Absent: any when `keys` or `open` " +
        "is set, otherwise only pages served from this machine.",
    }),

    ...limitSettings(),

    log: setting("log", z.enum(["silent", "error", "warn", "info", "debug"]).default("info"), {
      description:
        "Least severe level that is logged, on stdout; at `info`, one line per request, at `debug`, the settings too.",
    }),
    logFormat: setting("log", z.enum(["auto", "text", "json"]).default("auto"), {
      description:
        "`text`: lines for people. `json`: a JSON object per line. auto: text on a terminal, JSON anywhere else, and " +
        "always JSON on Workers.",
    }),
    logContent: setting("log", z.boolean().default(false), {
      description: "Log prompts, reasoning and answers too. For debugging only.",
    }),

    ...inspectSettings(),
  }),
);

export type Settings = z.output<typeof settingsSchema>;

export type SettingName = keyof Settings;
