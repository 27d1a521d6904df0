/** The schemas of output items, for the OpenAPI document. Their types are in `to-response.ts`; a test compares both. */
import * as z from "zod";
import { lazy } from "../../lazy.ts";

export const nullableText = lazy(() => z.string().nullable());

const status = lazy(() => z.enum(["in_progress", "completed", "incomplete"]));
const builtinStatus = lazy(() => z.enum(["in_progress", "completed", "failed", "incomplete"]));
const place = lazy(() => ({ id: z.string(), status: status() }));

const tokenShape = lazy(() => ({
  token: z.string(),
  bytes: z.array(z.int()),
  logprob: z.number(),
}));

export const logprobs = lazy(() =>
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

export const reasoningText = lazy(() =>
  z.object({ type: z.literal("reasoning_text"), text: z.string() }),
);
export const summaryText = lazy(() =>
  z.object({ type: z.literal("summary_text"), text: z.string() }),
);

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
        call_id: z.string(),
        execution: z.literal("client"),
        arguments: z.looseObject({}),
      }),
      z.object({ id: z.string(), type: z.literal("compaction"), encrypted_content: z.string() }),
    ] as const,
);

/** Calls that the gateway runs, with encrypted content if reasoning is encrypted. */
const builtinItems = lazy(() => {
  const shape = { id: z.string(), encrypted_content: z.string().optional() };
  return [
    z.object({
      ...shape,
      type: z.literal("web_search_call"),
      status: builtinStatus(),
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
      status: builtinStatus(),
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
      status: builtinStatus(),
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
  z.discriminatedUnion("type", [...modelItems(), ...builtinItems()]).meta({ id: "OutputItem" }),
);
