/** What a request continues: the responses before it, or a conversation, and its own input. */
import type { ReasoningOutcome } from "../../store/reasoning-keeper.ts";
import { RequestError } from "../errors.ts";
import type { Caller, ResponsesContext } from "./context.ts";
import { type HistoryItem, type LocatedItem, resolveHistory } from "./history.ts";
import { type InputItem, inputItem, toWireItem, type WireItem } from "./items.ts";
import type { PromptRequest } from "./request.ts";
import { openSummary } from "./summary.ts";
import { isUnderWay, toItemId } from "./response-store.ts";

export interface RequestContext {
  /** Everything the model is to read, in order. */
  readonly history: readonly HistoryItem[];
  /** The request's own input, each item with an id: what is kept of it. */
  readonly input: readonly WireItem[];
  /** Everything before the input, as it was kept. */
  readonly earlier: readonly WireItem[];
  /** Ids of the responses it continues, oldest first. */
  readonly ancestors: readonly string[];
  /** The id of the conversation it belongs to. */
  readonly conversation: string | undefined;
  /** Where the thoughts of the running tool loop were found; of several steps, the worst. */
  readonly outcome: ReasoningOutcome | undefined;
}

/** `responseId` names the input items that came without an id. Throws a {@link RequestError}. */
export async function loadContext(
  request: Pick<PromptRequest, "input" | "previous_response_id" | "conversation">,
  responseId: string,
  caller: Caller,
  deps: ResponsesContext,
): Promise<RequestContext> {
  const { responses, client } = caller;
  const { earlier, ancestors, conversation } = await loadEarlier(request, caller, deps);
  const own = await Promise.all(
    toInputItems(request.input).map((item, index) => dereference(item, index, caller)),
  );
  if (own.length === 0 && earlier.length === 0) {
    throw new RequestError("input: is required", { param: "input" });
  }
  const source = request.previous_response_id ? "previous_response_id" : "conversation";
  const before = earlier.map((item): LocatedItem => {
    return { item: toInputItem(item), param: source, stored: true };
  });
  const { items: history, outcome } = await resolveHistory([...before, ...own], {
    tenant: client.tenant,
    keeper: deps.reasoning,
    findThought: async (id) => {
      const item = await responses.findItem(client.tenant, id);
      return item && toInputItem(item);
    },
    openSummary: (sealed) => openSummary(sealed, client.tenant, deps.seals),
    onRestored: deps.onRestored,
  });
  const input = own.map(({ item }, index) => withId(toWireItem(item), responseId, index));
  return { history, input, earlier, ancestors, conversation, outcome };
}

async function loadEarlier(
  request: Pick<PromptRequest, "previous_response_id" | "conversation">,
  { responses, client: { tenant } }: Caller,
  deps: ResponsesContext,
): Promise<Pick<RequestContext, "earlier" | "ancestors" | "conversation">> {
  const { previous_response_id: previous, conversation: named } = request;
  if (previous && named) {
    throw new RequestError(
      "conversation: a request continues a response or a conversation, not both",
      { param: "conversation" },
    );
  }
  if (previous) {
    const chain = await responses.chain(tenant, previous);
    if (chain === undefined) throw unknownPrevious(previous);
    const last = chain.at(-1);
    if (last && isUnderWay(last.response)) {
      throw new RequestError(`previous_response_id: the response ${previous} is still being made`, {
        param: "previous_response_id",
      });
    }
    return {
      earlier: chain.flatMap(({ input, response }) => [...input, ...response.output]),
      ancestors: chain.map(({ response }) => response.id),
      conversation: undefined,
    };
  }
  if (!named) return { earlier: [], ancestors: [], conversation: undefined };
  const id = typeof named === "string" ? named : named.id;
  const conversation = await deps.conversations.get(tenant, id);
  if (conversation === undefined) throw unknownConversation(id);
  return { earlier: conversation.items, ancestors: [], conversation: id };
}

function unknownPrevious(id: string): RequestError {
  return new RequestError(
    `previous_response_id: there is no response with the id ${JSON.stringify(id)}`,
    { param: "previous_response_id", errorType: "previous_response_not_found" },
  );
}

export function unknownConversation(id: string): RequestError {
  return new RequestError(`There is no conversation with the id ${JSON.stringify(id)}.`, {
    status: 404,
    type: "not_found_error",
    param: "conversation",
    errorType: "conversation_not_found",
  });
}

function toInputItems(input: PromptRequest["input"]): readonly InputItem[] {
  if (input === undefined || input === null) return [];
  return typeof input === "string" ? [{ type: "message", role: "user", content: input }] : input;
}

async function dereference(item: InputItem, index: number, caller: Caller): Promise<LocatedItem> {
  const param = `input[${index}]`;
  if (item.type !== "item_reference") return { item, param, stored: false };
  const found = await caller.responses.findItem(caller.client.tenant, item.id);
  if (found !== undefined) return { item: toInputItem(found), param, stored: true };
  throw new RequestError(`${param}.id: there is no item with the id ${JSON.stringify(item.id)}`, {
    status: 404,
    type: "not_found_error",
    param: `${param}.id`,
    errorType: "item_not_found",
  });
}

/** Back from the form it was kept in. What another version may have written is taken for an unknown kind. */
function toInputItem(item: WireItem): InputItem {
  return inputItem.safeParse(item).data ?? { type: "unsupported", item };
}

const ID_PREFIXES: Readonly<Record<string, string>> = {
  message: "msg",
  reasoning: "rs",
  function_call: "fc",
  function_call_output: "fco",
  compaction: "cmp",
};

function withId(item: WireItem, responseId: string, index: number): WireItem {
  if (typeof item["id"] === "string" && item["id"] !== "") return item;
  return { ...item, id: toItemId(responseId, ID_PREFIXES[item.type] ?? "item", `i${index}`) };
}
