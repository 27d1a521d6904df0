/**
 * Restores the thinking of a running tool loop, and the calls that the gateway ran in it, from the blocks that the
 * client sends back.
 *
 * If a signature can be decrypted, its content is used, and the readable text beside it is ignored: it was only a
 * rendering. A signature that cannot be decrypted is ignored, because refusing it would fail every later request of the
 * conversation as well. Then the readable text is used, else the stored reasoning of the call; otherwise the thinking
 * is lost. A call that the gateway ran and that cannot be restored is left out, because a result must not be invented.
 */
import { runningLoopStart } from "../../harmony/analysis.ts";
import type { LoopStep } from "../../store/call-reasoning.ts";
import {
  type ReasoningOutcome,
  type ReasoningStore,
  type SampledSteps,
  worstOutcome,
} from "../../store/reasoning-store.ts";
import { placeReasoning, toKeptCallItem, toReasoningItem } from "../turn/history.ts";
import {
  answerFrom,
  type AssistantEntry,
  type AssistantPart,
  type HistoryEntry,
} from "./history-entry.ts";

export interface RestoredHistory {
  /** Entries with their thinking restored. Thinking of finished turns has been removed. */
  readonly entries: readonly HistoryEntry[];
  /** The worst outcome in the running loop. Undefined: there was no thinking to restore. */
  readonly outcome: ReasoningOutcome | undefined;
  /** The sampled steps of the running loop, by the id of their call. */
  readonly sampled: SampledSteps;
}

export interface RestoreDeps {
  readonly reasoning: Pick<ReasoningStore, "openCall" | "openEither" | "readCalls" | "restore">;
  /** Counts outcomes that the reasoning store does not report. */
  readonly onRestored: (outcome: ReasoningOutcome) => void;
}

/** Never rejects because of the client's content. */
export async function restoreThinking(
  entries: readonly HistoryEntry[],
  tenant: string,
  deps: RestoreDeps,
): Promise<RestoredHistory> {
  const running = runningFrom(entries);
  const steps = entries.map((entry, index) => {
    if (entry.type !== "assistant") return [];
    return index < running ? withoutThinking(entry) : toSteps(entry);
  });
  const opened = await Promise.all(
    steps.flat().map((step) => openThinking(step, tenant, deps.reasoning)),
  );
  const missing = opened.filter(({ known, step }) => !known && step.callId !== undefined);
  const lookups = missing.map(({ step }): LoopStep => ({
    sent: [],
    sealed: [],
    callIds: [step.callId],
  }));
  const callIds = opened.flatMap(({ step }) => (step.callId === undefined ? [] : [step.callId]));
  const kept = await deps.reasoning.readCalls(tenant, callIds);
  const found = await deps.reasoning.restore(tenant, lookups, kept);
  const stored = new Map(missing.map(({ step }, index) => [step, found[index]]));

  const outcomes: { outcome: ReasoningOutcome | undefined }[] = [];
  const parts = new Map<MessageStep, readonly AssistantPart[]>();
  const sent = new Set(opened.filter(({ known }) => known).map(({ step }) => step));
  // Thinking after the last call is not restored from the store if the client has sent it.
  const sentAfter = new Set(
    steps.flatMap((each) => {
      const [call, last] = each.slice(-2);
      const isSent = last !== undefined && last.callId === undefined && sent.has(last);
      return call !== undefined && isSent ? [call] : [];
    }),
  );
  for (const { step, parts: restored, outcome } of opened) {
    const looked = stored.get(step);
    const [around] = looked?.outcome === "stored" ? looked.reasoning : [];
    parts.set(
      step,
      around
        ? placeReasoning(
            step.parts.filter(({ type }) => type === "text" || type === "call"),
            sentAfter.has(step) ? { ...around, after: [] } : around,
          )
        : restored,
    );
    // The reasoning store has already counted the steps that it looked up.
    if (looked === undefined && outcome) deps.onRestored(outcome);
    outcomes.push({ outcome: looked === undefined ? outcome : looked.outcome });
  }
  return {
    entries: entries.map((entry, index) =>
      entry.type === "assistant"
        ? { ...entry, parts: (steps[index] ?? []).flatMap((step) => parts.get(step) ?? []) }
        : entry,
    ),
    outcome: worstOutcome(outcomes),
    sampled: kept.sampled,
  };
}

/** Index at which the running loop starts. An answer at the very end is a prefill. */
function runningFrom(entries: readonly HistoryEntry[]): number {
  const last = entries.length - 1;
  return runningLoopStart(entries, (entry, index) => {
    if (entry.type !== "assistant" || index === last) return false;
    const { parts } = entry;
    if (parts.some(({ type }) => type === "call")) return false;
    return parts.slice(answerFrom(parts)).some(({ type }) => type === "text");
  });
}

/** Part of an assistant message: up to and including a call, or the rest after the last call. */
interface MessageStep {
  /** All parts, including thinking. */
  readonly parts: readonly AssistantPart[];
  readonly callId: string | undefined;
}

function toSteps({ parts }: AssistantEntry): MessageStep[] {
  const steps: MessageStep[] = [];
  let begin = 0;
  for (const [index, part] of parts.entries()) {
    const isLast = index === parts.length - 1;
    if (part.type !== "call" && !isLast) continue;
    const own = parts.slice(begin, index + 1);
    steps.push({
      parts: own,
      callId: part.type === "call" ? part.callId : undefined,
    });
    begin = index + 1;
  }
  return steps;
}

function withoutThinking({ parts }: AssistantEntry): MessageStep[] {
  return [{ parts: parts.filter(({ type }) => type !== "thinking"), callId: undefined }];
}

interface OpenedStep {
  readonly step: MessageStep;
  /** Whether all thinking and gateway calls were restored. False if there were none. */
  readonly known: boolean;
  /** The parts, restored. */
  readonly parts: readonly AssistantPart[];
  readonly outcome: ReasoningOutcome | undefined;
}

async function openThinking(
  step: MessageStep,
  tenant: string,
  reasoning: RestoreDeps["reasoning"],
): Promise<OpenedStep> {
  const opened = await Promise.all(step.parts.map((part) => openPart(part, tenant, reasoning)));
  const parts = joinCarriers(opened.map(({ part }) => part));
  const lacks = parts.some((part) => part.type === "gateway-call" && part.shown === undefined);
  const outcomes = opened.flatMap(({ outcome }) => (outcome ? [{ outcome }] : []));
  const outcome = worstOutcome(lacks ? [...outcomes, { outcome: "lost" }] : outcomes);
  return {
    step,
    known: outcome !== undefined && outcome !== "lost",
    parts: parts.filter((part) => part.type !== "reasoning" || part.text !== ""),
    outcome,
  };
}

/** A restored part, and the place where its content was found. */
interface OpenedPart {
  readonly part: AssistantPart;
  readonly outcome?: ReasoningOutcome;
}

async function openPart(
  part: AssistantPart,
  tenant: string,
  reasoning: RestoreDeps["reasoning"],
): Promise<OpenedPart> {
  if (part.type === "gateway-call" && part.sealed !== "") {
    const call = await reasoning.openCall(tenant, part.sealed);
    return call ? { part: toKeptCallItem(call), outcome: "sealed" } : { part };
  }
  if (part.type !== "thinking") return { part };
  const { text, sealed } = part;
  const opened = sealed === "" ? undefined : await reasoning.openEither(tenant, sealed);
  if (typeof opened === "string") return { part: toReasoningItem(opened), outcome: "sealed" };
  if (opened) return { part: toKeptCallItem(opened), outcome: "sealed" };
  return { part: toReasoningItem(text), outcome: text === "" ? "lost" : "sent" };
}

/** A call that was restored from a thinking block replaces its own block, which precedes it. */
function joinCarriers(parts: readonly AssistantPart[]): AssistantPart[] {
  const joined: AssistantPart[] = [];
  for (const part of parts) {
    if (part.type === "kept-call" && joined.at(-1)?.type === "gateway-call") joined.pop();
    joined.push(part);
  }
  return joined;
}
