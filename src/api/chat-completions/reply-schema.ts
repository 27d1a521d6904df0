/**
 * The schemas of Chat Completions' responses: the types of the code that writes them, and a part of the OpenAPI
 * document.
 */
import * as z from "zod";
import { lazy } from "../../lazy.ts";

const nullableText = lazy(() => z.string().nullable());

/** The body of an error response, and the last event of a stream that has failed. */
export const chatError = lazy(() =>
  z
    .object({
      error: z.object({
        /** A string below `/v1`, the status below `/api/v1`. */
        code: z.union([z.string(), z.int()]),
        message: z.string(),
        type: z.enum([
          "invalid_request_error",
          "authentication_error",
          "permission_error",
          "not_found_error",
          "rate_limit_error",
          "server_error",
        ]),
        param: nullableText(),
        metadata: z.object({ error_type: z.string() }),
      }),
    })
    .meta({ id: "ChatError" }),
);

export type ChatError = z.infer<ReturnType<typeof chatError>>;

const usage = lazy(() =>
  z
    .object({
      prompt_tokens: z.int(),
      completion_tokens: z.int(),
      total_tokens: z.int(),
      /** `cost` and `is_byok` are present below `/api/v1` only. */
      cost: z.number().optional(),
      is_byok: z.boolean().optional(),
      prompt_tokens_details: z.object({ cached_tokens: z.int() }),
      completion_tokens_details: z.object({ reasoning_tokens: z.int() }),
      server_tool_use_details: z
        .object({
          web_search_requests: z.int(),
          tool_calls_requested: z.int(),
          tool_calls_executed: z.int(),
        })
        .optional(),
    })
    .meta({ id: "ChatUsage" }),
);

const tokenShape = {
  token: z.string(),
  bytes: z.array(z.int()).readonly(),
  logprob: z.number(),
};

const logprobs = lazy(() =>
  z
    .object({
      content: z.array(z.object({ ...tokenShape, top_logprobs: z.array(z.object(tokenShape)) })),
      refusal: z.null(),
    })
    .meta({ id: "ChatLogprobs" }),
);

/** `format` is sent once per stream, with the first text. */
const reasoningDetail = lazy(() => {
  const format = z.literal("unknown").optional();
  const index = z.int();
  return z
    .discriminatedUnion("type", [
      z.object({ type: z.literal("reasoning.text"), text: z.string(), format, index }),
      z.object({ type: z.literal("reasoning.encrypted"), data: z.string(), format, index }),
      z.object({
        type: z.literal("reasoning.summary"),
        summary: z.string(),
        id: z.string(),
        format,
        index,
      }),
    ])
    .meta({ id: "ReasoningDetail" });
});

const annotation = lazy(() =>
  z
    .object({
      type: z.literal("url_citation"),
      url_citation: z.object({
        start_index: z.int(),
        end_index: z.int(),
        title: z.string(),
        url: z.string(),
      }),
    })
    .meta({ id: "ChatAnnotation" }),
);

/** A call that the gateway has run. */
const executedTool = lazy(() =>
  z
    .object({
      index: z.int(),
      type: z.string(),
      /** Present for calls to MCP servers. */
      name: z.string().optional(),
      server_label: z.string().optional(),
      arguments: z.string(),
      output: z.string(),
      search_results: z
        .object({
          results: z.array(
            z.object({
              title: z.string(),
              url: z.string(),
              content: z.string(),
              score: z.number(),
            }),
          ),
        })
        .optional(),
      code_results: z
        .array(z.union([z.object({ text: z.string() }), z.object({ png: z.string() })]))
        .optional(),
    })
    .meta({ id: "ExecutedTool" }),
);

const functionCall = lazy(() => z.object({ name: z.string(), arguments: z.string() }));

const toolCall = lazy(() => {
  const place = { index: z.int(), id: z.string() };
  return z
    .discriminatedUnion("type", [
      z.object({ ...place, type: z.literal("function"), function: functionCall() }),
      z.object({
        ...place,
        type: z.literal("custom"),
        custom: z.object({ name: z.string(), input: z.string() }),
      }),
    ])
    .meta({ id: "ChatToolCall" });
});

const finishReason = lazy(() => z.enum(["stop", "length", "tool_calls", "function_call", "error"]));

const message = lazy(() =>
  z
    .object({
      role: z.literal("assistant"),
      content: nullableText(),
      refusal: z.null(),
      annotations: z.array(annotation()).optional(),
      executed_tools: z.array(executedTool()).optional(),
      reasoning: nullableText(),
      reasoning_details: z.array(reasoningDetail()).optional(),
      reasoning_content: z.string().optional(),
      tool_calls: z.array(toolCall()).optional(),
      function_call: functionCall().optional(),
    })
    .meta({ id: "ChatMessage" }),
);

export const chatCompletion = lazy(() =>
  z
    .object({
      id: z.string(),
      object: z.literal("chat.completion"),
      created: z.int(),
      model: z.string(),
      provider: z.string(),
      system_fingerprint: z.string(),
      choices: z.array(
        z.object({
          index: z.int(),
          message: message(),
          logprobs: logprobs().nullable(),
          finish_reason: finishReason(),
          native_finish_reason: nullableText(),
          /** Present with the finish reason `error`. */
          error: chatError().shape.error.optional(),
        }),
      ),
      usage: usage(),
    })
    .meta({ id: "ChatCompletion" }),
);

/** Ids and names are sent once, arguments and inputs in deltas. */
const toolCallDelta = lazy(() =>
  z.object({
    index: z.int(),
    id: z.string().optional(),
    type: z.enum(["function", "custom"]).optional(),
    function: functionCall().partial().optional(),
    custom: z.object({ name: z.string().optional(), input: z.string() }).optional(),
  }),
);

const delta = lazy(() =>
  z
    .object({
      role: z.literal("assistant").optional(),
      content: z.string().optional(),
      reasoning: z.string().optional(),
      reasoning_content: z.string().optional(),
      reasoning_details: z.array(reasoningDetail()).optional(),
      annotations: z.array(annotation()).optional(),
      executed_tools: z.array(executedTool()).optional(),
      tool_calls: z.array(toolCallDelta()).optional(),
      function_call: functionCall().partial().optional(),
    })
    .meta({ id: "ChatDelta" }),
);

const chunk = lazy(() =>
  z
    .object({
      id: z.string(),
      object: z.literal("chat.completion.chunk"),
      created: z.int(),
      model: z.string(),
      provider: z.string(),
      system_fingerprint: z.string(),
      /** Present in a choice that has failed. */
      error: chatError().shape.error.optional(),
      choices: z.array(
        z.object({
          index: z.int(),
          delta: delta(),
          finish_reason: finishReason().nullable(),
          native_finish_reason: nullableText(),
          logprobs: logprobs().nullable(),
        }),
      ),
      /** Present in the last chunk. */
      usage: usage().optional(),
    })
    .meta({ id: "ChatCompletionChunk" }),
);

/** The data of an event. A failing stream ends with an error that is not a chunk. */
export const chatEvent = lazy(() => z.union([chunk(), chatError()]));
