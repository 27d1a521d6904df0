/** Reads input items about tools: calls, their outputs, and tools that the input adds. */
import { isObject, parseJson } from "../../engines/untyped-json.ts";
import { toCompactJson } from "../../harmony/json.ts";
import type { NamespacedFunction } from "../../harmony/tool-names.ts";
import { JsonText } from "../../json-text.ts";
import type { OfferedFunction } from "../request/offered-functions.ts";
import { RequestError } from "../errors.ts";
import { parseWith } from "../request/parse-request.ts";
import type { HistoryItem } from "./history-item.ts";
import type { InputItem } from "./items.ts";
import { type Tool, toolList } from "./tool-schemas.ts";
import { TOOL_SEARCH } from "../../tools/tool-search/deferred-functions.ts";

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

/** `param`: the item's field, for errors. Throws a {@link RequestError} for tools that are not valid. */
export function readToolItem(item: ToolItem, param: string): HistoryItem {
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

/** The client expects an object. Other text is used as the query. */
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

export interface FoundTool {
  readonly type: "function" | "custom" | "namespace";
  readonly [field: string]: unknown;
}

/** The tools that a search of the gateway has found, as its output has them: those of a namespace together. */
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
