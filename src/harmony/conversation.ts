/**
 * The Harmony data model: messages with an author, a channel, a recipient and content.
 *
 * Words and meaning follow the openai/harmony library. An optional field that is absent means "not
 * set"; an empty string is a value and is written.
 */
import type { Json } from "./json.ts";
import type { Sampled } from "./sampled-step.ts";

export type Role = "system" | "developer" | "user" | "assistant" | "tool";

/** The channels the model is trained on. `Message.channel` is a string, so other channels can be represented. */
export type Channel = "analysis" | "commentary" | "final";

/** The position of the recipient: ` to=f<|channel|>commentary json` or `<|channel|>commentary to=f json`. */
export type HeaderOrder = "recipient-first" | "channel-first";

/** The reasoning effort in the system message. */
export type ReasoningEffort = "low" | "medium" | "high";

export interface Message {
  readonly role: Role;
  /** Appended to the role. For role `tool` it replaces the role and is required. */
  readonly name?: string;
  /** The recipient of the message: `functions.get_weather`, `assistant`. `all` is not written. */
  readonly recipient?: string;
  readonly channel?: string;
  /** The content type, for instance `<|constrain|>json`. */
  readonly contentType?: string;
  /** The order in which the model wrote the header of a call, if known. It is kept in every layout. */
  readonly order?: HeaderOrder;
  /** With `order`: the marker of the content type follows without a space, `to=functions.f<|constrain|>json`. */
  readonly isJoined?: boolean;
  /**
   * The sampled form of the message, if known. With `pieces`, their ids are rendered, whatever the other fields are.
   */
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
  /** The current date, written unchanged. The model knows ISO dates, `YYYY-MM-DD`. */
  readonly date?: string;
  /** The valid channels. Absent: no channel section. */
  readonly channels?: readonly string[];
  readonly channelsRequired?: boolean;
  readonly namespaces?: readonly ToolNamespace[];
}

/** The developer message: instructions, functions and response formats. */
export interface DeveloperContent {
  readonly type: "developer";
  readonly instructions?: string;
  readonly namespaces?: readonly ToolNamespace[];
  /** Response formats, written last, as OpenAI's Harmony guide describes. The reference library has none. */
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
