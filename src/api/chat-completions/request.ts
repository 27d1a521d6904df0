/**
 * The request body of `POST /v1/chat/completions`: OpenAI's fields with OpenRouter's extensions.
 *
 * Unknown fields are ignored, because clients send many; OpenAI and OpenRouter do the same. A known field of the wrong
 * type is answered with a 400 that names it. `null` always means absent. `fields.ts` lists how each field is handled.
 */
import * as z from "zod";
import { TRAINED_TOOLS } from "../../harmony/trained-tools.ts";
import { lazy } from "../../lazy.ts";
import { anyEffort, summaryDetail } from "../request/reasoning-options.ts";
import { type RequestOf, RequestSchema } from "../request/request-schema.ts";
import { samplingFields } from "../request/sampling.ts";

const textLike = lazy(() => z.string().nullish());

/** A content part. Only `text` and `refusal` carry text; `to-turn` decides which other kinds are refused. */
const part = lazy(() =>
  z.object({
    type: z.string(),
    text: textLike(),
    refusal: textLike(),
    /** Read by `media/`, which reports invalid images to the model. */
    image_url: z.unknown().optional(),
    source: z.unknown().optional(),
    file: z.unknown().optional(),
  }),
);

const content = lazy(() =>
  z.union([z.string(), z.array(part())], {
    error: "must be a string or an array of content parts",
  }),
);

const toolCall = lazy(() =>
  z.object({
    id: z.string(),
    type: z.string().nullish(),
    function: z.object({ name: z.string(), arguments: z.string().nullish() }).nullish(),
    custom: z.object({ name: z.string(), input: z.string().nullish() }).nullish(),
  }),
);

/** `format`, `signature` and most ids are ignored: clients alter them. */
const reasoningDetail = lazy(() =>
  z.looseObject({
    type: z.string().nullish(),
    text: textLike(),
    summary: textLike(),
    id: z.unknown().optional(),
    data: textLike(),
    index: z.number().nullish(),
  }),
);

const instructionMessage = lazy(() =>
  z.object({
    role: z.enum(["system", "developer"]),
    content: content().nullish(),
  }),
);

const userMessage = lazy(() =>
  z.object({ role: z.literal("user"), content: content().nullish(), name: textLike() }),
);

const assistantMessage = lazy(() =>
  z.object({
    role: z.literal("assistant"),
    content: content().nullish(),
    refusal: textLike(),
    tool_calls: z.array(toolCall()).nullish(),
    function_call: z.object({ name: z.string(), arguments: z.string().nullish() }).nullish(),
    reasoning: textLike(),
    reasoning_content: textLike(),
    reasoning_text: textLike(),
    thinking: textLike(),
    reasoning_details: z.union([z.string(), z.array(reasoningDetail())]).nullish(),
  }),
);

const toolMessage = lazy(() =>
  z.object({
    role: z.literal("tool"),
    tool_call_id: z.string(),
    content: content().nullish(),
    name: textLike(),
  }),
);

const functionMessage = lazy(() =>
  z.object({
    role: z.literal("function"),
    name: z.string(),
    content: content().nullish(),
  }),
);

const message = lazy(() =>
  z.discriminatedUnion("role", [
    instructionMessage(),
    userMessage(),
    assistantMessage(),
    toolMessage(),
    functionMessage(),
  ]),
);

const functionDefinition = lazy(() =>
  z.object({
    name: z
      .string()
      .regex(/^[\w.-]{1,128}$/, "must be 1 to 128 letters, digits, underscores, dots or dashes"),
    description: textLike(),
    parameters: z.record(z.string(), z.unknown()).nullish(),
    strict: z.boolean().nullish(),
  }),
);

const ownTool = lazy(() =>
  z.discriminatedUnion("type", [
    z.object({
      type: z.literal("function"),
      function: functionDefinition(),
      /** OpenRouter's field. */
      defer_loading: z.boolean().nullish(),
    }),
    z.object({
      type: z.literal("custom"),
      custom: z.object({
        name: functionDefinition().shape.name,
        description: textLike(),
      }),
    }),
  ]),
);

const OWN_TYPES: ReadonlySet<string> = new Set(["function", "custom", "allowed_tools"]);

/** A tool that a server runs. An unsupported tool is left out, and a header names it: tools are added often. */
const hosted = lazy(() =>
  z
    .looseObject({ type: z.string().refine((type) => !OWN_TYPES.has(type), "is not complete") })
    .transform((fields) => ({ type: "hosted" as const, kind: fields.type, fields })),
);

const tool = lazy(() => z.union([ownTool(), hosted()]));

const namedTool = lazy(() =>
  z.discriminatedUnion("type", [
    z.object({ type: z.literal("function"), function: z.object({ name: z.string() }) }),
    z.object({ type: z.literal("custom"), custom: z.object({ name: z.string() }) }),
  ]),
);

const toolChoice = lazy(() =>
  z.union(
    [
      z.enum(["none", "auto", "required"]),
      z.discriminatedUnion("type", [
        ...namedTool().options,
        z.object({
          type: z.literal("allowed_tools"),
          allowed_tools: z.object({
            mode: z.enum(["none", "auto", "required"]).nullish(),
            tools: z.array(namedTool()).min(1),
          }),
        }),
      ]),
      hosted(),
    ],
    { error: 'must be "none", "auto", "required", a named tool or allowed_tools' },
  ),
);

const responseFormat = lazy(() =>
  z.discriminatedUnion("type", [
    z.object({ type: z.literal("text") }),
    z.object({ type: z.literal("json_object") }),
    z.object({
      type: z.literal("json_schema"),
      json_schema: z.object({
        name: z.string().min(1).max(64),
        description: textLike(),
        schema: z.record(z.string(), z.unknown()).nullish(),
        strict: z.boolean().nullish(),
      }),
    }),
  ]),
);

/** Stop strings delay output by their length, so the length is limited. */
const MAX_STOP_LENGTH = 1_000;

const stopString = lazy(() => z.string().max(MAX_STOP_LENGTH));

export const chatRequest = new RequestSchema(
  {
    model: textLike,
    models: () => z.array(z.string()).nullish(),
    /** OpenRouter's field for a preset. */
    preset: textLike,
    messages: () => z.array(message()).min(1, "must contain at least one message"),

    tools: () => z.array(tool()).nullish(),
    max_tool_calls: () => z.int().min(1).nullish(),
    tool_choice: () => toolChoice().nullish(),
    parallel_tool_calls: () => z.boolean().nullish(),
    functions: () => z.array(functionDefinition()).nullish(),
    function_call: () =>
      z
        .union([z.enum(["none", "auto"]), z.object({ name: z.string() })], {
          error: 'must be "none", "auto" or an object with a name',
        })
        .nullish(),
    response_format: () => responseFormat().nullish(),
    /** The model's trained tools that the client runs itself. */
    builtin_tools: () => z.array(z.enum(TRAINED_TOOLS)).nullish(),
    /** OpenAI's field for web search. */
    web_search_options: () => z.looseObject({}).nullish(),
    /** OpenRouter's older field for web search. */
    plugins: () => z.array(z.looseObject({ id: z.string() })).nullish(),

    reasoning: () =>
      z
        .object({
          effort: anyEffort().nullish(),
          max_tokens: z.int().min(0).nullish(),
          exclude: z.boolean().nullish(),
          enabled: z.boolean().nullish(),
          summary: summaryDetail().nullish(),
        })
        .nullish(),
    reasoning_effort: () => anyEffort().nullish(),
    include_reasoning: () => z.boolean().nullish(),

    max_completion_tokens: () => z.int().min(1).nullish(),
    max_tokens: () => z.int().min(1).nullish(),
    ...samplingFields,
    logprobs: () => z.boolean().nullish(),
    top_logprobs: () => z.int().min(0).max(20).nullish(),
    stop: () => z.union([stopString(), z.array(stopString()).max(4)]).nullish(),
    n: () => z.int().min(1).max(128).nullish(),

    stream: () => z.boolean().nullish(),
    /** llama-server's field. */
    return_progress: () => z.boolean().nullish(),
    stream_options: () => z.object({ include_usage: z.boolean().nullish() }).nullish(),

    modalities: () => z.array(z.string()).nullish(),
    audio: () => z.unknown().optional(),
    prompt: () => z.unknown().optional(),
    session_id: () => z.string().max(256).nullish(),
    prompt_cache_key: textLike,
  },
  ["messages"],
);

export type ChatRequest = RequestOf<typeof chatRequest>;
export type ChatMessage = z.infer<ReturnType<typeof message>>;
export type AssistantMessage = z.infer<ReturnType<typeof assistantMessage>>;
