/**
 * The messages a gateway writes, each in the form the model was trained on.
 *
 * Every API maps its own items to these, so that the same history gives the same prompt whichever API
 * it came through.
 */
import type {
  Message,
  ReasoningEffort,
  ResponseFormat,
  SystemContent,
  ToolFunction,
} from "./conversation.ts";

/** What the operator chooses about the system message. */
export interface SystemOptions {
  readonly identity: string;
  readonly knowledgeCutoff?: string;
  /** ISO date. Passed in, never read from a clock: a prompt must be reproducible. */
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

export interface DeveloperOptions {
  readonly instructions?: string;
  readonly functions?: readonly ToolFunction[];
  readonly responseFormat?: ResponseFormat;
}

/** Undefined when there is nothing to say: an empty developer message is better not sent. */
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

/** `name`: which of several users, without spaces. The header is then `user:alice`. */
export function userMessage(text: string, name?: string): Message {
  return { role: "user", ...(name !== undefined && { name }), content: text };
}

/** Chain of thought. */
export function analysisMessage(text: string): Message {
  return { role: "assistant", channel: "analysis", content: text };
}

/** Commentary meant for the user, before a call. */
export function preambleMessage(text: string): Message {
  return { role: "assistant", channel: "commentary", content: text };
}

export function finalMessage(text: string): Message {
  return { role: "assistant", channel: "final", content: text };
}

/**
 * A call as the model writes it. `args` goes in byte for byte: parsing and printing it again would
 * change numbers and spaces, and with them the engine's prefix cache.
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
