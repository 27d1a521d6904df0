/**
 * The request body of `POST /v1/responses`: the union of OpenAI's fields and Open Responses'.
 *
 * Unknown fields are ignored: clients add their own. A known field of the wrong type is answered with a 400 that names
 * it. `null` always means absent.
 */
import * as z from "zod";
import { TRAINED_TOOLS } from "../../harmony/trained-tools.ts";
import { inputItem, textFormat } from "./items.ts";
import { lazy } from "../../lazy.ts";
import { anyEffort, summaryDetail } from "../request/reasoning-options.ts";
import { type RequestOf, RequestSchema } from "../request/request-schema.ts";
import { samplingFields } from "../request/sampling.ts";
import { tool } from "./tool-schemas.ts";

const textLike = lazy(() => z.string().nullish());

const CHOICES: ReadonlySet<string> = new Set(["function", "custom", "allowed_tools"]);

const toolChoice = lazy(() =>
  z.union(
    [
      z.enum(["none", "auto", "required"]),
      z.discriminatedUnion("type", [
        z.object({
          type: z.enum(["function", "custom"]),
          name: z.string(),
          namespace: textLike(),
        }),
        z.object({
          type: z.literal("allowed_tools"),
          mode: z
            .enum(["none", "auto", "required"])
            .nullish()
            .transform((mode) => mode ?? "auto"),
          tools: z
            .array(z.looseObject({ type: z.string(), name: textLike(), namespace: textLike() }))
            .min(1),
        }),
      ]),
      z
        .looseObject({ type: z.string() })
        .refine(({ type }) => !CHOICES.has(type), "is not complete")
        .transform((fields) => ({ type: "hosted" as const, kind: fields.type, fields })),
    ],
    { error: 'must be "none", "auto", "required", a function or allowed_tools' },
  ),
);

/** The limits of Open Responses and OpenAI. */
const metadata = lazy(() =>
  z
    .record(z.string().max(64), z.string().max(512))
    .refine((pairs) => Object.keys(pairs).length <= 16, "must have at most 16 pairs"),
);

/** The fields that determine the prompt: shared by creating, counting and compacting. */
const promptFields = {
  /** Absent: the first served model. */
  model: textLike,
  /** OpenRouter's other models, if `model` is not served. */
  models: () => z.array(z.string()).nullish(),
  /** OpenRouter's field for a preset. */
  preset: textLike,
  input: () =>
    z
      .union([z.string(), z.array(inputItem)], { error: "must be a string or an array of items" })
      .nullish(),
  instructions: textLike,
  previous_response_id: textLike,
  conversation: () => z.union([z.string(), z.object({ id: z.string() })]).nullish(),
};

/** Maximum number of rules: more have no use. */
const MAX_CONTEXT_RULES = 8;

const controlFields = {
  tools: () => z.array(tool()).nullish(),
  tool_choice: () => toolChoice().nullish(),
  parallel_tool_calls: () => z.boolean().nullish(),
  reasoning: () =>
    z
      .object({
        effort: anyEffort().nullish(),
        /** OpenRouter's fields, as on Chat Completions. */
        enabled: z.boolean().nullish(),
        max_tokens: z.int().min(0).nullish(),
        summary: summaryDetail().nullish(),
        generate_summary: summaryDetail().nullish(),
        /** The reply has the one that is used. */
        context: textLike(),
      })
      .nullish(),
  text: () =>
    z
      .object({
        format: textFormat().nullish(),
        /** The reply has the one that is used. */
        verbosity: textLike(),
      })
      .nullish(),
  truncation: () => z.enum(["auto", "disabled"]).nullish(),
  /**
   * Rule for a summary before the answer when the prompt reaches `compact_threshold` tokens. Other types have no
   * effect.
   */
  context_management: () =>
    z
      .array(z.object({ type: z.string(), compact_threshold: z.int().min(1).nullish() }))
      .max(MAX_CONTEXT_RULES)
      .nullish(),
  /** The model's trained tools that the client runs itself. */
  builtin_tools: () => z.array(z.enum(TRAINED_TOOLS)).nullish(),
  /** OpenRouter's field. Its plugins are reported as skipped. */
  plugins: () => z.unknown().optional(),
};

export const responsesRequest = new RequestSchema(
  {
    ...promptFields,
    ...controlFields,
    max_output_tokens: () => z.int().min(16).nullish(),
    max_tool_calls: () => z.int().min(1).nullish(),
    temperature: samplingFields.temperature,
    top_p: samplingFields.top_p,
    presence_penalty: samplingFields.presence_penalty,
    frequency_penalty: samplingFields.frequency_penalty,
    top_logprobs: () => z.int().min(0).max(20).nullish(),
    /** Unknown values, such as those of a later version, have no effect. */
    include: () => z.array(z.string()).nullish(),
    metadata: () => metadata().nullish(),

    stream: () => z.boolean().nullish(),
    /** False: nothing is sampled. Codex sends its instructions ahead in such a request. */
    generate: () => z.boolean().nullish(),
    stream_options: () => z.object({ include_obfuscation: z.boolean().nullish() }).nullish(),
    store: () => z.boolean().nullish(),
    background: () => z.boolean().nullish(),

    safety_identifier: textLike,
    prompt_cache_key: textLike,
    prompt_cache_options: () =>
      z
        .object({
          /** An earlier response, whose prompt is compared. */
          comparison_response_id: textLike(),
          /** Like `generate: false`. */
          prewarm: z.boolean().nullish(),
        })
        .nullish(),
    user: textLike,
    service_tier: textLike,
    prompt: () => z.unknown().optional(),
  },
  [],
);

/** `POST /v1/responses/input_tokens`. */
export const inputTokensRequest = new RequestSchema({ ...promptFields, ...controlFields }, []);

/** `POST /v1/responses/compact`. Open Responses requires the model here. */
export const compactRequest = new RequestSchema(
  { ...promptFields, model: () => z.string().min(1), prompt_cache_key: textLike },
  ["model"],
);

export type ResponsesRequest = RequestOf<typeof responsesRequest>;
/** The fields that determine the prompt. */
export type PromptRequest = RequestOf<typeof inputTokensRequest>;
export { metadata as metadataSchema };
