/**
 * The schemas of the Messages API's responses: the types of the code that writes them, and a part of the OpenAPI
 * document.
 */
import * as z from "zod";
import { engineState } from "../reply/reply-schema.ts";
import { lazy } from "../../lazy.ts";

const error = lazy(() =>
  z.object({
    type: z.string(),
    message: z.string(),
    /** Machine-readable details. */
    details: z.looseObject({}).optional(),
  }),
);

export const messagesErrorReply = lazy(() =>
  z
    .object({ type: z.literal("error"), error: error(), request_id: z.string() })
    .meta({ id: "MessagesError" }),
);

const citation = lazy(() =>
  z
    .object({
      type: z.literal("web_search_result_location"),
      cited_text: z.string(),
      encrypted_index: z.string(),
      title: z.string().nullable(),
      url: z.string(),
    })
    .meta({ id: "MessageCitation" }),
);

/** The error of a call that the gateway ran. */
function failureOf(type: string) {
  return z.object({ type: z.literal(type), error_code: z.string() });
}

/** Blocks of calls that the gateway runs. */
const serverToolBlocks = lazy(() => {
  const caller = z.object({ type: z.literal("direct") });
  const result = { tool_use_id: z.string() };
  return [
    z.object({
      type: z.literal("server_tool_use"),
      id: z.string(),
      name: z.enum([
        "web_search",
        "web_fetch",
        "code_execution",
        "tool_search_tool_bm25",
        "tool_search_tool_regex",
      ]),
      input: z.record(z.string(), z.string()),
      caller,
    }),
    z.object({
      type: z.literal("web_search_tool_result"),
      ...result,
      caller,
      content: z.union([
        z.array(
          z.object({
            type: z.literal("web_search_result"),
            title: z.string(),
            url: z.string(),
            encrypted_content: z.string(),
            page_age: z.null(),
          }),
        ),
        failureOf("web_search_tool_result_error"),
      ]),
    }),
    z.object({
      type: z.literal("web_fetch_tool_result"),
      ...result,
      caller,
      content: z.union([
        z.object({
          type: z.literal("web_fetch_result"),
          url: z.string(),
          retrieved_at: z.null(),
          content: z.object({
            type: z.literal("document"),
            source: z.object({
              type: z.literal("text"),
              media_type: z.literal("text/plain"),
              data: z.string(),
            }),
            title: z.string().nullable(),
            citations: z.object({ enabled: z.literal(false) }),
          }),
        }),
        failureOf("web_fetch_tool_result_error"),
      ]),
    }),
    z.object({
      type: z.literal("code_execution_tool_result"),
      ...result,
      content: z.union([
        z.object({
          type: z.literal("code_execution_result"),
          stdout: z.string(),
          stderr: z.string(),
          return_code: z.int(),
          content: z.array(
            z.object({ type: z.literal("code_execution_output"), file_id: z.string() }),
          ),
        }),
        failureOf("code_execution_tool_result_error"),
      ]),
    }),
    z.object({
      type: z.literal("mcp_tool_use"),
      id: z.string(),
      name: z.string(),
      server_name: z.string(),
      input: z.looseObject({}),
    }),
    z.object({
      type: z.literal("mcp_tool_result"),
      ...result,
      is_error: z.boolean(),
      content: z.array(z.object({ type: z.literal("text"), text: z.string() })),
    }),
    z.object({
      type: z.literal("tool_search_tool_result"),
      ...result,
      content: z.union([
        z.object({
          type: z.literal("tool_search_tool_search_result"),
          tool_references: z.array(
            z.object({ type: z.literal("tool_reference"), tool_name: z.string() }),
          ),
        }),
        failureOf("tool_search_tool_result_error"),
      ]),
    }),
  ] as const;
});

/** The summary of a conversation, for `compaction`. Null at the start of its block. */
const summary = lazy(() => ({ content: z.string().nullable(), encrypted_content: z.null() }));

const block = lazy(() =>
  z
    .discriminatedUnion("type", [
      z.object({
        type: z.literal("text"),
        text: z.string(),
        citations: z.array(citation()).optional(),
      }),
      ...serverToolBlocks(),
      z.object({ type: z.literal("thinking"), thinking: z.string(), signature: z.string() }),
      z.object({
        type: z.literal("tool_use"),
        id: z.string(),
        name: z.string(),
        input: z.looseObject({}),
        caller: z.object({ type: z.literal("direct") }),
      }),
      z.object({ type: z.literal("compaction"), ...summary() }),
    ])
    .meta({ id: "MessageBlock" }),
);

const stopReason = lazy(() =>
  z.enum(["end_turn", "max_tokens", "stop_sequence", "tool_use", "compaction"]),
);

const unknownUsage = lazy(() => ({
  cache_creation: z.null(),
  inference_geo: z.null(),
  service_tier: z.null(),
  speed: z.null(),
}));

const iteration = lazy(() => ({
  input_tokens: z.int(),
  cache_read_input_tokens: z.int(),
  cache_creation_input_tokens: z.int(),
  cache_creation: z.null(),
  output_tokens: z.int(),
}));

const usage = lazy(() =>
  z
    .object({
      input_tokens: z.int(),
      cache_read_input_tokens: z.int(),
      cache_creation_input_tokens: z.int(),
      output_tokens: z.int(),
      output_tokens_details: z.object({ thinking_tokens: z.int() }),
      server_tool_use: z
        .object({ web_search_requests: z.int(), web_fetch_requests: z.int() })
        .nullable(),
      /** Present in a reply whose conversation was compacted. */
      iterations: z
        .array(
          z.discriminatedUnion("type", [
            z.object({ type: z.literal("compaction"), ...iteration() }),
            z.object({ type: z.literal("message"), model: z.string(), ...iteration() }),
          ]),
        )
        .optional(),
    })
    .meta({ id: "MessageUsage" }),
);

const appliedEdits = lazy(() =>
  z.object({
    applied_edits: z.array(
      z.object({
        type: z.literal("clear_tool_uses_20250919"),
        cleared_tool_uses: z.int(),
        cleared_input_tokens: z.int(),
      }),
    ),
  }),
);

export const cacheMissReason = lazy(() =>
  z.discriminatedUnion("type", [
    z.object({
      type: z.enum(["model_changed", "system_changed", "tools_changed", "messages_changed"]),
      cache_missed_input_tokens: z.int(),
    }),
    z.object({ type: z.enum(["previous_message_not_found", "unavailable"]) }),
  ]),
);

const head = lazy(() => ({
  id: z.string(),
  diagnostics: z.object({ cache_miss_reason: cacheMissReason() }).nullable(),
  context_management: appliedEdits().optional(),
  type: z.literal("message"),
  role: z.literal("assistant"),
  model: z.string(),
}));

const stop = lazy(() => ({
  stop_reason: stopReason(),
  stop_sequence: z.string().nullable(),
  stop_details: z.null(),
  /** The interpreter that ran code. */
  container: z.object({ id: z.string(), expires_at: z.string(), skills: z.null() }).nullable(),
}));

export const message = lazy(() =>
  z
    .object({
      ...head(),
      content: z.array(block()),
      ...stop(),
      usage: usage().extend(unknownUsage()),
    })
    .meta({ id: "Message" }),
);

/** The data of an event. */
export const messageEvent = lazy(() => {
  const index = z.int();
  return z
    .discriminatedUnion("type", [
      z.object({
        type: z.literal("message_start"),
        message: z.object({
          ...head(),
          content: z.array(block()).max(0),
          stop_reason: z.null(),
          stop_sequence: z.null(),
          stop_details: z.null(),
          container: z.null(),
          usage: usage().extend({ ...unknownUsage(), output_tokens_details: z.null() }),
        }),
      }),
      z.object({ type: z.literal("content_block_start"), index, content_block: block() }),
      z.object({
        type: z.literal("content_block_delta"),
        index,
        delta: z.discriminatedUnion("type", [
          z.object({ type: z.literal("text_delta"), text: z.string() }),
          z.object({ type: z.literal("thinking_delta"), thinking: z.string() }),
          z.object({ type: z.literal("signature_delta"), signature: z.string() }),
          z.object({ type: z.literal("input_json_delta"), partial_json: z.string() }),
          z.object({ type: z.literal("citations_delta"), citation: citation() }),
          z.object({ type: z.literal("compaction_delta"), ...summary() }),
        ]),
      }),
      z.object({ type: z.literal("content_block_stop"), index }),
      z.object({
        type: z.literal("message_delta"),
        delta: z.object(stop()),
        usage: usage(),
        context_management: appliedEdits().optional(),
      }),
      z.object({ type: z.literal("message_stop") }),
      z.object({ type: z.literal("ping") }),
      z.object({ type: z.literal("error"), error: error(), request_id: z.string() }),
    ])
    .meta({ id: "MessageEvent" });
});

export const tokenCount = lazy(() =>
  z
    .object({
      input_tokens: z.int(),
      context_management: z.object({ original_input_tokens: z.int() }).optional(),
    })
    .meta({ id: "TokenCount" }),
);

/** Sent to requests with the header `anthropic-version`. */
export const messagesModel = lazy(() =>
  z
    .object({
      type: z.literal("model"),
      id: z.string(),
      display_name: z.string(),
      created_at: z.string(),
      max_input_tokens: z.int(),
      max_tokens: z.int(),
      state: engineState(),
      lifecycle: z.literal("active"),
      deprecated_at: z.null(),
      retires_at: z.null(),
      line: z.null(),
      capabilities: z.looseObject({}),
    })
    .meta({ id: "MessagesModel" }),
);

export const messagesModelList = lazy(() =>
  z
    .object({
      data: z.array(messagesModel()),
      has_more: z.boolean(),
      first_id: z.string().nullable(),
      last_id: z.string().nullable(),
    })
    .meta({ id: "MessagesModelList" }),
);
