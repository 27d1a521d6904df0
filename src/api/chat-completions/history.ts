/** The messages of a chat request as items of a history. */
import type { ToolNamespace } from "../../harmony/conversation.ts";
import type { CallReasoning } from "../../store/call-reasoning.ts";
import { refusal } from "../errors.ts";
import { contentText } from "../request/content-text.ts";
import type { MediaInput, MediaRules } from "../request/media.ts";
import { isTrainedCall } from "../tools/client-trained-tools.ts";
import { type CallItem, type Item, placeReasoning, toReasoningItem } from "../turn/history.ts";
import { assistantText, sentReasoning } from "./reasoning-in.ts";
import type { AssistantMessage, ChatMessage } from "./request.ts";
import { CUSTOM_INPUT } from "./tools.ts";

/**
 * Restored reasoning of the running tool loop: by message index, the reasoning around each of the message's calls. Other
 * messages keep the reasoning they contain.
 */
export type RestoredReasoning = ReadonlyMap<number, readonly CallReasoning[]>;

export interface HistoryOptions {
  readonly restored: RestoredReasoning;
  readonly trained: readonly ToolNamespace[];
  readonly media: MediaRules;
}

export function* toItems(
  messages: readonly ChatMessage[],
  { restored, trained, media }: HistoryOptions,
): Generator<Item> {
  for (const [index, message] of messages.entries()) {
    const param = `messages[${index}]`;
    const field = `${param}.content`;
    switch (message.role) {
      case "system":
      case "developer":
        yield {
          type: "instructions",
          text: contentText(message.content, field, media.inMessages),
        };
        break;
      case "user": {
        const text = contentText(message.content, field, media.inMessages);
        yield { type: "user", text, name: toAuthorName(message.name) };
        break;
      }
      case "assistant":
        yield* assistantItems(message, {
          param,
          trained,
          media: media.inMessages,
          restored: restored.get(index),
        });
        break;
      case "tool":
        yield {
          type: "result",
          callId: message.tool_call_id,
          name: message.name || undefined,
          text: contentText(message.content, field, media.inResults),
          param,
        };
        break;
      case "function": {
        const text = contentText(message.content, field, media.inResults);
        yield { type: "result", name: message.name, text, param };
        break;
      }
      default:
        message satisfies never;
    }
  }
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

interface AssistantOptions {
  readonly param: string;
  readonly trained: readonly ToolNamespace[];
  readonly media: MediaInput;
  readonly restored: readonly CallReasoning[] | undefined;
}

/** In the order the model wrote them. The client has joined all text for the user into one string. */
function* assistantItems(
  message: AssistantMessage,
  { param, trained, media, restored }: AssistantOptions,
): Generator<Item> {
  const calls = toCalls(message, param, trained);
  const { text, isTagged } = assistantText(message, param, media);
  const sent = sentReasoning(message);
  const reasoning = restored ?? [{ before: sent === undefined ? [] : [[sent]], after: [] }];
  if (calls.length === 0) {
    yield* reasoning.flatMap(({ before }) => before.flat().map(toReasoningItem));
    yield { type: "assistant", text, isAnswer: true, isTagged };
  }
  for (const [index, call] of calls.entries()) {
    // Continue sends " " and LangChain "" with calls: both mean no text.
    const preamble = text.trim() === "" ? "" : text;
    const own: Item[] = [call];
    if (index === 0) own.unshift({ type: "assistant", text: preamble, isAnswer: false, isTagged });
    yield* placeReasoning(own, reasoning[index] ?? { before: [], after: [] });
  }
}

function toCalls(
  message: AssistantMessage,
  param: string,
  trained: readonly ToolNamespace[],
): CallItem[] {
  const calls = (message.tool_calls ?? []).map((call, index): CallItem => {
    const { id: callId } = call;
    if (call.function) {
      const { name, arguments: args } = call.function;
      return { type: "call", callId, name, body: args ?? "", form: "json" };
    }
    if (call.custom) {
      const { name, input } = call.custom;
      const text = input ?? "";
      const body = isTrainedCall(trained, name) ? text : JSON.stringify({ [CUSTOM_INPUT]: text });
      return { type: "call", callId, name, body, form: "json" };
    }
    throw refusal(`${param}.tool_calls[${index}].function`, "is required");
  });
  if (message.function_call) {
    const { name, arguments: args } = message.function_call;
    calls.push({ type: "call", callId: "", name, body: args ?? "", form: "json" });
  }
  return calls;
}
