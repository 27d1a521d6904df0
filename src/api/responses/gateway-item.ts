/**
 * Output items of calls that the gateway runs, and their events, in the order and with the names of OpenAI's SDK: web
 * search, code interpreter, MCP.
 */
import { type TrainedTool, trainedToolOf } from "../../harmony/trained-tools.ts";
import { SEARCH_RECIPIENT } from "../../tools/tool-search/deferred-functions.ts";
import { toSearchArguments } from "./plain-history.ts";
import type { McpError, ShownCall } from "../../tools/gateway-tool.ts";
import type { GatewayCallPart, GatewayCallResult } from "../../turn/turn.ts";

export type GatewayItemStatus = "in_progress" | "completed" | "failed" | "incomplete";

/** A call while the model writes it and the gateway runs it. */
export interface GatewayCallState {
  readonly part: GatewayCallPart;
  readonly id: string;
  /** Code or arguments so far. */
  readonly text: string;
  readonly result: GatewayCallResult | undefined;
}

/** The `include` values of the request. */
export interface GatewayIncludes {
  readonly sources: boolean;
  readonly results: boolean;
  readonly outputs: boolean;
}

export interface GatewayItem {
  readonly id: string;
  readonly type:
    | "web_search_call"
    | "code_interpreter_call"
    | "mcp_call"
    | "mcp_approval_request"
    | "tool_search_call";
  readonly [field: string]: unknown;
}

export function gatewayItemPrefix(part: GatewayCallPart): string {
  if (part.awaitsApproval) return "mcpr";
  return PREFIXES[kindOf(part)];
}

/** The item in its current state. */
export function toGatewayItem(
  call: GatewayCallState,
  status: GatewayItemStatus,
  includes: GatewayIncludes,
): GatewayItem {
  const { part, id, text, result } = call;
  const shown = result?.shown;
  const kind = kindOf(part);
  switch (kind) {
    case "code": {
      const code = shown?.type === "code" ? shown : undefined;
      return {
        id,
        type: "code_interpreter_call",
        status,
        code: text,
        container_id: code?.containerId ?? "",
        outputs: includes.outputs && code ? code.outputs.map((output) => ({ ...output })) : null,
      };
    }
    case "mcp":
      return toMcpItem(call, status);
    case "tools":
      return {
        id,
        type: "tool_search_call",
        // This item type has no status for a failure.
        status: status === "failed" ? "completed" : status,
        execution: "server",
        call_id: null,
        arguments: toSearchArguments(text),
      };
    case "web": {
      const results = shown?.type === "search" && includes.results ? shown.results : undefined;
      return {
        id,
        type: "web_search_call",
        status,
        action: toAction(part.name, shown, includes),
        ...(results && { results: results.map((each) => ({ ...each })) }),
      };
    }
    default:
      return kind satisfies never;
  }
}

function toMcpItem(
  { part, id, text, result }: GatewayCallState,
  status: GatewayItemStatus,
): GatewayItem {
  const shown = result?.shown.type === "mcp" ? result.shown : undefined;
  const { server = "", tool = "" } = part.origin ?? {};
  if (part.awaitsApproval) {
    return { id, type: "mcp_approval_request", server_label: server, name: tool, arguments: text };
  }
  return {
    id,
    type: "mcp_call",
    status,
    server_label: server,
    name: tool,
    arguments: text,
    output: shown?.output ?? null,
    error: shown?.error === undefined ? null : toItemError(shown.error),
    approval_request_id: part.approvalRequestId ?? null,
  };
}

const ERROR_TYPES = {
  protocol: "mcp_protocol_error",
  http: "http_error",
  execution: "mcp_tool_execution_error",
} as const satisfies Record<McpError["type"], string>;

function toItemError({ type, ...error }: McpError): object {
  return { type: ERROR_TYPES[type], ...error };
}

/** While the arguments are written, only the type of the action is known. Typed clients require its other members. */
function toAction(name: string, shown: ShownCall | undefined, { sources }: GatewayIncludes) {
  switch (shown?.type) {
    case "search":
      return {
        type: "search",
        query: shown.query,
        queries: [shown.query],
        ...(sources && { sources: shown.results.map(({ url }) => ({ type: "url", url })) }),
      };
    case "open":
      return { type: "open_page", url: shown.url ?? null };
    case "find":
      return { type: "find_in_page", pattern: shown.pattern, url: shown.url ?? "" };
    default:
      return BEGUN_ACTIONS[name] ?? BEGUN_SEARCH;
  }
}

/** An event of a call's progress. `members`: JSON of the event's own members. */
export interface GatewayEvent {
  readonly type: string;
  readonly members: string;
}

export function eventsAtStart({ part }: GatewayCallState): GatewayEvent[] {
  if (part.awaitsApproval || kindOf(part) === "tools") return [];
  return [{ type: `${eventPrefix(part)}.in_progress`, members: "" }];
}

/** The type of a call's deltas. Undefined: the text is sent only when it is complete. */
export function gatewayDeltaType(part: GatewayCallPart): string | undefined {
  return part.awaitsApproval || kindOf(part) !== "code"
    ? undefined
    : "response.code_interpreter_call_code.delta";
}

/** The events when the arguments are complete and the call runs. */
export function eventsAtRun({ part, text }: GatewayCallState): GatewayEvent[] {
  if (part.awaitsApproval) return [];
  const json = JSON.stringify(text);
  const prefix = eventPrefix(part);
  const kind = kindOf(part);
  switch (kind) {
    case "web":
      return [{ type: `${prefix}.searching`, members: "" }];
    case "code":
      return [
        { type: "response.code_interpreter_call_code.done", members: `"code":${json}` },
        { type: `${prefix}.interpreting`, members: "" },
      ];
    case "mcp":
      return [
        { type: "response.mcp_call_arguments.delta", members: `"delta":${json}` },
        { type: "response.mcp_call_arguments.done", members: `"arguments":${json}` },
      ];
    case "tools":
      return [];
    default:
      return kind satisfies never;
  }
}

/** The events when the call has ended. Only MCP has an event for a failure. */
export function eventsAtEnd({ part, result }: GatewayCallState): GatewayEvent[] {
  if (part.awaitsApproval || result === undefined || kindOf(part) === "tools") return [];
  if (!result.failed) return [{ type: `${eventPrefix(part)}.completed`, members: "" }];
  return kindOf(part) === "mcp" ? [{ type: `${eventPrefix(part)}.failed`, members: "" }] : [];
}

type Kind = "web" | "code" | "mcp" | "tools";

function kindOf({ name, origin }: GatewayCallPart): Kind {
  if (name === SEARCH_RECIPIENT) return "tools";
  if (origin !== undefined) return "mcp";
  return KINDS[trainedToolOf(name) ?? "python"];
}

const KINDS: Readonly<Record<TrainedTool, Kind>> = { browser: "web", python: "code" };

function eventPrefix(part: GatewayCallPart): string {
  const kind = kindOf(part);
  return kind === "tools" ? "" : EVENT_PREFIXES[kind];
}

const PREFIXES: Record<Kind, string> = { web: "ws", code: "ci", mcp: "mcp", tools: "tsc" };
/** A search for tools has no events of its own. */
const EVENT_PREFIXES: Record<Exclude<Kind, "tools">, string> = {
  web: "response.web_search_call",
  code: "response.code_interpreter_call",
  mcp: "response.mcp_call",
};
const BEGUN_SEARCH = { type: "search", query: "" };
const BEGUN_ACTIONS: Readonly<Record<string, object>> = {
  "browser.search": BEGUN_SEARCH,
  "browser.open": { type: "open_page", url: null },
  "browser.find": { type: "find_in_page", pattern: "", url: "" },
};
