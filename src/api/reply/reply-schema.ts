/** The schemas of responses of routes outside the APIs: models, and the gateway's state. */
import * as z from "zod";
import type { NeutralParameter, SAMPLING_FIELDS } from "../../engines/sampling.ts";
import { lazy } from "../../lazy.ts";

const strings = lazy(() => z.array(z.string()));
const price = lazy(() =>
  z.object({ prompt: z.string(), completion: z.string(), request: z.string(), image: z.string() }),
);
const tokens = lazy(() => z.int().min(1));

const architecture = lazy(() =>
  z.object({
    modality: z.string(),
    input_modalities: strings(),
    output_modalities: strings(),
    tokenizer: z.string(),
    instruct_type: z.null(),
  }),
);

const model = lazy(() =>
  z
    .object({
      id: z.string(),
      object: z.literal("model"),
      created: z.int(),
      owned_by: z.string(),
      canonical_slug: z.string(),
      name: z.string(),
      description: z.string(),
      context_length: tokens(),
      max_model_len: tokens(),
      max_context_length: tokens(),
      context_window: tokens(),
      max_output_tokens: tokens(),
      state: engineState(),
      hugging_face_id: z.string().nullable(),
      architecture: architecture(),
      pricing: price(),
      top_provider: z.object({
        context_length: tokens(),
        max_completion_tokens: tokens(),
        is_moderated: z.boolean(),
      }),
      links: z.object({ details: z.string() }),
      per_request_limits: z.null(),
      default_parameters: z.object({
        temperature: z.number(),
        top_p: z.number(),
        top_k: z.int().optional(),
        min_p: z.number().optional(),
        frequency_penalty: z.number().optional(),
        presence_penalty: z.number().optional(),
        repetition_penalty: z.number().optional(),
      } satisfies Record<(typeof SAMPLING_FIELDS)[NeutralParameter], z.ZodType>),
      supported_voices: z.null(),
      supported_parameters: strings(),
      reasoning: z.object({
        supported_efforts: strings(),
        default_effort: z.string(),
        default_enabled: z.boolean(),
        supports_max_tokens: z.boolean(),
        mandatory: z.boolean(),
      }),
    })
    .meta({ id: "Model" }),
);

/** The state of a model's engine. */
export const engineState = lazy(() => z.enum(["unknown", "ready", "unavailable"]));

export type ModelEntry = z.infer<ReturnType<typeof model>>;

export const modelList = lazy(() =>
  z
    .object({
      object: z.literal("list"),
      data: z.array(model()),
      /** Tools that the gateway runs on request. Present below `/v1` only. */
      gateway_tools: z
        .object({ builtin: z.array(z.string()), mcp_servers: z.array(z.string()) })
        .optional(),
      /** Codex's catalogue, below `/v1` only, for a query with `client_version`. */
      models: z.array(z.looseObject({ slug: z.string() })).optional(),
      total_count: z.int(),
      links: z.object({ next: z.string().nullable() }),
    })
    .meta({ id: "ModelList" }),
);

/** The owner of a model. */
const modelEndpoints = lazy(() =>
  z
    .object({
      data: z.object({
        id: z.string(),
        name: z.string(),
        created: z.int(),
        description: z.string(),
        architecture: architecture(),
        endpoints: z.array(
          z.object({
            name: z.string(),
            model_id: z.string(),
            model_name: z.string(),
            context_length: z.int(),
            pricing: price(),
            provider_name: z.string(),
            tag: z.string(),
            quantization: z.null(),
            max_completion_tokens: tokens(),
            max_prompt_tokens: z.null(),
            supported_parameters: strings(),
            supports_implicit_caching: z.boolean(),
            native_tools: z.record(z.string(), z.never()),
            service_tier: z.null(),
            supports_diarization: z.boolean(),
            supports_voice_cloning: z.boolean(),
            supports_tool_choice: z.object({
              auto: z.boolean(),
              function: z.boolean(),
              none: z.boolean(),
              required: z.boolean(),
            }),
            status: z.int(),
            latency_last_30m: z.null(),
            throughput_last_30m: z.null(),
            uptime_last_5m: z.null(),
            uptime_last_30m: z.null(),
            uptime_last_1d: z.null(),
          }),
        ),
      }),
    })
    .meta({ id: "ModelEndpoints" }),
);

export type ModelEndpoints = z.infer<ReturnType<typeof modelEndpoints>>;

/** The reply to OpenRouter's request for a single model. */
export const modelReply = lazy(() => z.object({ data: model() }).meta({ id: "ModelReply" }));

export const modelCount = lazy(() =>
  z.object({ data: z.object({ count: z.int() }) }).meta({ id: "ModelCount" }),
);

export const modelOrEndpoints = lazy(() => z.union([model(), modelEndpoints()]));

export const health = lazy(() => z.object({ status: z.literal("ok") }).meta({ id: "Health" }));

const backend = lazy(() =>
  z
    .object({
      id: z.string(),
      engine: z.string(),
      health: z.enum(["unknown", "up", "degraded", "down"]),
      last_failure: z.object({ kind: z.string(), at: z.string() }).optional(),
      in_flight: z.int(),
      succeeded: z.int(),
      failed: z.int(),
    })
    .meta({ id: "Backend" }),
);

export const readiness = lazy(() =>
  z
    .object({
      status: z.enum(["ready", "unavailable", "shutting_down"]),
      warnings: z.array(z.string()).optional(),
      models: z
        .array(
          z.object({
            id: z.string(),
            state: engineState(),
            queued: z.int().optional(),
            backends: z.array(backend()).optional(),
          }),
        )
        .optional(),
    })
    .meta({ id: "Readiness" }),
);

export type Readiness = z.infer<ReturnType<typeof readiness>>;
