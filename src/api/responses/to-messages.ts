/** Converts the items of a history to Harmony messages. */
import type { Message, ToolNamespace } from "../../harmony/conversation.ts";
import {
  analysisMessage,
  callMessage,
  developerMessage,
  finalMessage,
  functionRecipient,
  preambleMessage,
  userMessage,
} from "../../harmony/messages.ts";
import { type NameShield, NO_SHIELD } from "../../harmony/name-shield.ts";
import {
  type NamespaceStyle,
  qualifiedName,
  toolRecipient,
  toShownTools,
} from "../../harmony/tool-names.ts";
import { trainedCallMessage } from "../../harmony/trained-tools.ts";
import { isTrainedCall } from "../tools/client-trained-tools.ts";
import type { RequestError } from "../errors.ts";
import type { SampledSteps } from "../../store/reasoning-store.ts";
import type { OfferedFunction } from "../request/offered-functions.ts";
import { PromptHistory } from "../turn/prompt-history.ts";
import type { HistoryRules, TurnHistory } from "../turn/assemble-turn.ts";
import { contentText } from "../request/content-text.ts";
import type { HistoryItem } from "./history-item.ts";
import { approvalRequests, mcpMessages } from "./mcp-items.ts";
import type { Tool } from "./tool-schemas.ts";
import { type Unsupported } from "./unsupported.ts";
import { refusal } from "../errors.ts";

export interface HistoryOptions extends Partial<HistoryRules> {
  readonly unsupported: Unsupported;
  readonly style: NamespaceStyle;
  readonly sampled?: SampledSteps | undefined;
}

type Item<T extends HistoryItem["type"]> = Extract<HistoryItem, { type: T }>;

/** The tools that an item of the history adds. */
export type LaterTools = ReadonlyMap<HistoryItem, readonly OfferedFunction[]>;

/** Converts items to Harmony messages. An output needs its call among the items. */
export function toHistory(
  items: readonly HistoryItem[],
  { unsupported, style, trained = [], mapped, sampled, shield = NO_SHIELD }: HistoryOptions,
  later: LaterTools = new Map(),
): Required<Pick<TurnHistory, "history" | "leading" | "tools">> {
  const tools: OfferedFunction[] = [];
  const leading: string[] = [];
  const requests = approvalRequests(items);
  const history = new PromptHistory(sampled, { shield, trained: mapped });

  for (const item of items) {
    switch (item.type) {
      case "message": {
        const text = messageText(item, unsupported);
        if (item.role === "user") history.add(userMessage(text));
        else if (text === "") break;
        else if (history.isEmpty) leading.push(text);
        else history.add(...optional(developerMessage({ instructions: text })));
        break;
      }
      case "assistant": {
        const text = messageText(item, unsupported);
        if (text !== "") history.add(item.isAnswer ? finalMessage(text) : preambleMessage(text));
        break;
      }
      case "reasoning":
        if (item.text !== "") history.add(analysisMessage(item.text));
        break;
      case "summary":
        history.add(userMessage(item.text));
        break;
      case "call":
        history.addCall(item.callId, toCallMessage(item, trained, style));
        break;
      case "output": {
        const { inResults } = unsupported.media;
        const output = contentText(item.content, `${item.param}.output`, inResults);
        if (!history.addResult(item.callId, output)) throw unknownCall(item.callId, item.param);
        break;
      }
      case "tools": {
        const added = later.get(item) ?? [];
        if (item.callId !== undefined) {
          const found = toSearchResult(item.tools, style, shield);
          if (!history.addResult(item.callId, found)) throw unknownCall(item.callId, item.param);
        }
        const shown = added.map((each) => shield.shown(each));
        if (history.isEmpty) tools.push(...added);
        else history.add(...optional(developerMessage(toShownTools(shown, style))));
        break;
      }
      case "kept-call":
        history.add(...item.messages);
        break;
      case "mcp-list":
      case "mcp-call":
      case "mcp-request":
      case "mcp-response":
        history.add(...mcpMessages(item, requests, style));
        break;
      case "unsupported":
        if (unsupported.kinds === "refuse") {
          throw refusal(
            `${item.param}.type`,
            `${JSON.stringify(item.kind)} items are not supported`,
          );
        }
        break;
      default:
        item satisfies never;
    }
  }
  return { leading, tools, history: history.collect() };
}

function messageText(
  { content, param }: Item<"message" | "assistant">,
  { media }: Unsupported,
): string {
  return contentText(content, `${param}.content`, media.inMessages);
}

function toCallMessage(
  { namespace, name, body, form }: Item<"call">,
  trained: readonly ToolNamespace[],
  style: NamespaceStyle,
): Message {
  const called = qualifiedName(namespace, name);
  return isTrainedCall(trained, called)
    ? trainedCallMessage(called, body)
    : callMessage(toolRecipient(namespace, name, style), body, form);
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
          each.type === "unsupported" ? [] : [toolRecipient(tool.name, each.name, style)],
        );
      case "tool_search":
      case "unsupported":
        return [];
      default:
        return tool satisfies never;
    }
  });
  const names = recipients.map((recipient) => shield.recipient(recipient));
  return names.length === 0 ? "No tools were found." : `Tools found: ${names.join(", ")}`;
}

function unknownCall(callId: string, param: string): RequestError {
  return refusal(
    `${param}.call_id`,
    `no function call before this output has the call_id ${JSON.stringify(callId)}`,
  );
}

function optional<T>(value: T | undefined): T[] {
  return value === undefined ? [] : [value];
}
