/** The settings of the group `engine`: the inference servers and the models they serve. */
import * as z from "zod";
import { presets } from "../presets.ts";
import { count, milliseconds, setting, url } from "../setting.ts";
import { CONFIGURED_KINDS } from "../../engines/create-engine.ts";
import { lazy } from "../../lazy.ts";

/** One configured engine, in `backends`. */
const engineKind = () => z.enum(CONFIGURED_KINDS);

export const backendEntry = lazy(() =>
  z.strictObject({
    name: z
      .string()
      .regex(/^[\w.-]{1,64}$/, "expected up to 64 letters, digits, dots, dashes or _")
      .optional(),
    engine: engineKind().default("auto"),
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

export function engineSettings() {
  return {
    engine: setting("engine", engineKind, {
      common: true,
      default: "demo",
      description:
        "Kind of inference server. `auto` asks the server at `url`, and takes a GGUF file as `model` for `llama`. `demo` is " +
        "built in and answers by fixed rules, without a model. When `url` or `model` is set, the default is auto.",
    }),
    url: setting("engine", url, {
      common: true,
      description:
        "Base URL of the inference server, for instance http://127.0.0.1:8000. Absent: the default address of " +
        "that kind on this machine.",
    }),
    model: setting("engine", () => z.string().min(1), {
      common: true,
      description:
        "The model's name at the inference server, or a GGUF file to run in this process: its path, `hf:user/repository/file.gguf` " +
        "or a URL. Absent: the only model that the server offers, or, of several, each whose name contains gpt-oss; without a " +
        "server, openai/gpt-oss-20b.",
    }),
    engineKey: setting("engine", () => z.string().min(1), {
      common: true,
      description: "API key the gateway sends to the inference server.",
      secret: true,
    }),
    servedName: setting("engine", () => z.string().min(1), {
      common: true,
      description:
        "The model's name for clients. Absent: the same as `model`, or the name that a GGUF file stands for.",
    }),
    aliases: setting("engine", () => z.array(z.string().min(1)), {
      common: true,
      default: [],
      description: "Additional names clients may use for the model.",
    }),
    contextLength: setting("engine", count, {
      common: true,
      description:
        "Tokens of prompt and answer together. Absent: as reported by the inference server.",
    }),
    maxConcurrent: setting("engine", count, {
      common: true,
      description:
        "Maximum concurrent requests to the inference server; further ones wait in the gateway (`maxQueued`). Absent: " +
        "no limit, the server queues them itself.",
    }),
    tokenEndpoint: setting("engine", z.boolean, {
      default: false,
      description:
        "vLLM only: use `/inference/v1/generate` where the server has it. That endpoint still changes between " +
        "versions.",
    }),
    backends: setting("engine", () => z.array(backendEntry()), {
      common: true,
      default: [],
      description:
        "Several engines instead of the one above: a list of objects with `engine`, `url`, `model`, " +
        "`engineKey`, `servedName`, `aliases`, `contextLength`, `maxConcurrent`, `tokenEndpoint`, `name` (in logs " +
        "and metrics), and, sent with every request to it, `headers` and `extraBody`. Those with the same " +
        "`servedName` serve one model together. Preferably set in the config file.",
      secret: true,
    }),
    presets: setting("engine", presets, {
      common: true,
      default: {},
      description:
        "Further names of models, each with values for what a request leaves out: an object by name, of objects with `model` " +
        "(a served name) and any of `effort`, `temperature`, `topP`, `topK`, `minP`, `frequencyPenalty`, `presencePenalty`, " +
        "`repetitionPenalty`, `maxOutputTokens`, `instructions` (before the client's), `nameShield`, `trainedTools`, `builtinTools` (offered in each request), `description`, `unlisted` and `lock`, " +
        "the values that hold whatever a request says: a locked `maxOutputTokens` is the most. Preferably set in the config file.",
      expected: "an object of up to 256 presets, by name",
      secret: true,
    }),
    healthIntervalMs: setting("engine", milliseconds, {
      nodeOnly: true,
      default: 5_000,
      description: "Interval of health checks of the inference servers.",
    }),
  };
}
