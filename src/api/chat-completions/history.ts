/** The messages of a chat request as items of a history: their texts, media and calls, and the reasoning that the client sends back. */
import type { ToolNamespace } from "../../harmony/conversation.ts";
import type { CallReasoning, LoopStep } from "../../store/call-reasoning.ts";
import { type ReasoningStore, worstOutcome } from "../../store/reasoning-store.ts";
import { refusal } from "../errors.ts";
import { contentText, type MediaRule, type MediaRules } from "../request/content-text.ts";
import { isTrainedCall } from "../tools/client-trained-tools.ts";
import { type CallItem, type Item, placeReasoning, toReasoningItem } from "../turn/history.ts";
import type { AssistantMessage, ChatMessage, ChatRequest } from "./request.ts";
import { CUSTOM_INPUT } from "./tools.ts";
import { runningLoopStart } from "../../harmony/analysis.ts";
import { splitThought, type TaggedText } from "../request/thought-tag.ts";
import { SUMMARY_ID_PREFIX } from "./reply.ts";
import { type MediaTexts, slotsOf, withTextParts } from "../media/media-part.ts";
import type { RequestMedia } from "../media/request-media.ts";

/**
 * Restored reasoning of the running tool loop: by message index, the reasoning around each of the message's calls. Other
 * messages keep the reasoning they contain.
 */
export type RestoredReasoning = ReadonlyMap<number, readonly CallReasoning[]>;

interface HistoryOptions {
  readonly restored: RestoredReasoning;
  readonly trained: readonly ToolNamespace[];
  readonly mediaRules: MediaRules;
}

export function* toItems(
  messages: readonly ChatMessage[],
  { restored, trained, mediaRules }: HistoryOptions,
): Generator<Item> {
  for (const [index, message] of messages.entries()) {
    const param = `messages[${index}]`;
    const field = `${param}.content`;
    switch (message.role) {
      case "system":
      case "developer":
        yield {
          type: "instructions",
          text: contentText(message.content, field, mediaRules.inMessages),
        };
        break;
      case "user": {
        const text = contentText(message.content, field, mediaRules.inMessages);
        yield { type: "user", text, name: toAuthorName(message.name) };
        break;
      }
      case "assistant":
        yield* assistantItems(message, {
          param,
          trained,
          mediaRule: mediaRules.inMessages,
          restored: restored.get(index),
        });
        break;
      case "tool":
        yield {
          type: "result",
          callId: message.tool_call_id,
          name: message.name || undefined,
          text: contentText(message.content, field, mediaRules.inResults),
          param,
        };
        break;
      case "function": {
        const text = contentText(message.content, field, mediaRules.inResults);
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

/** OpenAI's limit for names, in characters. */
const MAX_NAME_LENGTH = 64;

interface AssistantOptions {
  readonly param: string;
  readonly trained: readonly ToolNamespace[];
  readonly mediaRule: MediaRule;
  readonly restored: readonly CallReasoning[] | undefined;
}

/**
 * The parts of an assistant message in the order the model wrote them. The client has joined all text for the user into
 * one string.
 */
function* assistantItems(
  message: AssistantMessage,
  { param, trained, mediaRule, restored }: AssistantOptions,
): Generator<Item> {
  const calls = toCalls(message, param, trained);
  const { text, isTagged } = assistantText(message, param, mediaRule);
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

/** The reasoning of the running tool loop, by the index of its message, and its steps as they were sampled. */
export async function restoreReasoning(
  { messages }: ChatRequest,
  tenant: string,
  { reasoning }: { readonly reasoning: Pick<ReasoningStore, "readCalls" | "restore"> },
) {
  const steps = runningSteps(messages);
  const callIds = [...steps.values()].toReversed().flatMap((step) => step.callIds);
  const stored = await reasoning.readCalls(
    tenant,
    callIds.filter((id) => id !== undefined),
  );
  const found = await reasoning.restore(tenant, [...steps.values()], stored);
  return {
    restored: new Map([...steps.keys()].map((key, at) => [key, found[at]?.reasoning ?? []])),
    sampled: stored.sampled,
    outcome: worstOutcome(found),
  };
}

/** The assistant messages of the running tool loop by their index, the last one first. */
function runningSteps(messages: readonly ChatMessage[]): Map<number, LoopStep> {
  const last = messages.length - 1;
  const running = runningLoopStart(messages, (message, index) => {
    // An answer at the end of the history is a prefill that the model continues.
    if (message.role !== "assistant" || index === last || callIdsOf(message).length > 0)
      return false;
    return assistantText(message, `messages[${index}]`, "placeholder").text !== "";
  });
  const steps = messages.flatMap((message, index) =>
    index >= running && message.role === "assistant" ? [[index, toStep(message)] as const] : [],
  );
  return new Map(steps.toReversed());
}

function toStep(message: AssistantMessage): LoopStep {
  const sent = sentReasoning(message);
  return {
    sent: sent === undefined ? [] : [sent],
    sealed: sealedReasoning(message),
    callIds: callIdsOf(message),
  };
}

function callIdsOf({ tool_calls: calls, function_call: call }: AssistantMessage) {
  return [...(calls ?? []).map(({ id }) => id), ...(call ? [undefined] : [])];
}

/**
 * Reads one source of reasoning and never joins several: clients often send the same text under two names. The most
 * structured source wins. Encrypted entries are not text; see `sealedReasoning`.
 */
function sentReasoning(message: AssistantMessage): string | undefined {
  const candidates = [
    detailsText(message.reasoning_details),
    message.reasoning,
    message.reasoning_content,
    message.reasoning_text,
    message.thinking,
    // opencode sends the details as a plain string when that name is set as its interleaved field.
    typeof message.reasoning_details === "string" ? message.reasoning_details : undefined,
  ];
  const sent = candidates.find((text) => text !== undefined && text !== null && text !== "");
  return sent ?? assistantText(message, "", "placeholder").reasoning;
}

/** The text for the user, and the reasoning that the client has put before the text. */
function assistantText(message: AssistantMessage, param: string, mediaRule: MediaRule): TaggedText {
  const tagged = splitThought(contentText(message.content, `${param}.content`, mediaRule));
  return tagged.text === "" ? { ...tagged, text: message.refusal ?? "" } : tagged;
}

/** Encrypted reasoning the client has sent back: the `data` of encrypted entries. */
function sealedReasoning(message: AssistantMessage): readonly string[] {
  if (!Array.isArray(message.reasoning_details)) return [];
  return message.reasoning_details.flatMap((detail) =>
    detail.type === "reasoning.encrypted" && detail.data ? [detail.data] : [],
  );
}

/**
 * The text of all `reasoning.text` entries in order; without any, the text of all summaries. A summary made by the
 * gateway is left out: the reasoning itself has been stored.
 */
function detailsText(details: AssistantMessage["reasoning_details"]): string | undefined {
  if (!Array.isArray(details)) return undefined;
  const inOrder = details.toSorted((a, b) => (a.index ?? 0) - (b.index ?? 0));
  const text = inOrder
    .map((detail) => (detail.type === "reasoning.text" ? detail.text : ""))
    .join("");
  if (text !== "") return text;
  return inOrder
    .map(({ type, id, summary }) =>
      type === "reasoning.summary" && !isOurSummary(id) ? summary : "",
    )
    .join("");
}

function isOurSummary(id: unknown): boolean {
  return typeof id === "string" && id.startsWith(SUMMARY_ID_PREFIX);
}

/** The request with texts in place of its readable images and files. Rejects as {@link RequestMedia.read} does. */
export async function withMediaTexts(
  request: ChatRequest,
  { media, mediaRules }: { readonly media: RequestMedia; readonly mediaRules: MediaRules },
  signal: AbortSignal,
): Promise<ChatRequest> {
  const slots = request.messages.flatMap(({ role, content }, index) => {
    const isResult = role === "tool" || role === "function";
    const rule = isResult ? mediaRules.inResults : mediaRules.inMessages;
    return slotsOf(content, `messages[${index}].content`, rule);
  });
  const texts = await media.read(slots, signal);
  if (texts.size === 0) return request;
  return { ...request, messages: request.messages.map((message) => withTexts(message, texts)) };
}

function withTexts(message: ChatMessage, texts: MediaTexts): ChatMessage {
  return { ...message, content: withTextParts(message.content, texts) };
}
