/** The items of a history, common to all APIs, and their conversion to messages. */
import {
  analysisMessage,
  callMessage,
  developerMessage,
  finalMessage,
  preambleMessage,
  toHeaderName,
  toolResultMessage,
  userMessage,
} from "../../harmony/messages.ts";
import { qualifiedName, toolRecipient, toShownTools } from "../../harmony/tool-names.ts";
import { trainedCallMessage, trainedResultMessage } from "../../harmony/trained-tools.ts";
import type { CallReasoning } from "../../store/call-reasoning.ts";
import type { KeptCall } from "../../store/kept-call.ts";
import type { RequestError } from "../errors.ts";
import type { OfferedFunction } from "../request/offered-functions.ts";
import { isTrainedCall } from "../tools/client-trained-tools.ts";
import { mcpCallMessages } from "../tools/mcp-servers.ts";
import type { HistoryRules, TurnHistory } from "./assemble-turn.ts";
import { PromptHistory } from "./prompt-history.ts";

export type Item =
  /** A system or developer text. */
  | { readonly type: "instructions"; readonly text: string }
  | { readonly type: "user"; readonly text: string; readonly name?: string | undefined }
  /** A summary of everything before it. */
  | { readonly type: "summary"; readonly text: string }
  | AssistantItem
  | ReasoningItem
  | CallItem
  | KeptCallItem
  | ResultItem
  | FoundItem
  | McpCallItem
  /** Functions that are offered from here on. */
  | { readonly type: "tools"; readonly functions: readonly OfferedFunction[] };

export interface AssistantItem {
  readonly type: "assistant";
  readonly text: string;
  /** True: the text is an answer, which ended its turn. False: it is commentary, which preceded a call. */
  readonly isAnswer: boolean;
  /** Whether the client had put reasoning before the text. */
  readonly isTagged?: boolean;
}

export interface ReasoningItem {
  readonly type: "reasoning";
  readonly text: string;
}

/** A call that the gateway ran, with its result. The saved state of its tool is present in the running loop only. */
export interface KeptCallItem extends KeptCall {
  readonly type: "kept-call";
}

export interface CallItem {
  readonly type: "call";
  /** The call's id. Empty: the client sent none. */
  readonly callId: string;
  readonly namespace?: string | undefined;
  readonly name: string;
  /** The body that the model writes: JSON arguments, or a text. */
  readonly body: string;
  readonly form: "json" | "raw";
}

/** The result of a call that the client ran. */
export interface ResultItem {
  readonly type: "result";
  /** Absent: the client named only the tool. */
  readonly callId?: string | undefined;
  /** The tool, for a result whose call is not in the history. */
  readonly name?: string | undefined;
  readonly text: string;
  /** The result's field in the request, for errors. */
  readonly param: string;
}

/** A call to an MCP server whose original messages are not stored. Names are the server's. */
export interface McpCallItem {
  readonly type: "mcp-call";
  readonly server: string;
  readonly tool: string;
  readonly body: string;
  readonly result: string;
}

/** Tools that are known from here on. The deferred tools among them are defined here. */
export interface FoundItem {
  readonly type: "found";
  /** The arguments of the gateway's search that found the tools. Absent: the client has named the tools. */
  readonly search?: string | undefined;
  readonly names: readonly string[];
}

/** The differences between the APIs. */
interface Rendering extends HistoryRules {
  /** Whether leading instructions and tools belong to the beginning of the prompt. */
  readonly hasLead?: boolean;
  /** Whether an answer at the end is the beginning of the turn's answer. */
  readonly hasPrefill?: boolean;
  /** The error of a result whose call is not in the history. */
  readonly unknownCall: (callId: string, param: string) => RequestError;
}

/** Renders items as messages. Items are read one by one, so that the first invalid item determines the error. */
export function render(
  items: Iterable<Item>,
  { sampled, style, trained, mapped, shield, deferred, ...api }: Rendering,
): TurnHistory & Required<Pick<TurnHistory, "leading" | "tools" | "toolStates">> {
  const leading: string[] = [];
  const tools: OfferedFunction[] = [];
  const history = new PromptHistory(sampled, { shield, trained: mapped, deferred });
  const leads = () => api.hasLead === true && history.isEmpty;
  const keptCalls: KeptCall[] = [];
  let prefill: string | undefined;

  for (const item of items) {
    if (prefill !== undefined) history.add(finalMessage(prefill));
    prefill = undefined;
    switch (item.type) {
      case "instructions":
        if (item.text === "") break;
        if (leads()) leading.push(item.text);
        else history.add(...optional(developerMessage({ instructions: item.text })));
        break;
      case "user":
        history.add(userMessage(item.text, item.name));
        break;
      case "summary":
        history.add(userMessage(item.text));
        break;
      case "assistant":
        if (item.isTagged) history.note("reasoning-tag");
        if (item.text === "") break;
        if (!item.isAnswer) history.add(preambleMessage(item.text));
        else if (api.hasPrefill) prefill = item.text;
        else history.add(finalMessage(item.text));
        break;
      case "reasoning":
        history.add(analysisMessage(item.text));
        break;
      case "call": {
        const { callId, namespace, name, body, form } = item;
        const called = qualifiedName(namespace, name);
        if (toHeaderName(name) !== name) history.note("tool-name");
        history.addCall(
          callId,
          isTrainedCall(trained, called)
            ? trainedCallMessage(called, body)
            : callMessage(toolRecipient(namespace, name, style), body, form),
        );
        break;
      }
      case "kept-call":
        keptCalls.push(item);
        history.add(...item.messages);
        break;
      case "result": {
        const { callId, name, text } = item;
        if (callId !== undefined && history.addResult(callId, text)) break;
        if (name === undefined) throw api.unknownCall(callId ?? "", item.param);
        const isTrained = callId !== undefined && isTrainedCall(trained, name);
        const result = (isTrained ? trainedResultMessage : toolResultMessage)(name, text);
        if (!history.addResultOf(result.name ?? "", text)) history.addLoneResult(result);
        break;
      }
      case "mcp-call":
        history.add(...mcpCallMessages(item, item.result, style));
        break;
      case "found":
        if (item.search === undefined) history.define(item.names);
        else history.addSearch(item.search, item.names);
        break;
      case "tools":
        if (leads()) tools.push(...item.functions);
        else {
          const shown = item.functions.map((each) => shield.shown(each));
          history.add(...optional(developerMessage(toShownTools(shown, style))));
        }
        break;
      default:
        item satisfies never;
    }
  }
  const toolStates = toToolStates(keptCalls);
  return { leading, tools, history: history.collect(), prefill, toolStates };
}

/** The state that the gateway's tools have saved in these calls, by tool name. The latest state applies. */
export function toToolStates(calls: readonly KeptCall[]): ReadonlyMap<string, string> {
  return new Map(calls.flatMap(({ state }) => (state ? [[state.tool, state.saved] as const] : [])));
}

/**
 * Puts stored reasoning, and the calls that the gateway ran, between a client's call and the texts since the previous
 * call.
 *
 * The lists of reasoning are matched backwards from the call. If the client has left out texts, their lists come first; if it has
 * more texts than the model wrote, all lists do.
 */
export function placeReasoning<Each extends { readonly type: string }>(
  items: readonly Each[],
  { before, after, tools = [] }: CallReasoning,
): readonly (Each | ReasoningItem | KeptCallItem)[] {
  const lists = before.map((texts, list) => {
    const placed = tools.filter((tool) => tool.list === list);
    return [...texts, undefined].flatMap((text, index): (ReasoningItem | KeptCallItem)[] => [
      ...placed.flatMap(({ at, call }) => (at === index ? toKeptCallItem(call) : [])),
      ...(text === undefined ? [] : [toReasoningItem(text)]),
    ]);
  });
  const places = items.filter(({ type }) => PLACES.has(type)).length;
  const matched = (lists.length < places ? [] : lists.splice(lists.length - places)).values();
  return [
    ...lists.flat(),
    ...items.flatMap((item) => [
      ...((PLACES.has(item.type) ? matched.next().value : undefined) ?? []),
      item,
    ]),
    ...after.map(toReasoningItem),
  ];
}

const PLACES: ReadonlySet<string> = new Set(["assistant", "text", "call"]);

export function toKeptCallItem(call: KeptCall): KeptCallItem {
  return { type: "kept-call", ...call };
}

export function toReasoningItem(text: string): ReasoningItem {
  return { type: "reasoning", text };
}

function optional<T>(value: T | undefined): T[] {
  return value === undefined ? [] : [value];
}
