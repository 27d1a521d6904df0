/** Selects the messages that are shown to users, and those that the next prompt keeps. */
import { isCall } from "./document.ts";
import type { Channel, Document, Message } from "./document.ts";
import { OpenChatMLError } from "./errors.ts";

export interface ViewOptions {
  /** Whether all messages are shown, for debugging. Default false. */
  readonly debug?: boolean;
  /** Only messages on these channels. */
  readonly channels?: readonly Channel[];
}

/**
 * The messages an end user may see. Requesting analysis without `debug` is an error.
 *
 * @example
 * ```ts
 * import { parseOpenChatML, viewOpenChatML } from "harmony-gateway/openchatml";
 *
 * const document = parseOpenChatML(
 *   "<|start|>system<|message|>Be brief.<|end|><|start|>user<|message|>Hi<|end|>",
 * );
 * viewOpenChatML(document).map(({ content }) => content); // => ["Hi"]
 * ```
 */
export function viewOpenChatML(
  { messages }: Document,
  { debug = false, channels }: ViewOptions = {},
): readonly Message[] {
  if (!debug && channels?.includes("analysis")) {
    throw new OpenChatMLError("E-PERM-VISIBILITY", "analysis is shown only in a debug view");
  }
  return messages.filter(
    (message) =>
      (channels === undefined || channels.includes(message.channel)) && (debug || isShown(message)),
  );
}

function isShown(message: Message): boolean {
  const { role, channel, intent } = message;
  if (role === "user") return true;
  if (role !== "assistant" || isCall(message)) return false;
  return channel === "final" || (channel === "commentary" && intent === "preamble");
}

export interface SamplingOptions {
  /** Whether Harmony's rule applies, without the exception for unanswered calls. Default false. */
  readonly hip1?: boolean;
}

/**
 * Indexes of the messages that the next prompt keeps: all except analysis before the last final message.
 * Analysis that led to an unanswered call is kept.
 *
 * @example
 * ```ts
 * import { keptForSampling, parseOpenChatML } from "harmony-gateway/openchatml";
 *
 * const document = parseOpenChatML(
 *   "<|start|>assistant<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>4<|end|>",
 * );
 * keptForSampling(document); // => [1]
 * ```
 */
export function keptForSampling(
  { messages }: Document,
  { hip1 = false }: SamplingOptions = {},
): readonly number[] {
  const last = messages.findLastIndex(isFinal);
  const excepted = hip1 ? new Set<number>() : leadingToOpenCalls(messages);
  return [...messages.entries()].flatMap(([index, { channel }]) =>
    channel !== "analysis" || index > last || excepted.has(index) ? [index] : [],
  );
}

function isFinal(message: Message): boolean {
  return message.role === "assistant" && message.channel === "final" && !isCall(message);
}

function leadingToOpenCalls(messages: readonly Message[]): ReadonlySet<number> {
  const answered = new Set(
    messages.filter(({ role }) => role === "tool").map(({ callId }) => callId),
  );
  const leading = new Set<number>();
  let leads = false;
  for (const [index, message] of [...messages.entries()].toReversed()) {
    if (isCall(message)) leads = !answered.has(message.callId);
    else if (message.role !== "assistant" || isFinal(message)) leads = false;
    if (leads) leading.add(index);
  }
  return leading;
}
