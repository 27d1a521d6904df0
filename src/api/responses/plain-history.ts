/** Reads items by themselves, without a store: nothing is looked up or decrypted. */
import { isGatewayItem } from "../../store/kept-call.ts";
import type { HistoryItem } from "./history-item.ts";
import { CALL_TYPES, type InputItem } from "./items.ts";
import { readToolItem } from "./tool-items.ts";
import type { PromptRequest } from "./request.ts";
import { withThoughts } from "./thought-items.ts";

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

/** Without a phase, text directly before a call counts as commentary. */
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
