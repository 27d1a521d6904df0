/** The reasoning a client sends back on an assistant message. */
import { runningLoopStart } from "../../harmony/analysis.ts";
import type { LoopStep } from "../../store/call-reasoning.ts";
import type { MediaInput } from "../request/media.ts";
import { splitThought, type TaggedText } from "../request/thought-tag.ts";
import { contentText } from "../request/content-text.ts";
import { SUMMARY_ID_PREFIX } from "./reply.ts";
import type { AssistantMessage, ChatMessage } from "./request.ts";

/** The assistant messages of the running tool loop by their index, the last one first. */
export function runningSteps(messages: readonly ChatMessage[]): Map<number, LoopStep> {
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
 * Reads one source and never joins several: clients often send the same text under two names. The most structured one
 * wins. Encrypted entries are not text; see `sealedReasoning`.
 */
export function sentReasoning(message: AssistantMessage): string | undefined {
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

/** The text for the user, and the reasoning that the client has put before it. */
export function assistantText(
  message: AssistantMessage,
  param: string,
  media: MediaInput,
): TaggedText {
  const tagged = splitThought(contentText(message.content, `${param}.content`, media));
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
 * The text of all `reasoning.text` entries in order; of the summaries when there is no text. A summary made here is
 * left out: the reasoning itself has been stored.
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
