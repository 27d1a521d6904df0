/**
 * The content blocks of a message. A block of an unknown kind is accepted and reported: kinds are added often, and
 * clients send received blocks back.
 */
import * as z from "zod";
import { lazy } from "../../lazy.ts";
import { SERVER_TOOL_ID } from "./server-tool-blocks.ts";

export const textLike = lazy(() => z.string().nullish());

const text = lazy(() =>
  z.object({ type: z.literal("text"), text: z.string(), citations: z.unknown().optional() }),
);

/** Neither member is required: the signature is decrypted if possible, and the text is used otherwise. */
const thinking = lazy(() =>
  z.object({ type: z.literal("thinking"), thinking: textLike(), signature: textLike() }),
);

const redactedThinking = lazy(() =>
  z.object({ type: z.literal("redacted_thinking"), data: textLike() }),
);

const toolUse = lazy(() =>
  z.object({
    type: z.literal("tool_use"),
    id: z.string().min(1),
    name: z.string().min(1),
    input: z.unknown().optional(),
  }),
);

/** Only sources that contain text are read. */
const documentSource = lazy(() =>
  z.looseObject({
    type: z.string(),
    data: textLike(),
    content: z.union([z.string(), z.array(z.looseObject({ type: z.string() }))]).nullish(),
  }),
);

const searchResult = lazy(() =>
  z.object({
    type: z.literal("search_result"),
    source: textLike(),
    title: textLike(),
    content: z.array(z.looseObject({ type: z.string(), text: textLike() })).nullish(),
  }),
);

const media = lazy(() => [
  // The source is read by `media/`, which reports invalid images to the model.
  z.object({ type: z.literal("image"), source: z.unknown().optional() }),
  z.object({
    type: z.literal("document"),
    source: documentSource().nullish(),
    title: textLike(),
  }),
]);

const toolReference = lazy(() =>
  z.object({ type: z.literal("tool_reference"), tool_name: z.string() }),
);

/** A block of an unsupported kind: written by another model, or newer than this gateway. */
function otherThan(known: ReadonlySet<string>) {
  return z
    .looseObject({ type: z.string() })
    .refine(({ type }) => !known.has(type), "is not complete")
    .transform(({ type }) => ({ type: "unsupported" as const, kind: type }));
}

const RESULT_KINDS: ReadonlySet<string> = new Set([
  "text",
  "image",
  "document",
  "search_result",
  "tool_reference",
]);

const resultBlock = lazy(() =>
  z.union([
    z.discriminatedUnion("type", [text(), ...media(), searchResult(), toolReference()]),
    otherThan(RESULT_KINDS),
  ]),
);

const toolResult = lazy(() =>
  z.object({
    type: z.literal("tool_result"),
    tool_use_id: z.string(),
    content: z
      .union([z.string(), z.array(resultBlock())], {
        error: "must be a string or an array of content blocks",
      })
      .nullish(),
    is_error: z.boolean().nullish(),
  }),
);

const compaction = lazy(() => z.object({ type: z.literal("compaction"), content: textLike() }));

/** The result of a tool search, of this gateway or of Anthropic's servers. It names tools, like a `tool_reference`. */
const toolSearchResult = lazy(() =>
  z.object({
    type: z.literal("tool_search_tool_result"),
    tool_use_id: textLike(),
    content: z.looseObject({ tool_references: z.array(toolReference()).nullish() }).nullish(),
  }),
);

/** Blocks of Anthropic's betas: a tool is offered, or no longer offered, from the block's message on. */
const toolChanges = lazy(() => [
  z.object({
    type: z.literal("tool_addition"),
    /** A name in `tools`, or a definition, which is read like an entry of `tools`. */
    tool: z.looseObject({ name: textLike(), definition: z.unknown().optional() }),
  }),
  z.object({ type: z.literal("tool_removal"), tool: z.looseObject({ name: textLike() }) }),
]);

/** A call that this gateway ran. Calls of other servers are blocks of an unsupported kind. */
const serverToolUse = lazy(() =>
  z.object({
    type: z.literal("server_tool_use"),
    id: z.string().regex(SERVER_TOOL_ID),
    input: z.unknown().optional(),
  }),
);

const mcpToolUse = lazy(() =>
  z.object({
    type: z.literal("mcp_tool_use"),
    id: z.string(),
    name: z.string(),
    server_name: z.string(),
    input: z.unknown().optional(),
  }),
);

const mcpToolResult = lazy(() =>
  z.object({
    type: z.literal("mcp_tool_result"),
    tool_use_id: z.string(),
    content: z
      .union([z.string(), z.array(z.looseObject({ type: z.string(), text: textLike() }))])
      .nullish(),
    is_error: z.boolean().nullish(),
  }),
);

/** The result of a call that this gateway ran. A search result contains the encrypted call in one of its entries. */
const serverResult = lazy(() =>
  z.object({
    type: z.enum(["web_search_tool_result", "web_fetch_tool_result", "code_execution_tool_result"]),
    tool_use_id: z.string().regex(SERVER_TOOL_ID),
    content: z.union([
      z.array(z.looseObject({ encrypted_content: textLike() })),
      z.unknown().transform(() => []),
    ]),
  }),
);

const BLOCK_KINDS: ReadonlySet<string> = new Set([
  "text",
  "thinking",
  "redacted_thinking",
  "tool_use",
  "tool_result",
  "image",
  "document",
  "search_result",
  "compaction",
  "tool_search_tool_result",
  "tool_addition",
  "tool_removal",
  "mcp_tool_use",
  "mcp_tool_result",
]);

export const block = lazy(() =>
  z.union([
    z.discriminatedUnion("type", [
      text(),
      thinking(),
      redactedThinking(),
      toolUse(),
      toolResult(),
      ...media(),
      searchResult(),
      compaction(),
      toolSearchResult(),
      ...toolChanges(),
      mcpToolUse(),
      mcpToolResult(),
      serverToolUse(),
      serverResult(),
    ]),
    otherThan(BLOCK_KINDS),
  ]),
);

export type Block = z.infer<ReturnType<typeof block>>;
export type ResultBlock = z.infer<ReturnType<typeof resultBlock>>;
