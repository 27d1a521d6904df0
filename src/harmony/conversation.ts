/**
 * The Harmony data model: messages with an author, a channel, a recipient and content.
 *
 * Words and meaning follow the openai/harmony library. An optional field that is absent means "not
 * set"; an empty string is a value and is written.
 */
import type { Json } from "./json.ts";
import type { Sampled } from "./sampled-step.ts";

export type Role = "system" | "developer" | "user" | "assistant" | "tool";

/** The channels the model is trained on. Others are representable: `Message.channel` is a string. */
export type Channel = "analysis" | "commentary" | "final";

/** Where the recipient stands: ` to=f<|channel|>commentary json` or `<|channel|>commentary to=f json`. */
export type HeaderOrder = "recipient-first" | "channel-first";

/** How much the model reasons, as the system message states it. */
export type ReasoningEffort = "low" | "medium" | "high";

export interface Message {
  readonly role: Role;
  /** Appended to the role. For role `tool` it replaces the role and is required. */
  readonly name?: string;
  /** The recipient of the message: `functions.get_weather`, `assistant`. `all` is not written. */
  readonly recipient?: string;
  readonly channel?: string;
  /** For instance `<|constrain|>json`. */
  readonly contentType?: string;
  /** How the model wrote the header of a call, if that is known: it is written so in any layout. */
  readonly order?: HeaderOrder;
  /** With `order`: no space stands before the marker of the content type, `to=functions.f<|constrain|>json`. */
  readonly isJoined?: boolean;
  /** What is known of how the model sampled the message. With `pieces`, it is written with their ids, whatever the other fields are. */
  readonly sampled?: Sampled;
  /** A string is one text part. */
  readonly content: string | readonly ContentPart[];
}

export type ContentPart = TextContent | SystemContent | DeveloperContent;

export interface TextContent {
  readonly type: "text";
  readonly text: string;
}

/** The system message: model identity, reasoning effort and valid channels. */
export interface SystemContent {
  readonly type: "system";
  readonly identity?: string;
  readonly effort?: ReasoningEffort;
  readonly knowledgeCutoff?: string;
  /** Written unchanged. The model knows ISO dates, `YYYY-MM-DD`. */
  readonly date?: string;
  /** Absent: no channel section. */
  readonly channels?: readonly string[];
  readonly channelsRequired?: boolean;
  readonly namespaces?: readonly ToolNamespace[];
}

/** The developer message: instructions, functions and response formats. */
export interface DeveloperContent {
  readonly type: "developer";
  readonly instructions?: string;
  readonly namespaces?: readonly ToolNamespace[];
  /** Not known to the reference library; written last, as OpenAI's Harmony guide describes. */
  readonly responseFormats?: readonly ResponseFormat[];
}

/** A `# Tools` group. Namespaces are sorted by `key` and printed by `name`. */
export interface ToolNamespace {
  readonly key: string;
  readonly name: string;
  readonly description?: string;
  readonly functions: readonly ToolFunction[];
}

export interface ToolFunction {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments; absent means the function takes none. */
  readonly parameters?: Json;
}

/** A named JSON Schema for the final answer. */
export interface ResponseFormat {
  readonly name: string;
  readonly description?: string;
  readonly schema: Json;
}

export interface Conversation {
  readonly messages: readonly Message[];
}
