/**
 * Applies `context_management` of a request: clears results of tools before the prompt is made. This is a pure function
 * of the request, so that a request has the same prompt on every replica.
 *
 * `clear_thinking` clears nothing here: thinking of finished turns is never in the prompt, and a running loop needs its
 * thinking.
 */
import type { Message } from "../../harmony/conversation.ts";
import { userMessage } from "../../harmony/messages.ts";
import type { Model } from "../../models/models.ts";
import type { Turn } from "../../turn/turn.ts";
import { TurnError } from "../../turn/turn-error.ts";
import { refusal, RequestError } from "../errors.ts";
import type { CallItem } from "../turn/history.ts";
import type { AssistantPart, HistoryEntry } from "./history-entry.ts";
import type { ClearToolUses, CountRequest } from "./request.ts";

/** The applied edits, in the format of replies. */
export interface AppliedEdits {
  readonly applied_edits: readonly {
    readonly type: "clear_tool_uses_20250919";
    readonly cleared_tool_uses: number;
    readonly cleared_input_tokens: number;
  }[];
}

export interface EditedTurn {
  readonly turn: Turn;
  /** Undefined: the request has no `context_management`. */
  readonly applied: AppliedEdits | undefined;
  /** Tokens that were cleared. */
  readonly clearedTokens: number;
  /** The history after the edits. */
  readonly entries: readonly HistoryEntry[];
}

interface EditDeps {
  readonly model: Model;
  /**
   * Makes the turn of a history.
   *
   * @param emptied ids of calls whose arguments were cleared: their sampled steps are not restored.
   */
  readonly turnOf: (
    entries: readonly HistoryEntry[],
    emptied: ReadonlySet<string>,
  ) => Turn | Promise<Turn>;
  readonly signal: AbortSignal;
}

/** Throws a {@link RequestError} for unknown edits. */
export function refuseUnknownEdits(
  { context_management: management, compaction }: CountRequest,
  model: string,
): void {
  if (management && compaction) {
    throw refusal("compaction", "cannot be combined with context_management");
  }
  for (const [index, edit] of (management?.edits ?? []).entries()) {
    if (edit.type !== "unknown") continue;
    // Claude Code recognizes the beginning of this sentence and stops sending the edit.
    throw new RequestError(
      `${model} does not support the ${JSON.stringify(edit.kind)} context management strategy`,
      { param: `context_management.edits[${index}].type` },
    );
  }
}

/** The first edit that compacts, if the request has one. */
export function compactionOf({ context_management: management }: CountRequest) {
  return management?.edits?.find((edit) => edit.type === "compact_20260112");
}

/** The turn with the edits of the request applied to its history. */
export async function toEditedTurn(
  entries: readonly HistoryEntry[],
  { context_management: management }: CountRequest,
  deps: EditDeps,
): Promise<EditedTurn> {
  let edited = entries;
  let emptied: ReadonlySet<string> = new Set();
  let turn = await deps.turnOf(entries, emptied);
  if (!management) return { turn, entries, applied: undefined, clearedTokens: 0 };
  const applied: AppliedEdits["applied_edits"][number][] = [];
  let clearedTokens = 0;
  for (const edit of management.edits ?? []) {
    if (edit.type !== CLEAR || !(await isTriggered(edit, edited, turn, deps))) continue;
    const old = await inSteps(clearable(edited, edit), edit, turn.tenant, deps);
    const { entries: cleared, count, emptied: calls } = clearToolUses(edited, old, edit);
    if (count === 0) continue;
    const allEmptied = emptied.union(calls);
    const shorter = await deps.turnOf(cleared, allEmptied);
    const { messages } = shorter.prompt;
    const tokens = await countRemoved(turn.prompt.messages, messages, turn.tenant, deps);
    if (tokens < Math.max(1, edit.clear_at_least?.value ?? 0)) continue;
    applied.push({ type: CLEAR, cleared_tool_uses: count, cleared_input_tokens: tokens });
    clearedTokens += tokens;
    edited = cleared;
    emptied = allEmptied;
    turn = shorter;
  }
  return { turn, entries: edited, applied: { applied_edits: applied }, clearedTokens };
}

const CLEAR = "clear_tool_uses_20250919";
const DEFAULT_TRIGGER_TOKENS = 100_000;
const DEFAULT_KEEP = 3;

async function isTriggered(
  { trigger }: ClearToolUses,
  entries: readonly HistoryEntry[],
  turn: Turn,
  { model, signal }: EditDeps,
): Promise<boolean> {
  const limit = trigger?.value ?? DEFAULT_TRIGGER_TOKENS;
  if (trigger?.type === "tool_uses") {
    const uses = entries.reduce((sum, entry) => sum + callsOf(entry).length, 0);
    return uses > limit;
  }
  try {
    return (await model.countTurnTokens(turn, signal)) > limit;
  } catch (error) {
    // The prompt exceeds the context, and so the trigger. Whether clearing suffices is checked when the prompt is made.
    if (error instanceof TurnError && error.kind === "context-length") return true;
    throw error;
  }
}

function callsOf(entry: HistoryEntry): readonly CallItem[] {
  if (entry.type !== "assistant") return [];
  return entry.parts.flatMap((part) => (part.type === "call" ? [part] : []));
}

/** The call of each result: the last call before it with its id, because some clients reuse ids. */
function toCalls(entries: readonly HistoryEntry[]): ReadonlyMap<HistoryEntry, CallItem> {
  const latest = new Map<string, CallItem>();
  const calls = new Map<HistoryEntry, CallItem>();
  for (const entry of entries) {
    for (const call of callsOf(entry)) latest.set(call.callId, call);
    const call = entry.type === "result" ? latest.get(entry.callId ?? "") : undefined;
    if (call !== undefined) calls.set(entry, call);
  }
  return calls;
}

const CLEARED = "[This result was removed to save space. Call the tool again if you need it.]";

type Result = Extract<HistoryEntry, { type: "result" }>;

/** The results that may be cleared, in order. Results that the model has not read yet are never cleared. */
function clearable(
  entries: readonly HistoryEntry[],
  { keep, exclude_tools: excluded }: ClearToolUses,
): readonly Result[] {
  const calls = toCalls(entries);
  const unread = entries.findLastIndex(({ type }) => type === "assistant");
  const results = entries.flatMap((entry, at) =>
    entry.type === "result" ? [{ entry, isRead: at < unread }] : [],
  );
  const old = results.slice(0, Math.max(0, results.length - (keep?.value ?? DEFAULT_KEEP)));
  const spared = new Set(excluded);
  return old.flatMap(({ entry, isRead }) =>
    isRead && !spared.has(calls.get(entry)?.name ?? "") ? [entry] : [],
  );
}

/**
 * Drops the last results if together they do not reach `clear_at_least`. A client sends the whole history each time:
 * without this, each request would clear one more result, and the engine would process the prompt again from there.
 */
async function inSteps(
  results: readonly Result[],
  { clear_at_least: least }: ClearToolUses,
  tenant: string,
  { model, signal }: EditDeps,
): Promise<readonly Result[]> {
  if (!least) return results;
  const count = (text: string) => model.countPromptTokens([userMessage(text)], tenant, signal);
  const note = await count(CLEARED);
  let cleared = 0;
  let gained = 0;
  for (const [index, { text }] of results.entries()) {
    gained += (await count(text)) - note;
    if (gained < least.value) continue;
    cleared = index + 1;
    gained = 0;
  }
  return results.slice(0, cleared);
}

/** Clears results and keeps their calls, so that the model knows which calls it has made. */
function clearToolUses(
  entries: readonly HistoryEntry[],
  results: readonly Result[],
  { clear_tool_inputs: inputs }: ClearToolUses,
): {
  readonly entries: readonly HistoryEntry[];
  readonly count: number;
  readonly emptied: ReadonlySet<string>;
} {
  const calls = toCalls(entries);
  const cleared = new Set<HistoryEntry>(results);
  const isEmptied = ({ name }: CallItem): boolean =>
    Array.isArray(inputs) ? inputs.includes(name) : inputs === true;
  const ofResults = results.flatMap((result) => calls.get(result) ?? []);
  const emptied = new Set<AssistantPart>(ofResults.filter(isEmptied));
  const toPart = (part: AssistantPart): AssistantPart =>
    part.type === "call" && emptied.has(part) ? { ...part, body: "{}" } : part;
  return {
    count: cleared.size,
    emptied: new Set(ofResults.filter(isEmptied).map(({ callId }) => callId)),
    entries: entries.map((entry): HistoryEntry => {
      if (entry.type === "assistant") return { ...entry, parts: entry.parts.map(toPart) };
      return entry.type === "result" && cleared.has(entry) ? { ...entry, text: CLEARED } : entry;
    }),
  };
}

/**
 * The difference in tokens of two prompts that differ in the texts of some messages. Only these messages are counted,
 * because a whole prompt may exceed the context.
 */
async function countRemoved(
  before: readonly Message[],
  after: readonly Message[],
  tenant: string,
  { model, signal }: EditDeps,
): Promise<number> {
  let tokens = 0;
  for (const [index, message] of before.entries()) {
    const other = after[index];
    // Other messages, such as the one with the tools, are unchanged.
    if (typeof other?.content !== "string" || other.content === message.content) continue;
    tokens += await model.countPromptTokens([message], tenant, signal);
    tokens -= await model.countPromptTokens([other], tenant, signal);
  }
  return tokens;
}
