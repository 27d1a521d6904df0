/** Decides which messages of a history are written into the prompt with their sampled ids, and why others are not. */
import type { Message } from "../../harmony/conversation.ts";
import { isEmptyThought, type ReadSpan } from "../../harmony/read-span.ts";
import { isSameMessage } from "../../harmony/same-message.ts";
import type { RenderedBecause, Sampled, SampledStep } from "../../harmony/sampled-step.ts";

/** A step read from the store. */
export interface ReadStep {
  readonly step: SampledStep;
  /** The message of each span, in order. Undefined: the span is not the assistant's, or damaged. */
  readonly spans: readonly (ReadSpan | undefined)[];
}

/**
 * Maximum spans that are compared with one message. It bounds the work if a client has changed every message of a long
 * step.
 */
const MAX_SKIPPED = 64;

/**
 * Adds the sampled form to the messages of a step: the assistant's messages since the previous call, of which the last
 * is the step's call. Each message takes the next span with an equal message.
 */
export function putBackStep(
  messages: readonly Message[],
  stored: ReadStep | "damaged" | undefined,
  hasForm: boolean,
): Message[] {
  const read = stored === "damaged" ? undefined : stored;
  const call = messages.at(-1);
  let next = 0;
  return messages.map((message) => {
    const spans = read?.spans.slice(next, next + MAX_SKIPPED) ?? [];
    const found = spans.findIndex(
      (span) => span !== undefined && isSameMessage(span.message, message),
    );
    const own = message === call ? { step: read?.step, hasForm } : {};
    if (found === -1) {
      return { ...message, sampled: { because: whyNot(message, stored, next), ...own } };
    }
    const index = next + found;
    const sampled = { ...(read && piecesOf(read, next, index)), ...own };
    next = index + 1;
    return { ...message, sampled };
  });
}

/**
 * The pieces of a message, and of empty thoughts directly before it, from `first` on: histories omit thoughts without
 * text. The gateway writes one if a request disables reasoning.
 */
function piecesOf(
  { spans, step }: ReadStep,
  first: number,
  index: number,
): Pick<Sampled, "pieces" | "at"> {
  let from = index;
  for (; from > first; from -= 1) {
    const before = spans[from - 1];
    if (before === undefined || !isEmptyThought(before) || !isFollowed(step, from - 1)) break;
  }
  const at = step.spans[from]?.at;
  const pieces = spans.slice(from, index + 1).flatMap((span) => span?.pieces ?? []);
  return { pieces, ...(at !== undefined && { at }) };
}

/** Whether no dropped message stood between the span and the next. */
function isFollowed({ spans }: SampledStep, index: number): boolean {
  const [span, next] = [spans[index], spans[index + 1]];
  return span !== undefined && next?.at === span.at + span.ids.length;
}

function whyNot(
  message: Message,
  stored: ReadStep | "damaged" | undefined,
  from: number,
): RenderedBecause {
  if (stored === undefined) return "not-found";
  if (stored === "damaged") return "damaged";
  const rest = stored.spans.slice(from, from + MAX_SKIPPED);
  const { recipient, channel } = message;
  const isChanged = rest.some((span) => {
    if (span === undefined) return false;
    const { message: sampled } = span;
    return recipient === undefined
      ? sampled.recipient === undefined && sampled.channel === channel
      : sampled.recipient !== undefined;
  });
  if (!isChanged) return rest.includes(undefined) ? "damaged" : "repaired";
  if (recipient !== undefined) return "arguments";
  return channel === "analysis" ? "reasoning" : "text";
}
