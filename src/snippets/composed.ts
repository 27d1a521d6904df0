/**
 * A conversation with its options, independent of the API. It converts to the bodies of all three APIs and back, so that one can
 * be sent as another.
 */

/** Content of a thought that an API expects back unread: encrypted reasoning, or a signature. */
export interface SealedThought {
  readonly api: ApiName;
  readonly value: object;
}

export type AssistantPart =
  | { readonly type: "reasoning"; readonly text: string; readonly sealed?: SealedThought }
  | { readonly type: "text"; readonly text: string }
  | {
      readonly type: "call";
      readonly id: string;
      readonly name: string;
      /** Arguments as the model wrote them, usually JSON. */
      readonly arguments: string;
      /** Result of the call. Undefined: not answered yet. */
      readonly result?: string;
    };

/** A picture or a document beside the text of a message. */
export interface Attachment {
  readonly name: string;
  /** URL, usually a data URL. */
  readonly url: string;
}

export type ComposedMessage =
  | { readonly role: "user"; readonly text: string; readonly files?: readonly Attachment[] }
  | { readonly role: "assistant"; readonly parts: readonly AssistantPart[] };

export interface FunctionTool {
  readonly name: string;
  readonly description?: string;
  readonly parameters?: object;
  readonly strict?: boolean;
}

export type ToolChoice = "auto" | "none" | "required" | { readonly name: string };

export type ComposedFormat =
  | { readonly type: "object" }
  | { readonly type: "schema"; readonly name: string; readonly schema: object };

/** Options of a request. The gateway decides on absent ones. */
export interface ComposedOptions {
  readonly effort?: string;
  /** Tokens of reasoning, in place of the effort. */
  readonly budget?: number;
  readonly temperature?: number;
  readonly topP?: number;
  readonly maxTokens?: number;
  readonly stop?: readonly string[];
  readonly seed?: number;
  readonly format?: ComposedFormat;
  readonly toolChoice?: ToolChoice;
  readonly parallelCalls?: boolean;
}

export interface Composed {
  readonly model: string;
  readonly system?: string;
  readonly messages: readonly ComposedMessage[];
  readonly tools: readonly FunctionTool[];
  /** Tools that the gateway or an MCP server runs, in the API's form. */
  readonly hosted?: readonly object[];
  readonly options: ComposedOptions;
}

export type ApiName = "chat" | "responses" | "messages";

export const API_PATHS: Readonly<Record<ApiName, string>> = {
  chat: "/v1/chat/completions",
  responses: "/v1/responses",
  messages: "/v1/messages",
};

export type Body = Readonly<Record<string, unknown>>;

/** The name of a schema, where an API requires one. */
export const SCHEMA_NAME = "answer";

/** Removes members that are undefined. */
export function compact(members: Record<string, unknown>): Body {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

/** Splits an assistant's message into steps: parts up to the calls that end a step, and parts after their results. */
export function toSteps(parts: readonly AssistantPart[]): readonly (readonly AssistantPart[])[] {
  const steps: AssistantPart[][] = [[]];
  for (const [index, part] of parts.entries()) {
    if (part.type !== "call" && parts[index - 1]?.type === "call") steps.push([]);
    steps.at(-1)?.push(part);
  }
  return steps.filter((step) => step.length > 0);
}
