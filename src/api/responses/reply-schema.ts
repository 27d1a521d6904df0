/**
 * The schemas of the Responses API's responses, for the OpenAPI document. The types of the code that writes them are in
 * `to-response.ts`; a test compares both.
 */
import * as z from "zod";
import { lazy } from "../../lazy.ts";
import { nullableText, outputItem } from "./item-schema.ts";

export const errorShape = lazy(() => ({
  message: z.string(),
  type: z.string(),
  param: nullableText(),
  code: nullableText(),
}));

export const responsesErrorReply = lazy(() =>
  z.object({ error: z.object(errorShape()) }).meta({ id: "ResponsesError" }),
);

/** Returned as it was sent, with an id. */
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

/** Tools, formats and choices are returned as the request declared them. */
const declared = lazy(() => z.looseObject({ type: z.string() }));

export const response = lazy(() =>
  z
    .object({
      id: z.string(),
      object: z.literal("response"),
      created_at: z.int(),
      completed_at: z.int().nullable(),
      status: z.enum(["queued", "in_progress", "completed", "incomplete", "failed", "cancelled"]),
      incomplete_details: z.object({ reason: z.literal("max_output_tokens") }).nullable(),
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
