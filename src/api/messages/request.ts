/**
 * The request bodies of `POST /v1/messages` and `/v1/messages/count_tokens`: Anthropic's fields, of any version of the
 * API.
 *
 * Unknown fields and unknown kinds of content blocks are accepted, because both change weekly and clients
 * send back what they received. A known field of the wrong type is answered with a 400 that names it. `null`
 * always means absent.
 */
import * as z from "zod";
import { lazy } from "../../lazy.ts";
import { anyEffort } from "../request/reasoning-options.ts";
import { type RequestOf, RequestSchema } from "../request/request-schema.ts";
import { samplingFields } from "../request/sampling.ts";
import { block, textLike } from "./block-schema.ts";

const CONTENT = "must be a string or an array of content blocks";

/** A message. In Anthropic's betas, a `system` message may set the effort from there on, and then needs no content. */
const message = lazy(() =>
  z
    .object({
      role: z.enum(["user", "assistant", "system"]),
      content: z.union([z.string(), z.array(block())], { error: CONTENT }).nullish(),
      output_config: z.looseObject({ effort: anyEffort().nullish() }).nullish().catch(undefined),
      clear_at: textLike().catch(undefined),
    })
    .refine(
      ({ role, content, output_config: config }) =>
        content != null || (role === "system" && config != null),
      { path: ["content"], error: CONTENT },
    )
    .transform(({ content, ...rest }) => ({ ...rest, content: content ?? [] })),
);

/**
 * An MCP server of Anthropic's beta. In its first version the tools are configured here, in the second in an
 * `mcp_toolset` of `tools`.
 */
const mcpServer = lazy(() =>
  z.object({
    name: z.string(),
    /** Absent: the server is one of the operator's. */
    url: textLike(),
    authorization_token: textLike(),
    tool_configuration: z
      .object({ enabled: z.boolean().nullish(), allowed_tools: z.array(z.string()).nullish() })
      .nullish(),
  }),
);

const customTool = lazy(() =>
  z
    .object({
      type: z.literal("custom").nullish(),
      name: z
        .string()
        .regex(/^[\w.-]{1,128}$/, "must be 1 to 128 letters, digits, underscores, dots or dashes"),
      description: textLike(),
      input_schema: z.record(z.string(), z.unknown()).nullish(),
      strict: z.boolean().nullish(),
      defer_loading: z.boolean().nullish(),
    })
    .transform((tool) => ({ ...tool, type: "custom" as const })),
);

/** A tool that Anthropic runs, or whose schema is built into its models, such as `web_search_20250305`. */
const serverTool = lazy(() =>
  z
    .looseObject({ type: z.string(), name: textLike() })
    .refine(({ type }) => type !== "custom", "is not complete")
    .transform((fields) => ({
      type: "hosted" as const,
      kind: fields.type,
      name: fields.name ?? fields.type,
      fields,
    })),
);

export const tool = lazy(() => z.union([customTool(), serverTool()]));

const parallel = lazy(() => ({ disable_parallel_tool_use: z.boolean().nullish() }));

const toolChoice = lazy(() =>
  z.discriminatedUnion("type", [
    z.object({ type: z.literal("auto"), ...parallel() }),
    z.object({ type: z.literal("any"), ...parallel() }),
    z.object({ type: z.literal("tool"), name: z.string(), ...parallel() }),
    z.object({ type: z.literal("none") }),
  ]),
);

/** Types and displays are added often. Unknown types count as `adaptive`, unknown displays as shown. */
const thinkingConfig = lazy(() =>
  z.object({
    type: z.string(),
    budget_tokens: z.int().min(0).nullish(),
    display: textLike(),
  }),
);

const outputFormat = lazy(() =>
  z.object({ type: z.literal("json_schema"), schema: z.record(z.string(), z.unknown()) }),
);

/** Limits the text that the gateway holds back. */
const MAX_STOP_LENGTH = 1_000;
/** Anthropic documents no limit. Matching takes one step per character for any number of sequences. */
const MAX_STOP_SEQUENCES = 256;

const amount = <T extends string>(types: readonly [T, ...T[]]) =>
  z.object({ type: z.enum(types), value: z.int().min(0) });

/** Maximum length of a list of tool names: a request has at most this many tools. */
const MAX_TOOL_NAMES = 512;

const clearToolUses = lazy(() =>
  z.object({
    type: z.literal("clear_tool_uses_20250919"),
    trigger: amount(["input_tokens", "tool_uses"]).nullish(),
    keep: amount(["tool_uses"]).nullish(),
    clear_at_least: amount(["input_tokens"]).nullish(),
    exclude_tools: z.array(z.string()).max(MAX_TOOL_NAMES).nullish(),
    clear_tool_inputs: z.union([z.boolean(), z.array(z.string()).max(MAX_TOOL_NAMES)]).nullish(),
  }),
);

const clearThinking = lazy(() =>
  z.object({
    type: z.literal("clear_thinking_20251015"),
    keep: z
      .union([z.literal("all"), z.object({ type: z.literal("all") }), amount(["thinking_turns"])])
      .nullish(),
  }),
);

const compact = lazy(() =>
  z.object({
    type: z.literal("compact_20260112"),
    trigger: amount(["input_tokens"]).nullish(),
    pause_after_compaction: z.boolean().nullish(),
    instructions: textLike(),
  }),
);

const unknownEdit = lazy(() =>
  z
    .looseObject({ type: z.string().max(128) })
    .refine(
      ({ type }) =>
        !/^(?:clear_tool_uses_20250919|clear_thinking_20251015|compact_20260112)$/.test(type),
      "is not complete",
    )
    .transform(({ type }) => ({ type: "unknown" as const, kind: type })),
);

/** Maximum number of edits: each may require making the prompt again. */
const MAX_EDITS = 8;

const contextManagement = lazy(() =>
  z.object({
    edits: z
      .array(z.union([clearToolUses(), clearThinking(), compact(), unknownEdit()]))
      .max(MAX_EDITS)
      .nullish(),
  }),
);

const promptFields = {
  /** Absent: the first served model. */
  model: textLike,
  /** OpenRouter's other models, if `model` is not served. */
  models: () => z.array(z.string()).nullish(),
  /** OpenRouter's field for a preset. */
  preset: textLike,
  messages: () => z.array(message()).min(1, "must contain at least one message"),
  system: () =>
    z
      .union([z.string(), z.array(z.looseObject({ type: z.string(), text: textLike() }))], {
        error: "must be a string or an array of text blocks",
      })
      .nullish(),
  tools: () => z.array(tool()).nullish(),
  tool_choice: () => toolChoice().nullish(),
  thinking: () => thinkingConfig().nullish(),
  /** The id of the interpreter to resume, from an earlier message. */
  container: () =>
    z
      .union([z.string(), z.looseObject({ id: textLike() }).transform(({ id }) => id)])
      .nullish()
      .catch(undefined),
  output_config: () =>
    z
      .object({
        effort: anyEffort().nullish(),
        format: outputFormat().nullish(),
      })
      .nullish(),
  /** The older name of `output_config.format`. */
  output_format: () => outputFormat().nullish(),
  /** From Anthropic's beta. */
  context_management: () => contextManagement().nullish(),
  /** Field of Anthropic's beta: the reply is a summary of the conversation. */
  compaction: () => z.object({ type: z.literal("summarize"), instructions: textLike() }).nullish(),
  /** From Anthropic's beta. */
  mcp_servers: () => z.array(mcpServer()).nullish(),
  /** OpenRouter's field. Its plugins are reported as skipped. */
  plugins: () => z.unknown().optional(),
  /** Conversations stored on the server: refused with an error that clients understand. */
  thread: () => z.unknown().optional(),
  /** Server-side checks of tool calls. After an error that names this field, Claude Code runs them itself. */
  safeguards: () => z.unknown().optional(),
};

const turnFields = {
  /** The message whose prompt is compared. Null or absent: there is none, but this one is kept. */
  diagnostics: () => z.object({ previous_message_id: textLike() }).nullish(),
  stop_sequences: () => z.array(z.string().max(MAX_STOP_LENGTH)).max(MAX_STOP_SEQUENCES).nullish(),
  stream: () => z.boolean().nullish(),
  /** llama-server's field, as on Chat Completions. */
  return_progress: () => z.boolean().nullish(),
  temperature: samplingFields.temperature,
  top_p: samplingFields.top_p,
  top_k: samplingFields.top_k,
};

export const messagesRequest = new RequestSchema(
  { ...promptFields, ...turnFields, max_tokens: () => z.int().min(0) },
  ["messages", "max_tokens"],
);

export const countRequest = new RequestSchema(promptFields, ["messages"]);

export type ClearToolUses = z.infer<ReturnType<typeof clearToolUses>>;
export type CountRequest = RequestOf<typeof countRequest>;
export type MessagesRequest = RequestOf<typeof messagesRequest>;
export type WireMessage = z.infer<ReturnType<typeof message>>;
