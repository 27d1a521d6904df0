/**
 * Restores the thinking of a running tool loop from what the client sends back.
 *
 * If a signature can be decrypted, its content is used, and the readable text beside it is ignored: it was
 * only a rendering. A signature that cannot be decrypted is ignored, because refusing it would fail every
 * later request of the conversation as well. Then the readable text is used, else the stored reasoning of the
 * call; otherwise the thinking is lost.
 */
import {
  type CallReasoning,
  type LoopStep,
  type ReasoningOutcome,
  type ReasoningStore,
  worstOutcome,
} from "../../store/reasoning-store.ts";
import type { AssistantEntry, AssistantPart, HistoryEntry, ThinkingPart } from "./history.ts";

export interface RestoredHistory {
  /** Entries with their thinking restored. Thinking of finished turns has been removed. */
  readonly entries: readonly HistoryEntry[];
  /** The worst outcome in the running loop. Undefined: there was no thinking to restore. */
  readonly outcome: ReasoningOutcome | undefined;
}

export interface RestoreDeps {
  readonly reasoning: Pick<ReasoningStore, "open" | "restore">;
  /** Counts outcomes that the reasoning store does not report. */
  readonly onRestored: (outcome: ReasoningOutcome) => void;
}

/** Never rejects because of what a client has sent. */
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
  const found = await deps.reasoning.restore(tenant, lookups);
  const stored = new Map(missing.map(({ step }, index) => [step, found[index]]));

  const outcomes: { outcome: ReasoningOutcome | undefined }[] = [];
  const parts = new Map<Step, readonly AssistantPart[]>();
  const sent = new Set(opened.filter(({ known }) => known).map(({ step }) => step));
  // Thinking after the last call is not also restored from the store if it was sent.
  const sentAfter = new Set(
    steps.flatMap((each) => {
      const [call, last] = each.slice(-2);
      const isSent = last !== undefined && last.callId === undefined && sent.has(last);
      return call !== undefined && isSent ? [call] : [];
    }),
  );
  for (const { step, thinking, outcome } of opened) {
    const kept = stored.get(step);
    const [around] = kept?.outcome === "stored" ? kept.reasoning : [];
    parts.set(
      step,
      around
        ? withStored(step, sentAfter.has(step) ? { ...around, after: [] } : around)
        : withOpened(step, thinking),
    );
    // The reasoning store has already counted what it looked up.
    if (kept === undefined && outcome) deps.onRestored(outcome);
    outcomes.push({ outcome: kept === undefined ? outcome : kept.outcome });
  }
  return {
    entries: entries.map((entry, index) =>
      entry.type === "assistant"
        ? { ...entry, parts: (steps[index] ?? []).flatMap((step) => parts.get(step) ?? []) }
        : entry,
    ),
    outcome: worstOutcome(outcomes),
  };
}

/** The running loop begins after the last answer. An answer at the very end is a prefill. */
function runningFrom(entries: readonly HistoryEntry[]): number {
  const last = entries.length - 1;
  return (
    entries.findLastIndex((entry, index) => {
      if (entry.type !== "assistant" || index === last) return false;
      const { parts } = entry;
      return (
        parts.some(({ type }) => type === "text") && !parts.some(({ type }) => type === "call")
      );
    }) + 1
  );
}

/** Part of an assistant message: up to and including a call, or what follows the last call. */
interface Step {
  readonly thinking: readonly ThinkingPart[];
  /** All parts, thinking included. */
  readonly parts: readonly AssistantPart[];
  readonly callId: string | undefined;
}

function toSteps({ parts }: AssistantEntry): Step[] {
  const steps: Step[] = [];
  let begin = 0;
  for (const [index, part] of parts.entries()) {
    const isLast = index === parts.length - 1;
    if (part.type !== "call" && !isLast) continue;
    const own = parts.slice(begin, index + 1);
    steps.push({
      parts: own,
      thinking: own.filter((each) => each.type === "thinking"),
      callId: part.type === "call" ? part.id : undefined,
    });
    begin = index + 1;
  }
  return steps;
}

function withoutThinking({ parts }: AssistantEntry): Step[] {
  return [
    { thinking: [], parts: parts.filter(({ type }) => type !== "thinking"), callId: undefined },
  ];
}

interface OpenedStep {
  readonly step: Step;
  /** There was thinking, and all of it was restored. */
  readonly known: boolean;
  /** The restored text of each thinking block. */
  readonly thinking: readonly (string | undefined)[];
  readonly outcome: ReasoningOutcome | undefined;
}

async function openThinking(
  step: Step,
  tenant: string,
  reasoning: RestoreDeps["reasoning"],
): Promise<OpenedStep> {
  const opened = await Promise.all(
    step.thinking.map(async ({ text, sealed }) => {
      const seal = sealed === "" ? undefined : await reasoning.open(tenant, sealed);
      if (seal?.opened) return { text: seal.text, outcome: "sealed" as const };
      return { text, outcome: text === "" ? ("lost" as const) : ("sent" as const) };
    }),
  );
  const outcome = worstOutcome(opened);
  return {
    step,
    known: outcome !== undefined && outcome !== "lost",
    thinking: opened.map(({ text }) => (text === "" ? undefined : text)),
    outcome,
  };
}

/** Replaces each thinking block by its restored text. */
function withOpened({ parts }: Step, texts: readonly (string | undefined)[]): AssistantPart[] {
  let next = 0;
  return parts.flatMap((part): AssistantPart[] => {
    if (part.type !== "thinking") return [part];
    const text = texts[next++];
    return text === undefined ? [] : [toThinking(text)];
  });
}

/**
 * Inserts stored reasoning between the texts where the model wrote it, or before all of them if the texts
 * differ.
 */
function withStored({ parts }: Step, { before, after }: CallReasoning): AssistantPart[] {
  const others = parts.filter(({ type }) => type !== "thinking");
  const places = before.length === others.length ? before : [before.flat()];
  return [
    ...others.flatMap((part, index) => [...(places[index] ?? []).map(toThinking), part]),
    ...after.map(toThinking),
  ];
}

function toThinking(text: string): ThinkingPart {
  return { type: "thinking", text, sealed: "" };
}
