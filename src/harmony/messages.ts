/**
 * Creates the messages of a conversation in the form the model was trained on.
 *
 * Every API converts its own items to these, so that the same history gives the same prompt in each API.
 */
import type {
  Message,
  ReasoningEffort,
  ResponseFormat,
  SystemContent,
  ToolFunction,
} from "./conversation.ts";

/** The operator's choices for the system message. */
export interface SystemOptions {
  readonly identity: string;
  readonly knowledgeCutoff?: string;
  /** ISO date. Given by the caller, not read from a clock, so that prompts are reproducible. */
  readonly date?: string;
  readonly effort: ReasoningEffort;
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
  };
  return { role: "system", content: [content] };
}

interface DeveloperOptions {
  readonly instructions?: string;
  readonly functions?: readonly ToolFunction[];
  readonly responseFormat?: ResponseFormat;
}

/** Returns undefined if there is no content: an empty developer message is better omitted. */
export function developerMessage(options: DeveloperOptions): Message | undefined {
  const { functions = [], responseFormat } = options;
  const instructions = options.instructions === "" ? undefined : options.instructions;
  if (instructions === undefined && functions.length === 0 && responseFormat === undefined) {
    return undefined;
  }
  return {
    role: "developer",
    content: [
      {
        type: "developer",
        ...(instructions !== undefined && { instructions }),
        ...(functions.length > 0 && {
          namespaces: [{ key: "functions", name: "functions", functions }],
        }),
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
 * A tool call as the model writes it. `args` is written unchanged: parsing and printing it again would change numbers
 * and spaces, and the engine's prefix cache would be missed.
 */
export function toolCallMessage(name: string, args: string): Message {
  return {
    role: "assistant",
    recipient: `functions.${name}`,
    channel: "commentary",
    contentType: "<|constrain|>json",
    content: args,
  };
}

export function toolResultMessage(name: string, output: string): Message {
  return {
    role: "tool",
    name: `functions.${name}`,
    recipient: "assistant",
    channel: "commentary",
    content: output,
  };
}
