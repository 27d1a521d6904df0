/**
 * Reads items without a store, including items of tools and reasoning within texts: nothing is looked up or decrypted.
 */
import { isGatewayItem } from "../../store/kept-call.ts";
import type { HistoryItem } from "./history-item.ts";
import { CALL_TYPES, type Content, type InputItem } from "./items.ts";
import type { PromptRequest } from "./request.ts";
import { isObject, parseJson } from "../../engines/untyped-json.ts";
import { toCompactJson } from "../../harmony/json.ts";
import type { NamespacedFunction } from "../../harmony/tool-names.ts";
import { JsonText } from "../../json-text.ts";
import type { OfferedFunction } from "../request/offered-functions.ts";
import { RequestError } from "../errors.ts";
import { parseWith } from "../request/parse-request.ts";
import { type Tool, toolList } from "./tool-schemas.ts";
import { TOOL_SEARCH } from "../../tools/tool-search/deferred-functions.ts";
import { splitThought, type TaggedText } from "../request/thought-tag.ts";

/** The items of a request alone. References are not resolved. */
export function plainHistory(input: PromptRequest["input"]): HistoryItem[] {
  if (typeof input === "string") {
    return [{ type: "message", role: "user", content: input, param: "input" }];
  }
  const items = withThoughts(
    (input ?? []).map((item, index) => ({ item, param: `input[${index}]` })),
  );
  return items.map(({ item, param }, index) => toPlainItem(item, param, isAnswer(items, index)));
}

export function toPlainItem(item: InputItem, param: string, answers: boolean): HistoryItem {
  switch (item.type) {
    case "message": {
      const { role, content } = item;
      return role === "assistant"
        ? { type: "assistant", isAnswer: answers, content, param }
        : { type: "message", role, content, param };
    }
    case "reasoning":
      return { type: "reasoning", text: reasoningText(item) };
    case "function_call":
    case "function_call_output":
    case "custom_tool_call":
    case "custom_tool_call_output":
    case "tool_search_call":
    case "tool_search_output":
    case "additional_tools":
      return readToolItem(item, param);
    case "configuration_update":
      return {
        type: "configuration",
        effort: item.reasoning?.effort,
        format: item.text?.format,
      };
    case "item_reference":
    case "compaction":
      return { type: "unsupported", kind: item.type, param };
    case "unsupported":
      return { type: "unsupported", kind: item.item.type, param };
    default:
      return item satisfies never;
  }
}

/** Whether the item is an answer. Without a phase, text directly before a call counts as commentary. */
export function isAnswer(items: readonly { readonly item: InputItem }[], index: number): boolean {
  const item = items[index]?.item;
  if (item?.type !== "message" || item.role !== "assistant") return false;
  if (item.phase === "final_answer") return true;
  return item.phase !== "commentary" && !isCall(items[index + 1]?.item);
}

function isCall(item: InputItem | undefined): boolean {
  if (item?.type !== "unsupported") return CALL_TYPES.has(item?.type ?? "");
  return isGatewayItem(item.item.type) || item.item.type === "mcp_approval_request";
}

export function reasoningText(item: Extract<InputItem, { type: "reasoning" }>): string {
  return (item.content ?? []).flatMap((part) => (part.text ? [part.text] : [])).join("\n");
}

type ToolItem = Extract<
  InputItem,
  {
    type:
      | "function_call"
      | "function_call_output"
      | "custom_tool_call"
      | "custom_tool_call_output"
      | "tool_search_call"
      | "tool_search_output"
      | "additional_tools";
  }
>;

/**
 * Reads an item that adds tools. `param`: the item's field, for errors. Throws a {@link RequestError} for invalid
 * tools.
 */
function readToolItem(item: ToolItem, param: string): HistoryItem {
  switch (item.type) {
    case "function_call": {
      const { name, arguments: body } = item;
      return { ...toCall(item), name, body, form: "json" };
    }
    case "custom_tool_call": {
      const { name, input: body } = item;
      return { ...toCall(item), name, body, form: "raw" };
    }
    case "function_call_output":
    case "custom_tool_call_output":
      return { type: "result", callId: item.call_id, content: item.output, param };
    case "tool_search_call": {
      const { call_id: callId, arguments: sent } = item;
      const body = typeof sent === "string" ? sent : JSON.stringify(sent ?? {});
      if (!callId) return { type: "search", body };
      return { type: "call", callId, name: TOOL_SEARCH, body, form: "json" };
    }
    case "tool_search_output": {
      const { call_id: callId } = item;
      const tools = readTools(item.tools, param);
      return callId
        ? { type: "tools", tools, callId, param }
        : { type: "tools", tools, callId: undefined, isFound: true, param };
    }
    case "additional_tools":
      return { type: "tools", tools: readTools(item.tools, param), callId: undefined, param };
    default:
      return item satisfies never;
  }
}

/** The arguments of a search. The client expects an object, so other text becomes the query. */
export function toSearchArguments(text: string): Readonly<Record<string, unknown>> {
  if (text === "") return {};
  const value = parseJson(text);
  return isObject(value) ? { ...value } : { query: text };
}

function toCall(item: {
  readonly call_id: string;
  readonly namespace?: string | null | undefined;
}) {
  const { call_id: callId, namespace } = item;
  return { type: "call", callId, namespace: namespace ?? undefined } as const;
}

function readTools(tools: readonly unknown[], param: string): readonly Tool[] {
  try {
    return parseWith(toolList, { tools }).tools;
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    throw new RequestError(`${param}.${error.message}`, { param: `${param}.${error.param}` });
  }
}

interface FoundTool {
  readonly type: "function" | "custom" | "namespace";
  readonly [field: string]: unknown;
}

/** The tools that the gateway's search has found, in the format of its output: tools of a namespace are grouped. */
export function toFoundTools(
  names: readonly string[],
  find: (name: string) => NamespacedFunction | undefined,
): readonly FoundTool[] {
  const tools: FoundTool[] = [];
  const namespaces = new Map<string, FoundTool[]>();
  for (const name of names) {
    const found = find(name);
    if (found === undefined) continue;
    const { namespace } = found;
    const known = namespace === undefined ? tools : namespaces.get(namespace.name);
    const members = known ?? [];
    members.push(toFoundTool(found));
    if (known !== undefined || namespace === undefined) continue;
    namespaces.set(namespace.name, members);
    const { description = "" } = namespace;
    tools.push({ type: "namespace", name: namespace.name, description, tools: members });
  }
  return tools;
}

function toFoundTool(found: NamespacedFunction & Partial<OfferedFunction>): FoundTool {
  const { name, description, parameters, strict, text } = found;
  if (text !== undefined) return { type: "custom", name, description, defer_loading: true };
  return {
    type: "function",
    name,
    description,
    parameters: parameters === undefined ? null : new JsonText(toCompactJson(parameters)),
    strict: strict ?? false,
    defer_loading: true,
  };
}

interface Located {
  readonly item: InputItem;
}

/**
 * Splits reasoning from assistant messages into items. If a reasoning item directly precedes the message, it has the
 * same reasoning and takes precedence.
 */
export function withThoughts<T extends Located>(items: readonly T[]): readonly T[] {
  return items.flatMap((located, index) => {
    const { item } = located;
    if (item.type !== "message" || item.role !== "assistant") return [located];
    const tagged = splitContent(item.content);
    if (!tagged.isTagged) return [located];
    const { reasoning, content } = tagged;
    const isKnown = reasoning === undefined || items[index - 1]?.item.type === "reasoning";
    return [
      ...(isKnown ? [] : [{ ...located, item: toReasoningItem(reasoning) }]),
      ...(content.length === 0 ? [] : [{ ...located, item: { ...item, content } }]),
    ];
  });
}

function splitContent(content: Content): TaggedText & { readonly content: Content } {
  if (typeof content === "string") {
    const tagged = splitThought(content);
    return { ...tagged, content: tagged.text };
  }
  const [first, ...others] = content;
  const tagged = splitThought(first !== undefined && "text" in first ? (first.text ?? "") : "");
  const isLeft = first !== undefined && tagged.text !== "";
  return { ...tagged, content: isLeft ? [{ ...first, text: tagged.text }, ...others] : others };
}

function toReasoningItem(text: string): InputItem {
  return { type: "reasoning", summary: [], content: [{ type: "reasoning_text", text }] };
}
