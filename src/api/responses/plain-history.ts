/** The items of a request alone, for use without a store: references are not resolved. */
import { isAnswer, reasoningText } from "./history.ts";
import type { HistoryItem } from "./history-item.ts";
import type { InputItem } from "./items.ts";
import { readToolItem } from "./tool-items.ts";
import type { PromptRequest } from "./request.ts";
import { withThoughts } from "./thought-items.ts";

export function plainHistory(input: PromptRequest["input"]): HistoryItem[] {
  if (typeof input === "string") {
    return [{ type: "message", role: "user", content: input, param: "input" }];
  }
  const items = withThoughts(
    (input ?? []).map((item, index) => ({ item, param: `input[${index}]` })),
  );
  return items.map(({ item, param }, index) =>
    toHistoryItem(item, { answers: isAnswer(items, index), param }),
  );
}

function toHistoryItem(
  item: InputItem,
  { answers, param }: { readonly answers: boolean; readonly param: string },
): HistoryItem {
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
    case "item_reference":
    case "compaction":
      return { type: "unsupported", kind: item.type, param };
    case "unsupported":
      return { type: "unsupported", kind: item.item.type, param };
    default:
      return item satisfies never;
  }
}
