/**
 * OpenChatML 2.2, a text format for whole conversations: reading, writing and conversion. Usable on its own,
 * on any runtime.
 */

// Documents
export type {
  Channel,
  Document,
  DocumentHeader,
  HeaderValue,
  Message,
  ParsedDocument,
  Role,
  Terminator,
} from "./document.ts";
export { OpenChatMLError } from "./errors.ts";
export type { ErrorCode, Warning, WarningCode } from "./errors.ts";

// Text to documents and back
export { parseOpenChatML } from "./parse.ts";
export type { ParseOptions } from "./parse.ts";
export { renderOpenChatML } from "./render.ts";
export type { RenderOptions } from "./render.ts";
export type { ToolSchemas } from "./tool-schemas.ts";

// Text as it streams in
export { createOpenChatMLStream } from "./stream.ts";
export type { OpenChatMLStream, StreamEvent, StreamOptions } from "./stream.ts";

// Messages shown to users, and messages kept for the model
export { keptForSampling, viewOpenChatML } from "./view.ts";
export type { SamplingOptions, ViewOptions } from "./view.ts";

// Other forms
export { fromHarmony } from "./from-harmony.ts";
export type { FromHarmonyOptions, OpenChatMLResult } from "./from-harmony.ts";
export { toHarmony } from "./to-harmony.ts";
export type { HarmonyResult, ToHarmonyOptions } from "./to-harmony.ts";
export { readToolReply, toChatMessages, toJsonMessages } from "./projection.ts";
export type { ChatAssistantMessage, ChatMessage, JsonMessage, ToolReply } from "./projection.ts";
