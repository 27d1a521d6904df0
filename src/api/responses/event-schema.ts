/** The schema of the events of a streamed response, for the OpenAPI document. */
import * as z from "zod";
import { lazy } from "../../lazy.ts";
import {
  logprobs,
  nullableText,
  outputItem,
  outputText,
  reasoningText,
  summaryText,
  urlCitation,
} from "./item-schema.ts";
import { errorShape, response } from "./reply-schema.ts";

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
    /** With the complete arguments of a function. */
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
