/**
 * Creates the messages of a conversation in the form the model was trained on.
 *
 * Every API converts its items to these messages, so that equal histories result in equal prompts.
 */
import type {
  Message,
  ReasoningEffort,
  ResponseFormat,
  SystemContent,
  ToolFunction,
  ToolNamespace,
} from "./conversation.ts";

/** The operator's choices for the system message. */
export interface SystemOptions {
  readonly identity: string;
  readonly knowledgeCutoff?: string;
  /** ISO date, passed by the caller instead of read from a clock, so that prompts are reproducible. */
  readonly date?: string;
  readonly effort: ReasoningEffort;
  /** Tools the model was trained with: `browser`, `python`. */
  readonly namespaces?: readonly ToolNamespace[];
}

export function systemMessage(options: SystemOptions): Message {
  const content: SystemContent = {
    type: "system",
    identity: options.identity,
    effort: options.effort,
    channels: ["analysis", "commentary", "final"],
    channelsRequired: true,
    ...(options.knowledgeCutoff !== undefined && { knowledgeCutoff: options.knowledgeCutoff }),
    ...(options.date !== undefined && { date: options.date }),
    ...(options.namespaces?.length && { namespaces: options.namespaces }),
  };
  return { role: "system", content: [content] };
}

/** The namespace of functions without their own. */
export const FUNCTIONS = "functions";

/** The recipient of a function's calls. */
export function functionRecipient(name: string): string {
  return `${FUNCTIONS}.${toHeaderName(name)}`;
}

/**
 * Makes an external name safe in a header: white space would end the name, and the text after it would be read as a
 * recipient or a channel. Valid names of tools are unchanged.
 */
export function toHeaderName(name: string): string {
  if (/^[\w.-]{1,128}$/.test(name)) return name;
  return name.slice(0, MAX_NAME_LENGTH).replaceAll(/[^\p{L}\p{N}_.:/@$+-]+/gu, "_");
}

const MAX_NAME_LENGTH = 256;

interface DeveloperOptions {
  readonly instructions?: string;
  readonly functions?: readonly ToolFunction[];
  /** Further namespaces next to `functions`. Namespaces without functions are left out. */
  readonly namespaces?: readonly ToolNamespace[];
  readonly responseFormat?: ResponseFormat;
}

/** Returns undefined if there is no content: an empty developer message is better omitted. */
export function developerMessage(options: DeveloperOptions): Message | undefined {
  const { functions = [], responseFormat } = options;
  const instructions = options.instructions === "" ? undefined : options.instructions;
  const namespaces = [
    { key: FUNCTIONS, name: FUNCTIONS, functions },
    ...(options.namespaces ?? []),
  ].filter((namespace) => namespace.functions.length > 0);
  if (instructions === undefined && namespaces.length === 0 && responseFormat === undefined) {
    return undefined;
  }
  return {
    role: "developer",
    content: [
      {
        type: "developer",
        ...(instructions !== undefined && { instructions }),
        ...(namespaces.length > 0 && { namespaces }),
        ...(responseFormat !== undefined && { responseFormats: [responseFormat] }),
      },
    ],
  };
}

/** `name`: tells several users apart; without spaces. The header becomes `user:alice`. */
export function userMessage(text: string, name?: string): Message {
  return { role: "user", ...(name !== undefined && { name }), content: text };
}

/** Chain of thought. */
export function analysisMessage(text: string): Message {
  return { role: "assistant", channel: "analysis", content: text };
}

/** Commentary for the user, before a call. */
export function preambleMessage(text: string): Message {
  return { role: "assistant", channel: "commentary", content: text };
}

export function finalMessage(text: string): Message {
  return { role: "assistant", channel: "final", content: text };
}

/**
 * A call in the model's form. `body` is written unchanged: parsing and printing JSON again would change numbers and
 * spaces, and the engine's prefix cache would be missed.
 */
export function callMessage(
  recipient: string,
  body: string,
  form: "json" | "raw" = "json",
): Message {
  return {
    role: "assistant",
    recipient: toHeaderName(recipient),
    channel: "commentary",
    ...(form === "json" && { contentType: "<|constrain|>json" }),
    content: body,
  };
}

/** The result of a call to this recipient. */
export function resultMessage(recipient: string, output: string): Message {
  return {
    role: "tool",
    name: toHeaderName(recipient),
    recipient: "assistant",
    channel: "commentary",
    content: output,
  };
}

/** A call of a function without its own namespace. */
export function toolCallMessage(name: string, args: string): Message {
  return callMessage(functionRecipient(name), args);
}

export function toolResultMessage(name: string, output: string): Message {
  return resultMessage(functionRecipient(name), output);
}
