/**
 * Measures the beginning of a prompt that equals, token by token, the tokens sent and sampled in the steps of the
 * running tool loop. An engine can have this beginning in its cache.
 */
import { joinDigests, NO_IDS } from "../../harmony/ids-digest.ts";
import type { RenderedPrompt } from "../../harmony/prompt.ts";
import {
  type IdsMark,
  isSameMark,
  type RenderedBecause,
  type Sampled,
  type SampledStep,
} from "../../harmony/sampled-step.ts";

export interface Exactness {
  /** Number of exact tokens. */
  readonly exact: number;
  /** The first message that is not exact, by its index in the prompt, and the reason. Absent: every step is exact. */
  readonly departure?: { readonly message: number; readonly because: RenderedBecause };
  readonly steps: readonly WrittenStep[];
}

/** The form in which a step was written, and the reason if its ids were not used. */
export interface WrittenStep {
  readonly how: "ids" | "text" | "form" | "layout";
  readonly because?: RenderedBecause;
}

/** The header of a reply. */
export function exactHeader(exactness: Exactness | undefined): {
  readonly "x-harmony-exact"?: string;
} {
  return exactness === undefined ? {} : { "x-harmony-exact": toHeaderValue(exactness) };
}

function toHeaderValue({ exact, departure }: Exactness): string {
  if (departure === undefined) return String(exact);
  return `${exact};message=${departure.message};because=${departure.because}`;
}

/** Undefined: the prompt has no call that could be stored. */
export function exactnessOf(prompt: RenderedPrompt): Exactness | undefined {
  const steps = stepsOf(prompt);
  if (steps.length === 0) return undefined;
  const written = steps.map((each) => toWrittenStep(each));
  const lastExact = steps.findLastIndex(({ end, step }) => step && isSameMark(end, step.end));
  const exact = steps[lastExact]?.end.length ?? 0;
  const next = steps[lastExact + 1];
  if (next === undefined) return { exact, steps: written };
  const found = findDeparture(next);
  const behind = (steps[lastExact]?.index ?? -1) + 1;
  const message = found.because === "edited" ? behind : found.message;
  const departure = { message, because: found.because };
  return { exact: Math.max(exact, found.exact), departure, steps: written };
}

/** A step of the running tool loop in the prompt. */
interface PromptStep {
  /** The messages since the previous call. The last is the step's call. */
  readonly messages: readonly WrittenMessage[];
  /** The position of the call in the prompt. */
  readonly index: number;
  /** Mark of all ids up to the end of the call. */
  readonly end: IdsMark;
  /** Undefined: the step is not stored. */
  readonly step: SampledStep | undefined;
  readonly hasForm: boolean;
}

interface WrittenMessage {
  readonly index: number;
  readonly before: IdsMark;
  /** Number of ids up to the end of the message. */
  readonly after: number;
  readonly sampled: Sampled;
}

function stepsOf({ segments }: RenderedPrompt): PromptStep[] {
  const steps: PromptStep[] = [];
  // Most turns are not in a tool loop and need no digest.
  if (!segments.some((each) => each.type === "rendered" && each.message?.sampled)) return steps;
  let digest = NO_IDS;
  let messages: WrittenMessage[] = [];
  for (const [index, segment] of segments.entries()) {
    if (segment.type === "appended" || segment.message === undefined) break;
    const before = digest;
    for (const piece of segment.pieces) digest = joinDigests(digest, piece.digest());
    const { sampled, recipient } = segment.message;
    if (sampled === undefined) {
      messages = [];
      continue;
    }
    messages.push({ index, before, after: digest.length, sampled });
    const { step, hasForm } = sampled;
    if (recipient === undefined || hasForm === undefined) continue;
    steps.push({ messages, index, end: digest, step, hasForm });
    messages = [];
  }
  return steps;
}

function toWrittenStep({ messages, step, hasForm }: PromptStep): WrittenStep {
  const because = messages.find(({ sampled }) => !sampled.pieces)?.sampled.because;
  if (because === undefined) return { how: step?.isText ? "text" : "ids" };
  return { how: hasForm ? "form" : "layout", because };
}

/**
 * Finds the first inexact message of a step. Messages restored at their sampled positions are exact, if all tokens
 * before the step are.
 */
function findDeparture({ messages, step }: PromptStep) {
  const [first] = messages;
  const message = first?.index ?? 0;
  if (step === undefined || first === undefined) {
    return { exact: 0, message, because: first?.sampled.because ?? "not-found" } as const;
  }
  if (!isSameMark(first.before, step.start)) {
    return { exact: 0, message, because: "edited" } as const;
  }
  let exact = step.start.length;
  for (const { index, before, after, sampled } of messages) {
    const { pieces, at = -1, because = "steered" } = sampled;
    const isInPlace = pieces && before.length === step.start.length + at;
    if (!isInPlace) return { exact, message: index, because } as const;
    exact = after;
  }
  return { exact, message, because: "steered" } as const;
}
