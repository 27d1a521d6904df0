/** Loads the earlier responses or the conversation that a request continues, and adds the request's input. */
import type { ReasoningOutcome, SampledSteps } from "../../store/reasoning-store.ts";
import { refusal, RequestError } from "../errors.ts";
import { refuseManyItems } from "./conversations.ts";
import type { Caller, ResponsesContext } from "./context.ts";
import { type LocatedItem, resolveHistory } from "./history.ts";
import type { HistoryItem } from "./history-item.ts";
import { type InputItem, inputItem, toWireItem, type WireItem } from "./items.ts";
import type { PromptRequest } from "./request.ts";
import { openSummary } from "./compaction.ts";
import { isInFlight, toItemId } from "./response-store.ts";
import { ItemReads, type HistoryBudget, readChain, sizeOf, wantedIds } from "./stored-reads.ts";

export interface RequestContext {
  /** All items for the model, in order. */
  readonly history: readonly HistoryItem[];
  /** The request's own input in its stored form, each item with an id. */
  readonly input: readonly WireItem[];
  /** All stored items before the input. */
  readonly earlier: readonly WireItem[];
  /** Ids of the responses that the request continues, oldest first. */
  readonly ancestors: readonly string[];
  /** The id of the request's conversation. */
  readonly conversation: string | undefined;
  /** The place where the reasoning of the running tool loop was found; for several steps, the worst outcome. */
  readonly outcome: ReasoningOutcome | undefined;
  readonly sampled: SampledSteps;
  /** Whether the request continues or references private items. */
  readonly isPrivate: boolean;
  /** Approximate JSON length of `earlier` and of the items that the input references. */
  readonly earlierSize: number;
  readonly referencedSize: number;
}

/**
 * Loads a request's context. `responseId` is used to name input items without an id. Rejects with a
 * {@link RequestError}.
 */
export async function loadContext(
  request: Pick<PromptRequest, "input" | "previous_response_id" | "conversation">,
  responseId: string,
  caller: Caller,
  deps: ResponsesContext,
): Promise<RequestContext> {
  const { responses, client } = caller;
  const budget = createBudget(deps.maxBodyBytes);
  const sent = toInputItems(request.input);
  const loaded = await loadEarlier(request, caller, deps, budget);
  const { earlier, ancestors, conversation } = loaded;
  if (conversation !== undefined) refuseManyItems(earlier.length + sent.length, deps.limits);
  const earlierSize = budget.size();
  const reads = new ItemReads(responses, client.tenant, wantedIds(sent));
  const own = await dereferenceAll(sent, reads, budget);
  if (own.length === 0 && earlier.length === 0) {
    throw refusal("input", "is required");
  }
  const source = request.previous_response_id ? "previous_response_id" : "conversation";
  const before: LocatedItem[] = [];
  for (const [at, item] of earlier.entries()) {
    if (at > 0 && at % ITEMS_PER_SLICE === 0) await deps.pause();
    before.push({ item: toInputItem(item), param: source, stored: true });
  }
  const {
    items: history,
    outcome,
    sampled,
  } = await resolveHistory([...before, ...own], {
    tenant: client.tenant,
    reasoningStore: deps.reasoning,
    findReasoning: async (id) => {
      const item = await reads.find(id);
      return item && toInputItem(item);
    },
    openSummary: (sealed) => openSummary(sealed, client.tenant, deps.cipher),
    onRestored: deps.onRestored,
  });
  const input = own.map(({ item }, index) => withId(toWireItem(item), responseId, index));
  return {
    history,
    input,
    earlier,
    ancestors,
    conversation,
    outcome,
    sampled,
    isPrivate: loaded.isPrivate || reads.arePrivate,
    earlierSize,
    referencedSize: budget.size() - earlierSize,
  };
}

/** Stored items that are checked between two pauses: a few milliseconds. */
const ITEMS_PER_SLICE = 200;

/** Limits a request with all referenced items to the maximum length of a request body. */
function createBudget(maxSize: number): HistoryBudget & { size(): number } {
  let size = 0;
  return {
    size: () => size,
    add(added, param) {
      size += added;
      if (size <= maxSize) return;
      throw refusal(
        param,
        `the referenced items make the input longer than ${maxSize} bytes. Reference fewer items, or shorten the conversation.`,
        { status: 413 },
      );
    },
  };
}

async function loadEarlier(
  request: Pick<PromptRequest, "previous_response_id" | "conversation">,
  { responses, client: { tenant }, signal }: Caller,
  deps: ResponsesContext,
  budget: HistoryBudget,
): Promise<Pick<RequestContext, "earlier" | "ancestors" | "conversation" | "isPrivate">> {
  const { previous_response_id: previous, conversation: named } = request;
  if (previous && named) {
    throw refusal("conversation", "a request continues a response or a conversation, not both");
  }
  if (previous) {
    const now = deps.now();
    const refreshAfterMs = (deps.ttlSeconds * 1000) / 2;
    const chain = await readChain(responses, tenant, previous, { budget, refreshAfterMs, now });
    if (chain === undefined) throw unknownPrevious(previous);
    const last = chain.at(-1);
    if (last && isInFlight(last)) {
      throw refusal("previous_response_id", `the response ${previous} is still in progress`);
    }
    return {
      earlier: chain.flatMap(({ items }) => items),
      ancestors: chain.map((each) => each.id),
      conversation: undefined,
      isPrivate: chain.some(({ isPrivate }) => isPrivate),
    };
  }
  if (!named) return { earlier: [], ancestors: [], conversation: undefined, isPrivate: false };
  const id = typeof named === "string" ? named : named.id;
  const conversation = await deps.readStored(tenant, { signal }, () =>
    deps.conversations.get(tenant, id),
  );
  if (conversation === undefined) throw unknownConversation(id);
  budget.add(sizeOf(conversation.items), "conversation");
  const { items, isPrivate = false } = conversation;
  return { earlier: items, ancestors: [], conversation: id, isPrivate };
}

function unknownPrevious(id: string): RequestError {
  return refusal("previous_response_id", `there is no response with the id ${JSON.stringify(id)}`, {
    errorType: "previous_response_not_found",
  });
}

export function unknownConversation(id: string): RequestError {
  return new RequestError(`There is no conversation with the id ${JSON.stringify(id)}.`, {
    status: 404,
    param: "conversation",
    errorType: "conversation_not_found",
  });
}

function toInputItems(input: PromptRequest["input"]): readonly InputItem[] {
  if (input === undefined || input === null) return [];
  return typeof input === "string" ? [{ type: "message", role: "user", content: input }] : input;
}

/** Reads references one after the other, so that an excess is refused before all are read. */
async function dereferenceAll(
  items: readonly InputItem[],
  reads: ItemReads,
  budget: HistoryBudget,
): Promise<LocatedItem[]> {
  /** Items by id: an item that is referenced many times is checked and measured once. */
  const known = new Map<string, { readonly item: InputItem; readonly size: number }>();
  const located: LocatedItem[] = [];
  for (const [index, item] of items.entries()) {
    const param = `input[${index}]`;
    if (item.type !== "item_reference") {
      located.push({ item, param, stored: false });
      continue;
    }
    let target = known.get(item.id);
    if (target === undefined) {
      const found = await reads.find(item.id);
      if (found === undefined) throw unknownItem(item.id, param);
      target = { item: toInputItem(found), size: sizeOf(found) };
      known.set(item.id, target);
    }
    budget.add(target.size, "input");
    located.push({ item: target.item, param, stored: true });
  }
  return located;
}

function unknownItem(id: string, param: string): RequestError {
  const details = { status: 404, errorType: "item_not_found" } as const;
  return refusal(`${param}.id`, `there is no item with the id ${JSON.stringify(id)}`, details);
}

/** Parses a stored item. An invalid item, written by another version, counts as an unknown kind. */
function toInputItem(item: WireItem): InputItem {
  return inputItem.safeParse(item).data ?? { type: "unsupported", item };
}

const ID_PREFIXES: Readonly<Record<string, string>> = {
  message: "msg",
  reasoning: "rs",
  function_call: "fc",
  function_call_output: "fco",
  custom_tool_call: "ctc",
  custom_tool_call_output: "ctco",
  tool_search_call: "tsc",
  tool_search_output: "tso",
  additional_tools: "at",
  configuration_update: "cu",
  compaction: "cmp",
};

function withId(item: WireItem, responseId: string, index: number): WireItem {
  if (typeof item["id"] === "string" && item["id"] !== "") return item;
  return { ...item, id: toItemId(responseId, ID_PREFIXES[item.type] ?? "item", `i${index}`) };
}
