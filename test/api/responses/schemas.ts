/**
 * The response object and every event, as strict as the published schemas: every key is required, and no other is
 * allowed.
 */
import { z } from "zod";

const index = z.int().min(0);
const status = z.enum(["in_progress", "completed", "incomplete"]);

const logprob = z.strictObject({
  token: z.string(),
  bytes: z.array(z.int()),
  logprob: z.number(),
  top_logprobs: z.array(
    z.strictObject({ token: z.string(), bytes: z.array(z.int()), logprob: z.number() }),
  ),
});

const outputText = z.strictObject({
  type: z.literal("output_text"),
  text: z.string(),
  annotations: z.array(z.never()),
  logprobs: z.array(logprob),
});

const reasoningText = z.strictObject({ type: z.literal("reasoning_text"), text: z.string() });

const reasoningItem = z.strictObject({
  id: z.string().regex(/^rs_/),
  type: z.literal("reasoning"),
  status,
  summary: z.array(z.strictObject({ type: z.literal("summary_text"), text: z.string().min(1) })),
  content: z.array(reasoningText),
  encrypted_content: z.string().optional(),
});

const messageItem = z.strictObject({
  id: z.string().regex(/^msg_/),
  type: z.literal("message"),
  status,
  role: z.literal("assistant"),
  phase: z.enum(["commentary", "final_answer"]),
  content: z.array(outputText),
});

const functionCallItem = z.strictObject({
  id: z.string().regex(/^fc_/),
  type: z.literal("function_call"),
  status,
  call_id: z.string().min(1).max(64),
  namespace: z.string().optional(),
  name: z.string(),
  arguments: z.string(),
});

const customToolCallItem = z.strictObject({
  id: z.string().regex(/^ctc_/),
  type: z.literal("custom_tool_call"),
  status,
  call_id: z.string().min(1).max(64),
  namespace: z.string().optional(),
  name: z.string(),
  input: z.string(),
});

const toolSearchCallItem = z.strictObject({
  id: z.string().regex(/^tsc_/),
  type: z.literal("tool_search_call"),
  status,
  call_id: z.string().min(1).max(64),
  execution: z.literal("client"),
  arguments: z.record(z.string(), z.unknown()),
});

const compactionItem = z.strictObject({
  id: z.string().regex(/^cmp_/),
  type: z.literal("compaction"),
  status: z.undefined().optional(),
  encrypted_content: z.string().min(1),
});

const outputItem = z.discriminatedUnion("type", [
  reasoningItem,
  messageItem,
  functionCallItem,
  customToolCallItem,
  toolSearchCallItem,
  compactionItem,
]);

const usage = z.strictObject({
  input_tokens: z.int(),
  input_tokens_details: z.strictObject({ cached_tokens: z.int(), cache_write_tokens: z.int() }),
  output_tokens: z.int(),
  output_tokens_details: z.strictObject({ reasoning_tokens: z.int() }),
  total_tokens: z.int(),
});

const functionTool = z.strictObject({
  type: z.literal("function"),
  name: z.string(),
  description: z.string().nullable(),
  parameters: z.record(z.string(), z.unknown()).nullable(),
  strict: z.boolean().nullable(),
});

const customTool = z.strictObject({
  type: z.literal("custom"),
  name: z.string(),
  description: z.string().optional(),
  format: z.looseObject({ type: z.enum(["text", "grammar"]) }),
});

const toolSearch = z.strictObject({
  type: z.literal("tool_search"),
  execution: z.literal("client"),
  description: z.string().nullable(),
  parameters: z.record(z.string(), z.unknown()).nullable(),
});

const namespaceTool = z.strictObject({
  type: z.literal("namespace"),
  name: z.string(),
  description: z.string(),
  tools: z.array(z.discriminatedUnion("type", [functionTool, customTool])),
});

const toolChoice = z.union([
  z.enum(["none", "auto", "required"]),
  z.strictObject({
    type: z.enum(["function", "custom"]),
    name: z.string(),
    namespace: z.string().optional(),
  }),
  z.strictObject({
    type: z.literal("allowed_tools"),
    mode: z.enum(["auto", "required"]),
    tools: z.array(z.strictObject({ type: z.literal("function"), name: z.string() })),
  }),
]);

const textFormat = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("text") }),
  z.strictObject({ type: z.literal("json_object") }),
  z.strictObject({
    type: z.literal("json_schema"),
    name: z.string(),
    description: z.string().nullable(),
    schema: z.record(z.string(), z.unknown()),
    strict: z.boolean(),
  }),
]);

export const responseObject = z.strictObject({
  id: z.string().regex(/^resp_/),
  object: z.literal("response"),
  created_at: z.int(),
  completed_at: z.int().nullable(),
  status: z.enum(["queued", "in_progress", "completed", "incomplete", "failed", "cancelled"]),
  incomplete_details: z
    .strictObject({ reason: z.enum(["max_output_tokens", "content_filter"]) })
    .nullable(),
  model: z.string(),
  previous_response_id: z.string().nullable(),
  instructions: z.string().nullable(),
  output: z.array(outputItem),
  error: z.strictObject({ code: z.string(), message: z.string() }).nullable(),
  tools: z.array(
    z.discriminatedUnion("type", [functionTool, customTool, namespaceTool, toolSearch]),
  ),
  tool_choice: toolChoice,
  truncation: z.enum(["auto", "disabled"]),
  parallel_tool_calls: z.boolean(),
  text: z.strictObject({
    format: textFormat,
    verbosity: z.enum(["low", "medium", "high"]).optional(),
  }),
  top_p: z.number(),
  presence_penalty: z.number(),
  frequency_penalty: z.number(),
  top_logprobs: z.int(),
  temperature: z.number(),
  reasoning: z.strictObject({
    effort: z.enum(["none", "low", "medium", "high"]),
    summary: z.enum(["auto", "concise", "detailed"]).nullable(),
    context: z.literal("current_turn").optional(),
  }),
  usage: usage.nullable(),
  max_output_tokens: z.int().nullable(),
  max_tool_calls: z.int().nullable(),
  store: z.boolean(),
  background: z.boolean(),
  service_tier: z.literal("default"),
  metadata: z.record(z.string(), z.string()),
  safety_identifier: z.string().nullable(),
  prompt_cache_key: z.string().nullable(),
  access_programs: z.null(),
  user: z.string().optional(),
  conversation: z.strictObject({ id: z.string() }).optional(),
});

export type ResponseObject = z.infer<typeof responseObject>;
export type OutputItem = z.infer<typeof outputItem>;

const numbered = { sequence_number: index };
const ofItem = { ...numbered, item_id: z.string(), output_index: index };
const ofPart = { ...ofItem, content_index: index };

function lifecycle<N extends string>(name: N) {
  return z.strictObject({
    type: z.literal(`response.${name}` as const),
    ...numbered,
    response: responseObject,
  });
}

const errorFields = {
  code: z.string().nullable(),
  message: z.string(),
  param: z.string().nullable(),
};

const common = [
  lifecycle("created"),
  lifecycle("queued"),
  lifecycle("in_progress"),
  lifecycle("completed"),
  lifecycle("incomplete"),
  lifecycle("failed"),
  z.strictObject({
    type: z.literal("response.output_item.added"),
    ...numbered,
    output_index: index,
    item: outputItem,
  }),
  z.strictObject({
    type: z.literal("response.output_item.done"),
    ...numbered,
    output_index: index,
    item: outputItem,
  }),
  z.strictObject({
    type: z.literal("response.content_part.added"),
    ...ofPart,
    part: z.discriminatedUnion("type", [outputText, reasoningText]),
  }),
  z.strictObject({
    type: z.literal("response.content_part.done"),
    ...ofPart,
    part: z.discriminatedUnion("type", [outputText, reasoningText]),
  }),
  z.strictObject({
    type: z.literal("response.output_text.delta"),
    ...ofPart,
    delta: z.string(),
    logprobs: z.array(logprob),
  }),
  z.strictObject({
    type: z.literal("response.output_text.done"),
    ...ofPart,
    text: z.string(),
    logprobs: z.array(logprob),
  }),
  z.strictObject({
    type: z.literal("response.function_call_arguments.delta"),
    ...ofItem,
    delta: z.string(),
  }),
  z.strictObject({
    type: z.literal("response.function_call_arguments.done"),
    ...ofItem,
    name: z.string(),
    arguments: z.string(),
  }),
  z.strictObject({
    type: z.enum(["response.reasoning_summary_part.added", "response.reasoning_summary_part.done"]),
    ...ofItem,
    summary_index: z.literal(0),
    part: z.strictObject({ type: z.literal("summary_text"), text: z.string() }),
  }),
  z.strictObject({
    type: z.literal("response.reasoning_summary_text.delta"),
    ...ofItem,
    summary_index: z.literal(0),
    delta: z.string(),
  }),
  z.strictObject({
    type: z.literal("response.reasoning_summary_text.done"),
    ...ofItem,
    summary_index: z.literal(0),
    text: z.string(),
  }),
  z.strictObject({
    type: z.literal("response.custom_tool_call_input.delta"),
    ...ofItem,
    delta: z.string(),
  }),
  z.strictObject({
    type: z.literal("response.custom_tool_call_input.done"),
    ...ofItem,
    input: z.string(),
  }),
  z.strictObject({
    type: z.literal("error"),
    ...numbered,
    ...errorFields,
    error: z.strictObject({ ...errorFields, type: z.string() }),
  }),
] as const;

/** The events that OpenAI's clients know. */
export const openAiEvent = z.discriminatedUnion("type", [
  ...common,
  z.strictObject({
    type: z.literal("response.reasoning_text.delta"),
    ...ofPart,
    delta: z.string(),
  }),
  z.strictObject({ type: z.literal("response.reasoning_text.done"), ...ofPart, text: z.string() }),
]);

/** The events that the Open Responses schema lists. */
export const openResponsesEvent = z.discriminatedUnion("type", [
  ...common,
  z.strictObject({ type: z.literal("response.reasoning.delta"), ...ofPart, delta: z.string() }),
  z.strictObject({ type: z.literal("response.reasoning.done"), ...ofPart, text: z.string() }),
]);

export type StreamEvent = z.infer<typeof openAiEvent> | z.infer<typeof openResponsesEvent>;

export const errorBody = z.strictObject({
  error: z.strictObject({ ...errorFields, type: z.string() }),
});
