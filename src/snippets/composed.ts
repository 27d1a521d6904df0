/**
 * A conversation with its options, in the form of no API. Bodies of all three APIs are made from it and read back to it, so that
 * one can be sent as another.
 */

/** What an API sent with a thought, and expects back unread: encrypted reasoning, or a signature. */
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
      /** As the model wrote them: JSON, mostly. */
      readonly arguments: string;
      /** Undefined: not answered yet. */
      readonly result?: string;
    };

/** A picture or a document beside the text of a message. */
export interface Attachment {
  readonly name: string;
  /** A data URL, as a rule. */
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

/** Each absent option is left to the gateway. */
export interface ComposedOptions {
  readonly effort?: string;
  /** Tokens of reasoning. Takes the place of the effort. */
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
  /** Tools that the gateway or an MCP server runs, as the API wants them. */
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

/** The name of a schema, where an API wants one. */
export const SCHEMA_NAME = "answer";

/** Without members that are undefined. */
export function compact(members: Record<string, unknown>): Body {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

/** Steps of an assistant's message: what was written until the calls that end a step, and what follows their results. */
export function toSteps(parts: readonly AssistantPart[]): readonly (readonly AssistantPart[])[] {
  const steps: AssistantPart[][] = [[]];
  for (const [index, part] of parts.entries()) {
    if (part.type !== "call" && parts[index - 1]?.type === "call") steps.push([]);
    steps.at(-1)?.push(part);
  }
  return steps.filter((step) => step.length > 0);
}
