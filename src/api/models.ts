/**
 * `GET /models` and related routes: OpenAI's entries plus the fields OpenRouter's clients read. Some clients show or
 * hide tools and reasoning by `supported_parameters`, so it lists exactly the parameters with an effect.
 */
import { type Context, Hono } from "hono";
import { GPT_OSS_CONTEXT } from "../engines/models-probe.ts";
import type { Capabilities } from "../engines/engine.ts";
import { NEUTRAL_SAMPLING, SAMPLING_FIELDS } from "../engines/sampling.ts";
import { type FoundModel, listedModels, type Model, type Models } from "../models/models.ts";
import { TRAINED_TOOLS } from "../harmony/trained-tools.ts";
import type { Toolbox } from "../tools/toolbox.ts";
import type { Preset } from "../turn/preset.ts";
import { prevailingEffort, presetSampling } from "./request/apply-preset.ts";
import type { ApiEnv } from "./request/client.ts";
import { toCodexModels } from "./codex-catalogue.ts";
import { refusal } from "./errors.ts";
import { readinessOf } from "./health.ts";
import type { ModelEndpoints, ModelEntry } from "./reply/reply-schema.ts";
import { modelNotFound } from "./request/requested-model.ts";

/** Release date of gpt-oss, in seconds since 1970. OpenAI clients require a number here. */
const PUBLISHED = 1_754_352_000;

/** Parameters supported with every engine: the gateway implements them. */
const ALWAYS_SUPPORTED = [
  "include_reasoning",
  "max_completion_tokens",
  "max_tokens",
  "parallel_tool_calls",
  "reasoning",
  "reasoning_effort",
  "response_format",
  "stop",
  "structured_outputs",
  "tool_choice",
  "tools",
];

/**
 * @param seesImages images in requests are described
 * @param readsPdfs PDFs in requests are read
 * @param toolbox tools that the gateway runs
 */
export function modelRoutes({
  seesImages = false,
  readsPdfs = false,
  toolbox = {},
}: ModelRouteOptions = {}): Hono<ApiEnv> {
  const routes = new Hono<ApiEnv>();
  const architecture = toArchitecture(seesImages, readsPdfs);
  const gatewayTools = {
    builtin: TRAINED_TOOLS.filter((name) => toolbox[name] !== undefined),
    mcp_servers: [...(toolbox.mcp?.servers.keys() ?? [])],
  };

  // `/models/user` is OpenRouter's list of the models that a key may use. Here both lists are equal.
  routes.on("GET", ["/models", "/models/user"], (c) => {
    const { models } = c.get("client");
    const entries = listedModels(models).map((each) => toModelEntry(each.name, each, architecture));
    const from = toCount(c.req.query("offset"), "offset") ?? 0;
    const limit = toCount(c.req.query("limit"), "limit") ?? entries.length;
    const to = from + limit;
    return c.json({
      object: "list",
      data: entries.slice(from, to),
      ...(!c.req.path.startsWith("/api/") && { gateway_tools: gatewayTools }),
      ...(asksForCodex(c) && {
        models: toCodexModels(
          models.all
            .slice(from, to)
            .map(({ id, contextLength }) => ({ id, contextLength, seesImages })),
        ),
      }),
      total_count: entries.length,
      links: {
        next: limit > 0 && to < entries.length ? `?offset=${to}&limit=${limit}` : null,
      },
    });
  });

  routes.get("/models/count", (c) =>
    c.json({ data: { count: listedModels(c.get("client").models).length } }),
  );

  // Ids contain a slash, which clients send raw or as %2F. Hono has decoded it.
  routes.get("/models/:id{.+}", (c) => {
    const id = c.req.param("id");
    const { models } = c.get("client");
    const owner = /^(.+)\/endpoints$/.exec(id)?.[1];
    const endpointsOf = owner === undefined ? undefined : models.find(owner);
    if (endpointsOf === undefined) return c.json(findEntry(models, id, architecture));
    return c.json({ data: toEndpoints(endpointsOf.model, architecture) });
  });

  // OpenRouter's clients request a single model here.
  routes.get("/model/:id{.+}", (c) =>
    c.json({ data: findEntry(c.get("client").models, c.req.param("id"), architecture) }),
  );
  return routes;
}

interface ModelRouteOptions {
  readonly seesImages?: boolean;
  readonly readsPdfs?: boolean;
  readonly toolbox?: Toolbox;
}

function findEntry(models: Models, id: string, architecture: Architecture): ModelEntry {
  const found = models.find(id);
  if (found !== undefined) return toModelEntry(id, found, architecture);
  throw modelNotFound(`The model ${id} does not exist.`, models);
}

/** The entry of one model. `id` is the client's name for it. */
function toModelEntry(
  id: string,
  { model, preset, effort: suffix }: Omit<FoundModel, "suffixes" | "effort"> & Partial<FoundModel>,
  architecture: Architecture,
): ModelEntry {
  const effort = prevailingEffort(suffix, preset) ?? preset?.effort ?? "medium";
  // Never null: clients then assume 16,000 tokens, or a million.
  const contextLength = model.contextLength ?? GPT_OSS_CONTEXT;
  const maxOutput = Math.min(preset?.maxOutputTokens ?? contextLength, contextLength);
  return {
    id,
    object: "model",
    created: PUBLISHED,
    owned_by: model.id.startsWith("openai/") ? "openai" : "harmony-gateway",
    canonical_slug: model.id,
    name: preset?.name ?? model.id.replace(/^openai\//, "OpenAI: "),
    description: preset?.description ?? "",
    context_length: contextLength,
    // The name of the context length in vLLM, LM Studio and gateways: Cline and Open WebUI read one of these only.
    max_model_len: contextLength,
    max_context_length: contextLength,
    context_window: contextLength,
    max_output_tokens: maxOutput,
    // The state of the model's engine: a model may be listed by its configured name alone.
    state: readinessOf(model),
    hugging_face_id: model.id.startsWith("openai/") ? model.id : null,
    architecture,
    pricing: FREE,
    top_provider: {
      context_length: contextLength,
      max_completion_tokens: maxOutput,
      is_moderated: false,
    },
    links: { details: `/api/v1/models/${model.id}/endpoints` },
    per_request_limits: null,
    default_parameters: toDefaultParameters(preset),
    supported_voices: null,
    supported_parameters: toSupportedParameters(model.capabilities),
    reasoning: {
      supported_efforts: ["high", "medium", "low"],
      default_effort: effort,
      default_enabled: effort !== "none",
      supports_max_tokens: true,
      mandatory: false,
    },
  };
}

/** The request parameters that have an effect. */
export function toSupportedParameters(capabilities: Capabilities): string[] {
  return [
    ...ALWAYS_SUPPORTED,
    ...capabilities.sampling.map((name) => SAMPLING_FIELDS[name]),
    ...(capabilities.logprobs ? ["logprobs", "top_logprobs"] : []),
  ].toSorted();
}

type Architecture = ModelEntry["architecture"];

const ARCHITECTURE: Architecture = {
  modality: "text->text",
  input_modalities: ["text"],
  output_modalities: ["text"],
  tokenizer: "GPT",
  instruct_type: null,
};

/** `file` is OpenRouter's word for PDFs. */
function toArchitecture(seesImages: boolean, readsPdfs: boolean): Architecture {
  const inputs = ["text", ...(seesImages ? ["image"] : []), ...(readsPdfs ? ["file"] : [])];
  return { ...ARCHITECTURE, modality: `${inputs.join("+")}->text`, input_modalities: inputs };
}

/** The preset's values for parameters that a request leaves out. */
function toDefaultParameters(preset: Preset | undefined): ModelEntry["default_parameters"] {
  const { temperature, topP } = NEUTRAL_SAMPLING;
  return { temperature, top_p: topP, ...(preset && presetSampling({}, preset)) };
}

/** Prices are strings, as at OpenRouter: a price per token is too small for some number types. */
const FREE = { prompt: "0", completion: "0", request: "0", image: "0" };

/** OpenRouter's list of a model's providers, with the gateway as the only one. */
function toEndpoints(model: Model, architecture: Architecture): ModelEndpoints["data"] {
  const entry = toModelEntry(model.id, { model }, architecture);
  const { id, name, created, description, context_length, top_provider } = entry;
  return {
    id,
    name,
    created,
    description,
    architecture,
    endpoints: [
      {
        name: `harmony-gateway | ${model.id}`,
        model_id: model.id,
        model_name: name,
        context_length,
        pricing: FREE,
        provider_name: "harmony-gateway",
        tag: "harmony-gateway",
        quantization: null,
        max_completion_tokens: top_provider.max_completion_tokens,
        max_prompt_tokens: null,
        supported_parameters: toSupportedParameters(model.capabilities),
        // Nothing is charged, so caching saves nothing.
        supports_implicit_caching: false,
        // OpenRouter's SDK for Python requires these fields.
        native_tools: {},
        service_tier: null,
        supports_diarization: false,
        supports_voice_cloning: false,
        supports_tool_choice: { auto: true, function: true, none: true, required: true },
        // OpenRouter's scale: 0 is up, negative is not.
        status: model.status.state === "unavailable" ? -1 : 0,
        latency_last_30m: null,
        throughput_last_30m: null,
        uptime_last_5m: null,
        uptime_last_30m: null,
        uptime_last_1d: null,
      },
    ],
  };
}

/**
 * Codex names its version in the query. Its catalogue has 2 KB of instructions a model. Below `/api/v1`, a client that looks for
 * LM Studio would read `models` as its list.
 */
function asksForCodex({ req }: Context<ApiEnv>): boolean {
  return req.query("client_version") !== undefined && !req.path.startsWith("/api/");
}

function toCount(text: string | undefined, param: string): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw refusal(param, "must be a whole number, 0 or more.");
}
