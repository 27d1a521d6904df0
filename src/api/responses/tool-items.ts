/** Reads input items about tools: calls, their outputs, and tools that the input adds. */
import { RequestError } from "../errors.ts";
import { parseWith } from "../request/parse-request.ts";
import type { HistoryItem } from "./history-item.ts";
import type { InputItem } from "./items.ts";
import { type Tool, toolList } from "./tool-schemas.ts";
import { TOOL_SEARCH } from "./tools.ts";

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
      return { type: "output", callId: item.call_id, content: item.output, param };
    case "tool_search_call": {
      const { call_id: callId, arguments: sent } = item;
      if (!callId) return { type: "unsupported", kind: item.type, param };
      const body = typeof sent === "string" ? sent : JSON.stringify(sent ?? {});
      return { type: "call", callId, name: TOOL_SEARCH, body, form: "json" };
    }
    case "tool_search_output": {
      const { call_id: callId } = item;
      if (!callId) return { type: "unsupported", kind: item.type, param };
      return { type: "tools", tools: readTools(item.tools, param), callId, param };
    }
    case "additional_tools":
      return { type: "tools", tools: readTools(item.tools, param), callId: undefined, param };
    default:
      return item satisfies never;
  }
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
