/** Converts the messages of a chat request to Harmony messages. */
import type { Message } from "../../harmony/conversation.ts";
import {
  analysisMessage,
  developerMessage,
  finalMessage,
  preambleMessage,
  toHeaderName,
  toolCallMessage,
  toolResultMessage,
  userMessage,
} from "../../harmony/messages.ts";
import { trainedCallMessage, trainedResultMessage } from "../../harmony/trained-tools.ts";
import type { CallReasoning, PlacedCall } from "../../store/call-reasoning.ts";
import type { SampledSteps } from "../../store/reasoning-store.ts";
import { isTrainedCall } from "../tools/client-trained-tools.ts";
import { refusal, type RequestError } from "../errors.ts";
import type { MediaInput, MediaRules } from "../request/media.ts";
import { PromptHistory } from "../turn/prompt-history.ts";
import type { HistoryRules, TurnHistory } from "../turn/assemble-turn.ts";
import { contentText } from "../request/content-text.ts";
import { assistantText, sentReasoning } from "./reasoning-in.ts";
import type { AssistantMessage, ChatMessage } from "./request.ts";
import { CUSTOM_INPUT } from "./tools.ts";

/**
 * Restored reasoning of the running tool loop: by message index, the reasoning around each of the message's calls. Other
 * messages keep the reasoning they contain.
 */
export type RestoredReasoning = ReadonlyMap<number, readonly CallReasoning[]>;

export interface HistoryOptions extends HistoryRules {
  readonly restored: RestoredReasoning;
  readonly sampled?: SampledSteps | undefined;
  readonly media: MediaRules;
}

export function toHistory(
  messages: readonly ChatMessage[],
  { restored, sampled, trained, mapped, media, shield }: HistoryOptions,
): TurnHistory {
  const isTrained = (called: string) => isTrainedCall(trained, called);
  const leading: string[] = [];
  const history = new PromptHistory(sampled, { shield, trained: mapped });
  let prefill: string | undefined;
  let begun = false;

  for (const [index, message] of messages.entries()) {
    const param = `messages[${index}]`;
    const field = `${param}.content`;
    switch (message.role) {
      case "system":
      case "developer": {
        const text = contentText(message.content, field, media.inMessages);
        if (text === "") break;
        if (begun) history.add(...optional(developerMessage({ instructions: text })));
        else leading.push(text);
        break;
      }
      case "user":
        begun = true;
        history.add(
          userMessage(
            contentText(message.content, field, media.inMessages),
            toAuthorName(message.name),
          ),
        );
        break;
      case "assistant": {
        begun = true;
        const last = index === messages.length - 1;
        const parts = assistantParts(message, {
          param,
          isTrained,
          media: media.inMessages,
          restored: restored.get(index),
        });
        if (parts.isTagged) history.note("reasoning-tag");
        if (last && parts.calls.length === 0 && parts.text !== "") {
          prefill = parts.text;
          history.add(...toAnalysisMessages(parts.reasoning[0]?.before.flat()));
        } else {
          addAssistant(history, parts);
        }
        break;
      }
      case "tool": {
        begun = true;
        const output = contentText(message.content, field, media.inResults);
        if (history.addResult(message.tool_call_id, output)) break;
        if (!message.name) throw unknownCall(message.tool_call_id, `${param}.tool_call_id`);
        addNamedResult(history, message.name, { output, isTrained: isTrained(message.name) });
        break;
      }
      case "function": {
        begun = true;
        const output = contentText(message.content, field, media.inResults);
        addNamedResult(history, message.name, { output, isTrained: false });
        break;
      }
      default:
        message satisfies never;
    }
  }
  return {
    leading,
    history: history.collect(),
    prefill,
    toolStates: toToolStates(restored),
  };
}

/**
 * A name that is valid in a header, `user:alice`: characters other than letters, digits, `_`, `-` and `.` become `_`,
 * because a space would end the name.
 */
function toAuthorName(name: string | null | undefined): string | undefined {
  if (name == null) return undefined;
  const written = name.trim().replace(/[^\p{L}\p{N}_.-]+/gu, "_");
  return written === "" ? undefined : Array.from(written).slice(0, MAX_NAME_LENGTH).join("");
}

/** OpenAI's limit. */
const MAX_NAME_LENGTH = 64;

interface AssistantParts {
  /** Reasoning around each call; without calls, before the text. */
  readonly reasoning: readonly CallReasoning[];
  readonly text: string;
  /** The client had put reasoning before the text. */
  readonly isTagged: boolean;
  readonly calls: readonly HistoryCall[];
}

interface HistoryCall {
  readonly id: string;
  readonly name: string;
  /** Arguments, or code. */
  readonly args: string;
  /** The call is to a tool of training. */
  readonly isTrained: boolean;
}

interface AssistantOptions {
  readonly param: string;
  readonly isTrained: (name: string) => boolean;
  readonly media: MediaInput;
  readonly restored: readonly CallReasoning[] | undefined;
}

function assistantParts(
  message: AssistantMessage,
  { param, isTrained, media, restored }: AssistantOptions,
): AssistantParts {
  const calls = (message.tool_calls ?? []).map((call, index): HistoryCall => {
    if (call.function) {
      const { name, arguments: args } = call.function;
      return { id: call.id, name, args: args ?? "", isTrained: isTrained(name) };
    }
    if (call.custom) {
      const { name, input } = call.custom;
      if (isTrained(name)) return { id: call.id, name, args: input ?? "", isTrained: true };
      const args = JSON.stringify({ [CUSTOM_INPUT]: input ?? "" });
      return { id: call.id, name, args, isTrained: false };
    }
    const field = `${param}.tool_calls[${index}].function`;
    throw refusal(field, "is required");
  });
  if (message.function_call) {
    const { name, arguments: args } = message.function_call;
    calls.push({ id: "", name, args: args ?? "", isTrained: false });
  }
  const tagged = assistantText(message, param, media);
  return {
    reasoning: restored ?? [{ before: [optional(sentReasoning(message))], after: [] }],
    text: tagged.text,
    isTagged: tagged.isTagged,
    calls,
  };
}

/** In the order the model wrote them. The client has joined all text for the user into one string. */
function addAssistant(history: PromptHistory, { reasoning, text, calls }: AssistantParts): void {
  if (calls.length === 0) {
    history.add(
      ...toAnalysisMessages(reasoning.flatMap(({ before }) => before.flat())),
      ...(text === "" ? [] : [finalMessage(text)]),
    );
  }
  // Continue sends " " and LangChain "" with calls: both mean no text.
  const preamble = text.trim() === "" ? [] : [preambleMessage(text)];
  for (const [index, { id, name, args, isTrained }] of calls.entries()) {
    const { before = [], after, tools = [] } = reasoning[index] ?? {};
    const beforeText = before.length > 1 ? before.slice(0, -1) : before;
    const beforeCall = before.slice(beforeText.length);
    history.add(
      ...beforeText.flatMap((texts, list) => withTools(texts, tools, list)),
      ...(index === 0 ? preamble : []),
      ...beforeCall.flatMap((texts, at) => withTools(texts, tools, beforeText.length + at)),
    );
    if (toHeaderName(name) !== name) history.note("tool-name");
    history.addCall(id, isTrained ? trainedCallMessage(name, args) : toolCallMessage(name, args));
    history.add(...toAnalysisMessages(after));
  }
}

/** Analysis messages, and between them the calls that the gateway ran, as the model saw them. */
function withTools(
  texts: readonly string[],
  tools: readonly PlacedCall[],
  list: number,
): readonly Message[] {
  const placed = tools.filter((tool) => tool.list === list);
  return [...texts, undefined].flatMap((text, index) => [
    ...placed.filter(({ at }) => at === index).flatMap(({ call }) => call.messages),
    ...(text === undefined ? [] : [analysisMessage(text)]),
  ]);
}

/** By tool name: the state that the gateway's tools have saved in the running loop, the latest last. */
function toToolStates(restored: RestoredReasoning): ReadonlyMap<string, string> {
  const calls = [...restored]
    .toSorted(([a], [b]) => a - b)
    .flatMap(([, reasoning]) => reasoning.flatMap(({ tools = [] }) => tools));
  return new Map(
    calls.flatMap(({ call: { state } }) => (state ? [[state.tool, state.saved] as const] : [])),
  );
}

function toAnalysisMessages(texts: readonly string[] = []): Message[] {
  return texts.map((text) => analysisMessage(text));
}

/** A result that names its tool instead of a known call. */
function addNamedResult(
  history: PromptHistory,
  name: string,
  { output, isTrained }: { readonly output: string; readonly isTrained: boolean },
): void {
  const result = (isTrained ? trainedResultMessage : toolResultMessage)(name, output);
  if (!history.addResultOf(result.name ?? "", output)) history.addLoneResult(result);
}

function unknownCall(id: string, param: string): RequestError {
  return refusal(
    param,
    `no assistant message before this one has a call with the id ${JSON.stringify(id)}`,
  );
}

function optional<T>(value: T | undefined): T[] {
  return value === undefined ? [] : [value];
}
