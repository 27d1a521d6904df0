/**
 * Harmony, the conversation format of gpt-oss: conversations to ids and back. Usable on its own, on any
 * runtime.
 */

// Conversations
export type {
  Channel,
  ContentPart,
  Conversation,
  DeveloperContent,
  Message,
  ReasoningEffort,
  ResponseFormat,
  Role,
  SystemContent,
  TextContent,
  ToolFunction,
  ToolNamespace,
} from "./conversation.ts";

// JSON that keeps the order of keys and the spelling of numbers, for schemas
export {
  fromPlainJson,
  isJsonArray,
  isJsonObject,
  JsonSyntaxError,
  MAX_JSON_DEPTH,
  parseJson,
  toCompactJson,
} from "./json.ts";
export type { Json, JsonNumber, JsonObject } from "./json.ts";
export { memberText } from "./json-member.ts";

// Chain of thought: analysis left out of the next prompt
export { dropAnalysisLikeReference, dropFinishedAnalysis } from "./analysis.ts";
export type { DroppedMessage, DropResult } from "./analysis.ts";

// Rendering: conversation to ids
export { createRenderer } from "./render.ts";
export type { Renderer, RendererOptions } from "./render.ts";
export type { Layout, Opening } from "./message-layout.ts";
export { HarmonyRenderError } from "./render-error.ts";
export type { RenderErrorCode } from "./render-error.ts";
export type { AppendedSegment, RenderedPrompt, RenderedSegment, Segment } from "./prompt.ts";
export type { Piece } from "./pieces.ts";
export { breakControlSpellings, toPromptText } from "./prompt-text.ts";
export type { PromptText, PromptTextOptions } from "./prompt-text.ts";

// Training: which ids count
export { lossMask } from "./loss-mask.ts";
export type { LossMask } from "./loss-mask.ts";

// Parsing: the model's output to events
export { createParser, toFinishReason } from "./parse.ts";
export type {
  BodyTokens,
  SystemTool,
  ParseEvent,
  Parser,
  ParserOptions,
  ParserPiece,
  PartHeader,
  PartKind,
  Recovery,
} from "./parse.ts";

// Parsing: whole transcripts, to messages
export { type ParsedConversation, parseConversation } from "./transcript.ts";
export { TranscriptError, type TranscriptErrorCode } from "./transcript-error.ts";
export type { MessageEnd, TranscriptMessage } from "./transcript-message.ts";
export {
  createTranscriptParser,
  type TranscriptOptions,
  type TranscriptParser,
  type TranscriptProblem,
} from "./transcript-parser.ts";
export { readDeveloperText, readParts, readSystemText } from "./read-parts.ts";

// The parts of rendered messages
export { bodyText, offersFunctions } from "./body.ts";
export { developerText } from "./developer-message.ts";
export { systemText } from "./system-message.ts";
export { toolsSection } from "./tools.ts";

// Tokens
export {
  CALL,
  CHANNEL,
  CONSTRAIN,
  END,
  END_OF_TEXT,
  MESSAGE,
  RETURN,
  START,
  STOP_IDS,
} from "./tokens.ts";

// The tools that gpt-oss was trained with, for programs that run them
export {
  BROWSER_NAMESPACE,
  PYTHON_DESCRIPTIONS,
  PYTHON_NAMESPACE,
  trainedCallMessage,
  trainedResultMessage,
} from "./trained-tools.ts";
