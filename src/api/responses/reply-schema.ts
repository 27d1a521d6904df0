/** The schemas of the Responses API's responses, for the OpenAPI document and the types of the code that writes them. */
import * as z from "zod";
import { lazy } from "../../lazy.ts";

/** The read-only type of values that the gateway writes for a schema. */
export type Written<Schema extends () => z.ZodType> = DeepReadonly<z.infer<ReturnType<Schema>>>;

export type WrittenItem<Type extends string> = Extract<
  Written<() => ReturnType<typeof modelItems>[number]>,
  { readonly type: Type }
>;

type DeepReadonly<Value> = Value extends readonly (infer Each)[]
  ? readonly DeepReadonly<Each>[]
  : Value extends object
    ? { readonly [Key in keyof Value]: DeepReadonly<Value[Key]> }
    : Value;

const errorShape = lazy(() => ({
  message: z.string(),
  type: z.string(),
  param: nullableText(),
  code: nullableText(),
}));

export const responsesErrorReply = lazy(() =>
  z.object({ error: z.object(errorShape()) }).meta({ id: "ResponsesError" }),
);

/** An item in the client's form, with an id. */
export const listedItem = lazy(() =>
  z.looseObject({ type: z.string(), id: z.string().optional() }).meta({ id: "ListedItem" }),
);

const usage = lazy(() =>
  z
    .object({
      input_tokens: z.int(),
      input_tokens_details: z.object({ cached_tokens: z.int(), cache_write_tokens: z.int() }),
      output_tokens: z.int(),
      output_tokens_details: z.object({
        reasoning_tokens: z.int(),
        tool_output_tokens: z.int().optional(),
      }),
      total_tokens: z.int(),
    })
    .meta({ id: "ResponseUsage" }),
);

/** A tool, format or choice, returned in the request's form. */
const declared = lazy(() => z.looseObject({ type: z.string() }));

export const promptCacheDiagnostics = lazy(() =>
  z.discriminatedUnion("type", [
    z.object({ type: z.enum(["cache_hit", "comparison_response_not_found", "unavailable"]) }),
    z.object({
      type: z.literal("cache_miss"),
      reason: z.enum([
        "model_changed",
        "reasoning_effort_changed",
        "tools_changed",
        "text_format_changed",
        "context_compacted",
        "input_changed",
      ]),
      cache_missed_tokens: z.int(),
      comparison_reusable_tokens: z.int(),
    }),
  ]),
);

export const response = lazy(() =>
  z
    .object({
      id: z.string(),
      object: z.literal("response"),
      created_at: z.int(),
      completed_at: z.int().nullable(),
      status: z.enum(["queued", "in_progress", "completed", "incomplete", "failed", "cancelled"]),
      incomplete_details: z.object({ reason: z.enum(["max_output_tokens", "steered"]) }).nullable(),
      error: z.object({ code: z.string(), message: z.string() }).nullable(),
      output: z.array(outputItem()),
      usage: usage().nullable(),
      model: z.string(),
      previous_response_id: nullableText(),
      instructions: nullableText(),
      tools: z.array(declared()),
      tool_choice: z.union([z.string(), declared()]),
      truncation: z.enum(["auto", "disabled"]),
      parallel_tool_calls: z.boolean(),
      text: z.object({ format: declared(), verbosity: z.literal("medium").optional() }),
      top_p: z.number(),
      presence_penalty: z.number(),
      frequency_penalty: z.number(),
      top_logprobs: z.int(),
      temperature: z.number(),
      reasoning: z.object({
        effort: z.string().nullable(),
        summary: nullableText(),
        context: z.literal("current_turn").optional(),
      }),
      max_output_tokens: z.int().nullable(),
      max_tool_calls: z.int().nullable(),
      store: z.boolean(),
      background: z.boolean(),
      service_tier: z.string(),
      metadata: z.record(z.string(), z.string()),
      safety_identifier: nullableText(),
      prompt_cache_key: nullableText(),
      prompt_cache_diagnostics: promptCacheDiagnostics().optional(),
      access_programs: z.null(),
      user: z.string().optional(),
      conversation: z.object({ id: z.string() }).optional(),
    })
    .meta({ id: "Response" }),
);

export const inputTokens = lazy(() =>
  z
    .object({ object: z.literal("response.input_tokens"), input_tokens: z.int() })
    .meta({ id: "InputTokens" }),
);

export const compactedConversation = lazy(() =>
  z
    .object({
      id: z.string(),
      object: z.literal("response.compaction"),
      created_at: z.int(),
      output: z.array(listedItem()),
      usage: usage(),
    })
    .meta({ id: "CompactedConversation" }),
);

export const deletedResponse = lazy(() =>
  z
    .object({ id: z.string(), object: z.literal("response"), deleted: z.literal(true) })
    .meta({ id: "DeletedResponse" }),
);

export const itemList = lazy(() =>
  z
    .object({
      object: z.literal("list"),
      data: z.array(listedItem()),
      first_id: nullableText(),
      last_id: nullableText(),
      has_more: z.boolean(),
    })
    .meta({ id: "ItemList" }),
);

export const conversation = lazy(() =>
  z
    .object({
      id: z.string(),
      object: z.literal("conversation"),
      created_at: z.int(),
      metadata: z.record(z.string(), z.string()),
    })
    .meta({ id: "Conversation" }),
);

export const deletedConversation = lazy(() =>
  z
    .object({ id: z.string(), object: z.literal("conversation.deleted"), deleted: z.literal(true) })
    .meta({ id: "DeletedConversation" }),
);

const nullableText = lazy(() => z.string().nullable());

const status = lazy(() => z.enum(["in_progress", "completed", "incomplete"]));
const gatewayStatus = lazy(() => z.enum(["in_progress", "completed", "failed", "incomplete"]));
const place = lazy(() => ({ id: z.string(), status: status() }));

const tokenShape = lazy(() => ({
  token: z.string(),
  bytes: z.array(z.int()),
  logprob: z.number(),
}));

const logprobs = lazy(() =>
  z.array(z.object({ ...tokenShape(), top_logprobs: z.array(z.object(tokenShape())) })),
);

export const urlCitation = lazy(() =>
  z
    .object({
      type: z.literal("url_citation"),
      start_index: z.int(),
      end_index: z.int(),
      url: z.string(),
      title: z.string(),
    })
    .meta({ id: "UrlCitation" }),
);

export const outputText = lazy(() =>
  z
    .object({
      type: z.literal("output_text"),
      text: z.string(),
      annotations: z.array(urlCitation()),
      logprobs: logprobs(),
    })
    .meta({ id: "OutputText" }),
);

const reasoningText = lazy(() => z.object({ type: z.literal("reasoning_text"), text: z.string() }));
const summaryText = lazy(() => z.object({ type: z.literal("summary_text"), text: z.string() }));

const modelItems = lazy(
  () =>
    [
      z.object({
        ...place(),
        type: z.literal("message"),
        role: z.literal("assistant"),
        phase: z.enum(["commentary", "final_answer"]),
        content: z.array(outputText()),
      }),
      z.object({
        ...place(),
        type: z.literal("reasoning"),
        summary: z.array(summaryText()),
        content: z.array(reasoningText()),
        encrypted_content: z.string().optional(),
      }),
      z.object({
        ...place(),
        type: z.literal("function_call"),
        call_id: z.string(),
        namespace: z.string().optional(),
        name: z.string(),
        arguments: z.string(),
      }),
      z.object({
        ...place(),
        type: z.literal("custom_tool_call"),
        call_id: z.string(),
        namespace: z.string().optional(),
        name: z.string(),
        input: z.string(),
      }),
      z.object({
        ...place(),
        type: z.literal("tool_search_call"),
        call_id: nullableText(),
        execution: z.enum(["client", "server"]),
        arguments: z.looseObject({}),
      }),
      z.object({
        ...place(),
        type: z.literal("tool_search_output"),
        call_id: z.null(),
        execution: z.literal("server"),
        tools: z.array(z.looseObject({ type: z.string() })),
      }),
      z.object({ id: z.string(), type: z.literal("compaction"), encrypted_content: z.string() }),
    ] as const,
);

/** Calls that the gateway runs, with encrypted content if reasoning is encrypted. */
const gatewayItems = lazy(() => {
  const shape = { id: z.string(), encrypted_content: z.string().optional() };
  return [
    z.object({
      ...shape,
      type: z.literal("web_search_call"),
      status: gatewayStatus(),
      action: z.object({
        type: z.enum(["search", "open_page", "find_in_page"]),
        query: z.string().optional(),
        queries: z.array(z.string()).optional(),
        sources: z.array(z.object({ type: z.literal("url"), url: z.string() })).optional(),
        url: nullableText().optional(),
        pattern: z.string().optional(),
      }),
      results: z.array(z.looseObject({ url: z.string() })).optional(),
    }),
    z.object({
      ...shape,
      type: z.literal("code_interpreter_call"),
      status: gatewayStatus(),
      code: z.string(),
      container_id: z.string(),
      outputs: z.array(z.looseObject({ type: z.enum(["logs", "image"]) })).nullable(),
    }),
    z.object({
      id: z.string(),
      type: z.literal("mcp_list_tools"),
      server_label: z.string(),
      tools: z.array(
        z.object({
          name: z.string(),
          description: z.string(),
          input_schema: z.looseObject({}),
          annotations: z.object({ readOnlyHint: z.boolean() }),
        }),
      ),
      error: z.string().optional(),
    }),
    z.object({
      ...shape,
      type: z.literal("mcp_call"),
      status: gatewayStatus(),
      server_label: z.string(),
      name: z.string(),
      arguments: z.string(),
      output: nullableText(),
      error: z.union([z.string(), z.looseObject({ type: z.string() })]).nullable(),
      approval_request_id: nullableText(),
    }),
    z.object({
      ...shape,
      type: z.literal("mcp_approval_request"),
      server_label: z.string(),
      name: z.string(),
      arguments: z.string(),
    }),
  ] as const;
});

export const outputItem = lazy(() =>
  z.discriminatedUnion("type", [...modelItems(), ...gatewayItems()]).meta({ id: "OutputItem" }),
);

const lifecycleEvent = lazy(() =>
  z.object({
    type: z.enum([
      "response.created",
      "response.queued",
      "response.in_progress",
      "response.completed",
      "response.incomplete",
      "response.failed",
    ]),
    sequence_number: z.int(),
    response: response(),
  }),
);

const itemEvent = lazy(() =>
  z.object({
    type: z.enum(["response.output_item.added", "response.output_item.done"]),
    sequence_number: z.int(),
    output_index: z.int(),
    item: outputItem(),
  }),
);

/** Events of a part of an item: its text, as deltas and complete. */
const textEvent = lazy(() =>
  z.object({
    type: z.enum([
      "response.output_text.delta",
      "response.output_text.done",
      "response.output_text.annotation.added",
      "response.content_part.added",
      "response.content_part.done",
      "response.reasoning_text.delta",
      "response.reasoning_text.done",
      "response.reasoning.delta",
      "response.reasoning.done",
      "response.reasoning_summary_part.added",
      "response.reasoning_summary_part.done",
      "response.reasoning_summary_text.delta",
      "response.reasoning_summary_text.done",
    ]),
    sequence_number: z.int(),
    item_id: z.string(),
    output_index: z.int(),
    content_index: z.int().optional(),
    summary_index: z.int().optional(),
    part: z.discriminatedUnion("type", [outputText(), reasoningText(), summaryText()]).optional(),
    delta: z.string().optional(),
    text: z.string().optional(),
    logprobs: logprobs().optional(),
    annotation_index: z.int().optional(),
    annotation: urlCitation().optional(),
  }),
);

/** Events of a call: its arguments, and its progress if the gateway runs it. */
const callEvent = lazy(() =>
  z.object({
    type: z.enum([
      "response.function_call_arguments.delta",
      "response.function_call_arguments.done",
      "response.custom_tool_call_input.delta",
      "response.custom_tool_call_input.done",
      "response.web_search_call.in_progress",
      "response.web_search_call.searching",
      "response.web_search_call.completed",
      "response.code_interpreter_call.in_progress",
      "response.code_interpreter_call.interpreting",
      "response.code_interpreter_call.completed",
      "response.code_interpreter_call_code.delta",
      "response.code_interpreter_call_code.done",
      "response.compaction.compacting",
      "response.mcp_list_tools.in_progress",
      "response.mcp_list_tools.completed",
      "response.mcp_list_tools.failed",
      "response.mcp_call.in_progress",
      "response.mcp_call.completed",
      "response.mcp_call.failed",
      "response.mcp_call_arguments.delta",
      "response.mcp_call_arguments.done",
    ]),
    sequence_number: z.int(),
    item_id: z.string(),
    output_index: z.int(),
    delta: z.string().optional(),
    /** Present with the complete arguments of a function. */
    name: z.string().optional(),
    arguments: z.string().optional(),
    input: z.string().optional(),
    code: z.string().optional(),
  }),
);

const errorEvent = lazy(() =>
  z.object({
    type: z.literal("error"),
    /** Absent for an error before the response has begun. */
    sequence_number: z.int().optional(),
    code: nullableText(),
    message: z.string(),
    param: nullableText(),
    error: z.object(errorShape()),
  }),
);

/** The data of an event. */
export const responseEvent = lazy(() =>
  z
    .discriminatedUnion("type", [
      lifecycleEvent(),
      itemEvent(),
      textEvent(),
      callEvent(),
      errorEvent(),
    ])
    .meta({ id: "ResponseEvent" }),
);
