/** Converts the items of a history to the common items of all APIs, and to messages. */
import { functionRecipient } from "../../harmony/messages.ts";
import { type NameShield, NO_SHIELD } from "../../harmony/name-shield.ts";
import { type NamespaceStyle, qualifiedName, toolRecipient } from "../../harmony/tool-names.ts";
import { foundText } from "../../tools/tool-search/deferred-functions.ts";
import { refusal, type RequestError } from "../errors.ts";
import { contentText } from "../request/content-text.ts";
import type { OfferedFunction } from "../request/offered-functions.ts";
import type { HistoryRules } from "../turn/assemble-turn.ts";
import { type Item, render, toKeptCallItem } from "../turn/history.ts";
import type { HistoryItem, Unsupported } from "./history-item.ts";
import { approvalRequests, mcpMessages } from "./mcp-items.ts";
import type { Tool } from "./tool-schemas.ts";

interface HistoryOptions extends Partial<HistoryRules> {
  readonly unsupported: Unsupported;
  readonly style: NamespaceStyle;
}

/** The tools that an item of the history adds. */
export type LaterTools = ReadonlyMap<HistoryItem, readonly OfferedFunction[]>;

/** Converts items to Harmony messages. An output needs its call among the items. */
export function toHistory(
  items: readonly HistoryItem[],
  { unsupported, style, shield = NO_SHIELD, trained = [], ...others }: HistoryOptions,
  later: LaterTools = new Map(),
): ReturnType<typeof render> {
  const { mapped, sampled, deferred } = others;
  const rules = { style, trained, mapped, sampled, shield, deferred };
  const read = toItems(items, { unsupported, style, shield, later });
  return render(read, { ...rules, hasLead: true, unknownCall });
}

interface ItemOptions extends Pick<HistoryRules, "style" | "shield"> {
  readonly unsupported: Unsupported;
  readonly later: LaterTools;
}

function* toItems(
  items: readonly HistoryItem[],
  { unsupported: { kinds, mediaRules }, style, shield, later }: ItemOptions,
): Generator<Item> {
  const requests = approvalRequests(items);
  let search: string | undefined;
  for (const item of items) {
    switch (item.type) {
      case "message": {
        const text = contentText(item.content, `${item.param}.content`, mediaRules.inMessages);
        yield { type: item.role === "user" ? "user" : "instructions", text };
        break;
      }
      case "assistant": {
        const text = contentText(item.content, `${item.param}.content`, mediaRules.inMessages);
        yield { type: "assistant", text, isAnswer: item.isAnswer };
        break;
      }
      case "reasoning":
        if (item.text !== "") yield item;
        break;
      case "summary":
      case "call":
      case "kept-call":
        yield item;
        break;
      case "result": {
        const { callId, content, param } = item;
        const text = contentText(content, `${param}.output`, mediaRules.inResults);
        yield { type: "result", callId, text, param };
        break;
      }
      case "configuration":
        break;
      case "search":
        search = item.body;
        break;
      case "tools": {
        const { callId, param } = item;
        if (item.isFound && search !== undefined) {
          yield { type: "found", search, names: toNames(item.tools) };
          search = undefined;
        } else if (callId !== undefined) {
          const text = toSearchResult(item.tools, style, shield);
          yield { type: "result", callId, text, param };
        }
        yield { type: "tools", functions: later.get(item) ?? [] };
        break;
      }
      case "mcp-list":
      case "mcp-call":
      case "mcp-request":
      case "mcp-response":
        yield toKeptCallItem({ messages: mcpMessages(item, requests, style) });
        break;
      case "unsupported":
        if (kinds === "refuse") {
          const kind = JSON.stringify(item.kind);
          throw refusal(`${item.param}.type`, `${kind} items are not supported`);
        }
        break;
      default:
        item satisfies never;
    }
  }
}

/** The result of a tool search. The definitions follow in a developer message. */
function toSearchResult(tools: readonly Tool[], style: NamespaceStyle, shield: NameShield): string {
  const recipients = tools.flatMap((tool) => {
    switch (tool.type) {
      case "function":
      case "custom":
        return [functionRecipient(tool.name)];
      case "namespace":
        return tool.tools.flatMap((each) =>
          each.type === "hosted" ? [] : [toolRecipient(tool.name, each.name, style)],
        );
      case "tool_search":
      case "hosted":
        return [];
      default:
        return tool satisfies never;
    }
  });
  const names = recipients.map((recipient) => shield.recipient(recipient));
  return foundText(names);
}

/** The names of tools in the turn. */
function toNames(tools: readonly Tool[]): string[] {
  return tools.flatMap((tool) => {
    if (tool.type === "function" || tool.type === "custom") return [tool.name];
    if (tool.type !== "namespace") return [];
    return tool.tools.flatMap((each) =>
      each.type === "hosted" ? [] : [qualifiedName(tool.name, each.name)],
    );
  });
}

function unknownCall(callId: string, param: string): RequestError {
  return refusal(
    `${param}.call_id`,
    `no function call before this output has the call_id ${JSON.stringify(callId)}`,
  );
}
