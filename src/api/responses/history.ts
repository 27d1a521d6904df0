/**
 * Prepares a conversation's items for rendering. Restores encrypted summaries and the chain of thought of the running
 * tool loop: sent as text by the client, sent encrypted, or stored.
 */
import { runningLoopStart } from "../../harmony/analysis.ts";
import {
  type ReasoningStore,
  type ReasoningOutcome,
  type SampledSteps,
  type StoredCalls,
  worstOutcome,
} from "../../store/reasoning-store.ts";
import { refusal, type RequestError } from "../errors.ts";
import { type MediaTexts, slotsOf, withTextParts } from "../media/media-part.ts";
import type { RequestMedia } from "../media/request-media.ts";
import type { MediaRules } from "../request/content-text.ts";
import { placeReasoning, toKeptCallItem, toReasoningItem } from "../turn/history.ts";
import { sinceCompaction } from "./compaction.ts";
import { CALL_TYPES, type InputItem } from "./items.ts";
import { isAnswer, reasoningText, toPlainItem, withThoughts } from "./plain-history.ts";
import type { HistoryItem } from "./history-item.ts";
import { isGatewayItem, KEPT, type KeptCall, readKeptCall } from "../../store/kept-call.ts";
import { readMcpItem } from "./mcp-items.ts";

/** An input item, its field, and whether it was read from the store. References are resolved. */
export interface LocatedItem {
  readonly item: InputItem;
  readonly param: string;
  readonly stored: boolean;
}

export interface HistoryDeps {
  readonly tenant: string;
  readonly reasoningStore: ReasoningStore;
  /** Looks up the stored reasoning of an item sent as a bare id. */
  readonly findReasoning: (id: string) => Promise<InputItem | undefined>;
  /** Decrypts the summary of a compaction item. Undefined if it was not encrypted here for this tenant. */
  readonly openSummary: (sealed: string) => Promise<string | undefined>;
  /** Called with the place where the reasoning of a step was found, unless the reasoning store has reported it. */
  readonly onRestored: (outcome: ReasoningOutcome) => void;
}

export interface ResolvedHistory {
  readonly items: readonly HistoryItem[];
  /** The place where the reasoning of the running loop was found; for several steps, the worst outcome. */
  readonly outcome: ReasoningOutcome | undefined;
  /** The sampled steps of the running loop, by the id of their call. */
  readonly sampled: SampledSteps;
}

/** Throws a {@link RequestError} for a reference that cannot be resolved. */
export async function resolveHistory(
  sent: readonly LocatedItem[],
  deps: HistoryDeps,
): Promise<ResolvedHistory> {
  const items = withThoughts(sent);
  const running = runningLoopStart(items, (_, index) => isAnswer(items, index));
  const steps = [
    ...toSteps(items.slice(0, running), "finished"),
    ...toSteps(items.slice(running), running > 0 ? "after-answer" : "running"),
  ];
  const stored = await readCalls(items.slice(running), deps);
  const resolved = await Promise.all(steps.map((step) => resolveStep(step, stored, deps)));
  return {
    items: resolved.flatMap((step) => step.items),
    sampled: stored.sampled,
    outcome: worstOutcome(resolved),
  };
}

/** Reads the stored data for the calls of the running loop. */
function readCalls(
  items: readonly LocatedItem[],
  { tenant, reasoningStore }: HistoryDeps,
): Promise<StoredCalls> {
  const ids = items.flatMap(({ item }) =>
    CALL_TYPES.has(item.type) && "call_id" in item ? [item.call_id] : [],
  );
  return reasoningStore.readCalls(
    tenant,
    ids.filter((id) => typeof id === "string"),
  );
}

/** Consecutive items by the model, or a single other item. */
interface ModelStep {
  readonly items: ModelStepItem[];
  readonly isByModel: boolean;
  /**
   * `finished`: an answer follows. `running`: part of the tool loop that has no answer yet. `after-answer`: like
   * `running`, but the model continued after an answer.
   */
  readonly place: "finished" | "running" | "after-answer";
}

interface ModelStepItem extends LocatedItem {
  readonly isAnswer: boolean;
}

/** `first`: the place of the first step. Later steps are not directly after an answer. */
function toSteps(items: readonly LocatedItem[], first: ModelStep["place"]): ModelStep[] {
  const later = first === "finished" ? "finished" : "running";
  const steps: ModelStep[] = [];
  for (const [index, located] of items.entries()) {
    const each = { ...located, isAnswer: isAnswer(items, index) };
    const isByModel = isFromModel(each.item);
    const last = steps.at(-1);
    if (isByModel && last?.isByModel) last.items.push(each);
    else steps.push({ items: [each], isByModel, place: index === 0 ? first : later });
  }
  return steps;
}

/** Whether the model wrote the item. Unknown items do not end a step of the model. */
function isFromModel(item: InputItem): boolean {
  if (item.type === "message") return item.role === "assistant";
  if (item.type === "tool_search_output") return !item.call_id;
  return CALL_TYPES.has(item.type) || ["reasoning", "unsupported"].includes(item.type);
}

type ResolvedStep = Omit<ResolvedHistory, "sampled">;

async function resolveStep(
  step: ModelStep,
  stored: StoredCalls,
  deps: HistoryDeps,
): Promise<ResolvedStep> {
  const outcomes: { outcome: ReasoningOutcome }[] = [];
  const items: HistoryItem[] = [];
  for (const each of step.items) {
    if (each.item.type === "unsupported" && isGatewayItem(each.item.item.type)) {
      const kept = await findKeptCall(each, deps);
      if (kept === undefined) {
        // A call without its result is left out, because results are not invented. MCP items contain their result.
        items.push(...optional(readMcpItem(each.item.item, each.param)));
        continue;
      }
      const { messages } = kept;
      items.push(toKeptCallItem(step.place === "finished" ? { messages } : kept));
    } else if (each.item.type !== "reasoning") {
      items.push(await toHistoryItem(each, deps));
    } else if (step.place !== "finished") {
      const reasoning = await readReasoning(each, deps);
      if (reasoning === undefined) continue;
      outcomes.push(reasoning);
      items.push(toReasoningItem(reasoning.text));
    }
  }
  if (step.place === "finished") return { items, outcome: undefined };
  const outcome = worstOutcome(outcomes);
  if (outcome === undefined) return restoreLost(items, step.place, stored, deps);
  deps.onRestored(outcome);
  return { items, outcome };
}

/** Finds a gateway call: stored with the item, encrypted in the client's item, or stored under its id. */
async function findKeptCall(
  { item, stored }: LocatedItem,
  deps: HistoryDeps,
): Promise<KeptCall | undefined> {
  if (item.type !== "unsupported") return undefined;
  const { id, encrypted_content: sealed, [KEPT]: own } = item.item;
  if (stored && own !== undefined) return readKeptCall(own);
  if (typeof sealed === "string") {
    const opened = await deps.reasoningStore.openCall(deps.tenant, sealed);
    if (opened) return opened;
  }
  const kept = typeof id === "string" ? await deps.findReasoning(id) : undefined;
  return kept?.type === "unsupported" ? readKeptCall(kept.item[KEPT]) : undefined;
}

function optional<T>(value: T | undefined): T[] {
  return value === undefined ? [] : [value];
}

interface FoundReasoning {
  readonly text: string;
  readonly outcome: ReasoningOutcome;
}

/**
 * Reads the item's readable content, else its encrypted content, else the entry stored under its id. Undefined: none
 * exists.
 */
async function readReasoning(
  located: LocatedItem,
  deps: HistoryDeps,
): Promise<FoundReasoning | undefined> {
  const { item, param, stored } = located;
  if (item.type !== "reasoning") return undefined;
  const sent = reasoningText(item);
  if (sent !== "") return { text: sent, outcome: stored ? "stored" : "sent" };

  const sealed = item.encrypted_content;
  if (sealed) {
    const opened = await deps.reasoningStore.open(deps.tenant, sealed);
    if (opened.opened) return { text: opened.text, outcome: stored ? "stored" : "sealed" };
  }
  const kept = item.id ? await deps.findReasoning(item.id) : undefined;
  if (kept?.type === "reasoning" && reasoningText(kept) !== "") {
    return { text: reasoningText(kept), outcome: "stored" };
  }
  if (!sealed) return undefined;
  throw notEncryptedHere(param);
}

/** Restores the reasoning of calls sent without it, if the reasoning store has it. */
async function restoreLost(
  items: readonly HistoryItem[],
  place: ModelStep["place"],
  stored: StoredCalls,
  deps: HistoryDeps,
): Promise<ResolvedStep> {
  const callIds = items.flatMap((item) => (item.type === "call" ? [item.callId] : []));
  if (callIds.length === 0) return { items, outcome: undefined };
  const lost = { sent: [], sealed: [], callIds };
  const [step] = await deps.reasoningStore.restore(deps.tenant, [lost], stored);
  const restored: HistoryItem[] = [];
  let rest = items;
  for (const [index, reasoning] of (step?.reasoning ?? []).entries()) {
    const end = rest.findIndex(({ type }) => type === "call") + 1;
    const own = rest.slice(0, end);
    const texts = own.filter(({ type }) => type === "assistant").length;
    // Reasoning before an answer is not used again.
    const isAfterAnswer = index === 0 && place === "after-answer";
    const before = isAfterAnswer ? reasoning.before.slice(-texts - 1) : reasoning.before;
    // Calls that the gateway ran have their own items.
    restored.push(...placeReasoning(own, { ...reasoning, before, tools: [] }));
    rest = rest.slice(end);
  }
  return { items: [...restored, ...rest], outcome: step?.outcome };
}

/** Converts an item. Reasoning and references have already been resolved. */
async function toHistoryItem(
  { item, param, isAnswer: answers }: ModelStepItem,
  deps: HistoryDeps,
): Promise<HistoryItem> {
  if (item.type === "compaction") {
    const text = await deps.openSummary(item.encrypted_content);
    if (text === undefined) throw notEncryptedHere(param);
    return { type: "summary", text };
  }
  const known = item.type === "unsupported" ? readMcpItem(item.item, param) : undefined;
  return known ?? toPlainItem(item, param, answers);
}

function notEncryptedHere(param: string): RequestError {
  return refusal(
    `${param}.encrypted_content`,
    "it was not encrypted by this gateway for this key, or it was altered",
    { errorType: "invalid_encrypted_content" },
  );
}

// Images and files

/** The items with texts in place of readable images and files. Rejects as {@link RequestMedia.read} does. */
export async function withMediaTexts(
  items: readonly HistoryItem[],
  { media, mediaRules }: { readonly media: RequestMedia; readonly mediaRules: MediaRules },
  signal: AbortSignal,
): Promise<readonly HistoryItem[]> {
  const slots = sinceCompaction(items).flatMap((item) => {
    if (item.type === "result")
      return slotsOf(item.content, `${item.param}.output`, mediaRules.inResults);
    if (!("content" in item)) return [];
    return slotsOf(item.content, `${item.param}.content`, mediaRules.inMessages);
  });
  const texts = await media.read(slots, signal);
  return texts.size === 0 ? items : items.map((item) => withTexts(item, texts));
}

function withTexts(item: HistoryItem, texts: MediaTexts): HistoryItem {
  if (!("content" in item)) return item;
  return { ...item, content: withTextParts(item.content, texts) };
}
