/**
 * The thoughts of a running tool loop, out of what the client sends back.
 *
 * A signature that opens is the thought, and the text beside it is not looked at: it was only a rendering. One that does
 * not open is ignored, because a refusal would be repeated for as long as the conversation lives: then the readable text
 * counts, then what the store has of the call, else the thought is lost.
 */
import {
  type CallThoughts,
  type LoopStep,
  type ReasoningOutcome,
  type ReasoningStore,
  worstOutcome,
} from "../../store/reasoning-store.ts";
import type { AssistantEntry, AssistantPart, HistoryEntry, Thought } from "./history.ts";

export interface RestoredHistory {
  /** Thoughts are as the model is to be given them. Those of finished turns are gone. */
  readonly entries: readonly HistoryEntry[];
  /** The worst of the running loop. Undefined: there was no thought to be restored. */
  readonly outcome: ReasoningOutcome | undefined;
}

export interface RestoreDeps {
  readonly reasoning: Pick<ReasoningStore, "open" | "restore">;
  /** Counts what was not found by the store. */
  readonly onRestored: (outcome: ReasoningOutcome) => void;
}

/** Never rejects for what a client has sent. */
export async function restoreThoughts(
  entries: readonly HistoryEntry[],
  tenant: string,
  deps: RestoreDeps,
): Promise<RestoredHistory> {
  const running = runningFrom(entries);
  const steps = entries.map((entry, index) => {
    if (entry.type !== "assistant") return [];
    return index < running ? withoutThoughts(entry) : toSteps(entry);
  });
  const opened = await Promise.all(
    steps.flat().map((step) => openThoughts(step, tenant, deps.reasoning)),
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
  // What stands behind the last call and was sent is not taken from the store as well.
  const last = new Set(
    steps.flatMap((each) => {
      const [call, behind] = each.slice(-2);
      const isSent = behind !== undefined && behind.callId === undefined && sent.has(behind);
      return call !== undefined && isSent ? [call] : [];
    }),
  );
  for (const { step, thoughts, outcome } of opened) {
    const kept = stored.get(step);
    const [around] = kept?.outcome === "stored" ? kept.thoughts : [];
    parts.set(
      step,
      around
        ? withStored(step, last.has(step) ? { ...around, after: [] } : around)
        : withOpened(step, thoughts),
    );
    // What was looked up has been counted there.
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

/** Where the running loop begins: behind the last answer. One at the very end has only begun. */
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

/** The part of an assistant message up to and including a call, or what stands behind the last call. */
interface Step {
  readonly thoughts: readonly Thought[];
  /** Everything, the thoughts included. */
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
      thoughts: own.filter((each) => each.type === "thought"),
      callId: part.type === "call" ? part.id : undefined,
    });
    begin = index + 1;
  }
  return steps;
}

function withoutThoughts({ parts }: AssistantEntry): Step[] {
  return [
    { thoughts: [], parts: parts.filter(({ type }) => type !== "thought"), callId: undefined },
  ];
}

interface OpenedStep {
  readonly step: Step;
  /** Every thought was found, and there was one. */
  readonly known: boolean;
  /** What was found of each. */
  readonly thoughts: readonly (string | undefined)[];
  readonly outcome: ReasoningOutcome | undefined;
}

async function openThoughts(
  step: Step,
  tenant: string,
  reasoning: RestoreDeps["reasoning"],
): Promise<OpenedStep> {
  const opened = await Promise.all(
    step.thoughts.map(async ({ text, sealed }) => {
      const seal = sealed === "" ? undefined : await reasoning.open(tenant, sealed);
      if (seal?.opened) return { text: seal.text, outcome: "sealed" as const };
      return { text, outcome: text === "" ? ("lost" as const) : ("sent" as const) };
    }),
  );
  const outcome = worstOutcome(opened);
  return {
    step,
    known: outcome !== undefined && outcome !== "lost",
    thoughts: opened.map(({ text }) => (text === "" ? undefined : text)),
    outcome,
  };
}

/** What was found of the thoughts, each in its place. */
function withOpened({ parts }: Step, texts: readonly (string | undefined)[]): AssistantPart[] {
  let next = 0;
  return parts.flatMap((part): AssistantPart[] => {
    if (part.type !== "thought") return [part];
    const text = texts[next++];
    return text === undefined ? [] : [toThought(text)];
  });
}

/** The stored thoughts, where the model had them among its texts; all of them first if those are not the same texts. */
function withStored({ parts }: Step, { before, after }: CallThoughts): AssistantPart[] {
  const others = parts.filter(({ type }) => type !== "thought");
  const places = before.length === others.length ? before : [before.flat()];
  return [
    ...others.flatMap((part, index) => [...(places[index] ?? []).map(toThought), part]),
    ...after.map(toThought),
  ];
}

function toThought(text: string): Thought {
  return { type: "thought", text, sealed: "" };
}
