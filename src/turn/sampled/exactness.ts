/**
 * How far a prompt is exactly what an engine was sent and has sampled in the steps of the running tool loop, token by token:
 * so much of it an engine can have in its cache.
 */
import { joinDigests, NO_IDS } from "../../harmony/ids-digest.ts";
import type { Message } from "../../harmony/conversation.ts";
import type { RenderedPrompt } from "../../harmony/prompt.ts";
import {
  type IdsMark,
  isSameMark,
  type RenderedBecause,
  type SampledStep,
} from "../../harmony/sampled-step.ts";

export interface Exactness {
  /** Tokens. */
  readonly exact: number;
  /** The first message that ended it, by its index in the prompt, and why. Absent: every step is exact. */
  readonly departure?: { readonly message: number; readonly because: RenderedBecause };
  readonly steps: readonly WrittenStep[];
}

/** How a step was written, and why not by its ids. */
export interface WrittenStep {
  readonly how: "ids" | "text" | "form" | "layout";
  readonly because?: RenderedBecause;
}

const byMessages = new WeakMap<readonly Message[], Exactness>();

/** Computes it of a turn's prompt, for its events and for {@link exactHeader}. */
export function noteExactness(
  messages: readonly Message[],
  prompt: RenderedPrompt,
): Exactness | undefined {
  const exactness = exactnessOf(prompt);
  if (exactness !== undefined) byMessages.set(messages, exactness);
  return exactness;
}

/** The header of a reply. Empty before the turn's prompt is rendered, and outside tool loops. */
export function exactHeader({ messages }: { readonly messages: readonly Message[] }): {
  readonly "x-harmony-exact"?: string;
} {
  const exactness = byMessages.get(messages);
  return exactness === undefined ? {} : { "x-harmony-exact": toHeaderValue(exactness) };
}

function toHeaderValue({ exact, departure }: Exactness): string {
  if (departure === undefined) return String(exact);
  return `${exact};message=${departure.message};because=${departure.because}`;
}

/** Undefined: the prompt has no call of which something could be stored. */
function exactnessOf({ segments }: RenderedPrompt): Exactness | undefined {
  if (!segments.some((each) => each.type === "rendered" && each.message?.sampled)) return undefined;
  const steps: WrittenStep[] = [];
  let digest = NO_IDS;
  let exact = 0;
  let departure: Exactness["departure"];
  let messages: WrittenMessage[] = [];
  let beyond = 0;
  for (const [index, segment] of segments.entries()) {
    if (segment.type === "appended" || segment.message === undefined) break;
    const before = digest;
    for (const piece of segment.pieces) digest = joinDigests(digest, piece.digest());
    const note = segment.message.sampled;
    if (note === undefined) {
      messages = [];
      continue;
    }
    const { pieces, at, because, step, hasForm } = note;
    messages.push({
      index,
      before,
      after: digest.length,
      isPutBack: pieces !== undefined,
      at,
      because,
    });
    if (segment.message.recipient === undefined || hasForm === undefined) continue;
    const own = messages;
    messages = [];
    const rendered = own.find(({ isPutBack }) => !isPutBack);
    steps.push(toWrittenStep(rendered?.because, step, hasForm));
    if (step !== undefined && isSameMark(digest, step.end)) {
      exact = digest.length;
      departure = undefined;
      beyond = index + 1;
      continue;
    }
    if (departure !== undefined) continue;
    const found = findDeparture(own, step);
    exact = Math.max(exact, found.exact);
    const message = found.because === "edited" ? beyond : found.message;
    departure = { message, because: found.because };
  }
  if (steps.length === 0) return undefined;
  return { exact, ...(departure && { departure }), steps };
}

interface WrittenMessage {
  readonly index: number;
  readonly before: IdsMark;
  /** Ids up to its end. */
  readonly after: number;
  readonly isPutBack: boolean;
  readonly at: number | undefined;
  readonly because: RenderedBecause | undefined;
}

function toWrittenStep(
  because: RenderedBecause | undefined,
  step: SampledStep | undefined,
  hasForm: boolean,
): WrittenStep {
  if (because === undefined) return { how: step?.isText ? "text" : "ids" };
  return { how: hasForm ? "form" : "layout", because };
}

/** Messages of a step that are put back where they were sampled are exact, if all before the step is. */
function findDeparture(messages: readonly WrittenMessage[], step: SampledStep | undefined) {
  const [first] = messages;
  const message = first?.index ?? 0;
  if (step === undefined || first === undefined) {
    return { exact: 0, message, because: first?.because ?? "not-found" } as const;
  }
  if (!isSameMark(first.before, step.start)) {
    return { exact: 0, message, because: "edited" } as const;
  }
  let exact = step.start.length;
  for (const each of messages) {
    const isInPlace = each.isPutBack && each.before.length === step.start.length + (each.at ?? -1);
    if (!isInPlace)
      return { exact, message: each.index, because: each.because ?? "steered" } as const;
    exact = each.after;
  }
  return { exact, message, because: "steered" } as const;
}
