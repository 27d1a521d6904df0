/** MCP servers of a request, and MCP items of a conversation: lists of tools, calls, approval requests and the client's answers. */
import * as z from "zod";
import type { Message } from "../../harmony/conversation.ts";
import type { NamespaceStyle } from "../../harmony/tool-names.ts";
import { lazy } from "../../lazy.ts";
import { boundTools, type McpTool } from "../../tools/mcp/connection.ts";
import type { GatewayTool } from "../../tools/gateway-tool.ts";
import type { ApprovedCall } from "../../turn/turn.ts";
import { refusal } from "../errors.ts";
import { parseWith } from "../request/parse-request.ts";
import {
  type Listing,
  mcpCallMessages,
  NO_SERVERS,
  type OpenedServers,
  openServers,
} from "../tools/mcp-servers.ts";
import type { HistoryItem, McpCall, McpHistoryItem } from "./history-item.ts";
import type { WireItem } from "./items.ts";
import type { RequestMedia } from "../media/request-media.ts";
import type { PromptRequest } from "./request.ts";
import { type HostedDeps, toDeclarations } from "../tools/hosted-tools.ts";

/** Undefined: the item has another type. Throws a {@link RequestError} for an invalid item. */
export function readMcpItem(item: WireItem, param: string): McpHistoryItem | undefined {
  switch (item.type) {
    case "mcp_list_tools": {
      const { server_label: label, tools, error } = parseWith(listItem(), item, param);
      return { type: "mcp-list", label, tools: error == null ? tools.map(toTool) : undefined };
    }
    case "mcp_call": {
      const { output, error, ...call } = parseWith(callItem(), item, param);
      const result = output ?? (error == null ? undefined : toErrorText(error));
      return { type: "mcp-call", ...toCall(call), result };
    }
    case "mcp_approval_request": {
      const { id, ...call } = parseWith(requestItem(), item, param);
      return { type: "mcp-request", id, ...toCall(call) };
    }
    case "mcp_approval_response": {
      const {
        approval_request_id: requestId,
        approve,
        reason,
      } = parseWith(responseItem(), item, param);
      return { type: "mcp-response", requestId, approve, reason: reason ?? undefined, param };
    }
    default:
      return undefined;
  }
}

/** The tools that were listed in the conversation, by the server's label. */
function knownTools(history: readonly HistoryItem[]): ReadonlyMap<string, readonly McpTool[]> {
  return new Map(
    history.flatMap((item) =>
      item.type === "mcp-list" && item.tools ? [[item.label, boundTools(item.tools)] as const] : [],
    ),
  );
}

type McpRequestItem = Extract<HistoryItem, { type: "mcp-request" }>;

/** Requests for approval by id. */
type ApprovalRequests = ReadonlyMap<string, McpRequestItem>;

/** The requests for approval in a history. If several have the same id, the first counts. */
export function approvalRequests(history: readonly HistoryItem[]): ApprovalRequests {
  const requests = history.filter((item) => item.type === "mcp-request");
  return new Map(requests.toReversed().map((item) => [item.id, item]));
}

/** The messages for the model. Calls that the gateway has stored are not included. */
export function mcpMessages(
  item: McpHistoryItem,
  requests: ApprovalRequests,
  style: NamespaceStyle,
): readonly Message[] {
  switch (item.type) {
    case "mcp-list":
    case "mcp-request":
      return [];
    case "mcp-call":
      return item.result === undefined ? [] : mcpCallMessages(item, item.result, style);
    case "mcp-response": {
      const request = item.approve ? undefined : requests.get(item.requestId);
      return request === undefined ? [] : mcpCallMessages(request, toRefusal(item.reason), style);
    }
    default:
      return item satisfies never;
  }
}

/**
 * The calls that the client has approved since the model's last output. Throws a {@link RequestError} for an answer
 * without a request, and for a call to a tool that this request does not offer.
 */
export function approvedCalls(
  history: readonly HistoryItem[],
  tools: readonly GatewayTool[],
): readonly ApprovedCall[] {
  const last = history.findLastIndex(({ type }) => BY_MODEL.has(type));
  const requests = approvalRequests(history);
  const approved = new Map<string, ApprovedCall>();
  for (const item of history.slice(last + 1)) {
    if (item.type !== "mcp-response") continue;
    const request = requests.get(item.requestId);
    const param = `${item.param}.approval_request_id`;
    if (request === undefined) {
      const id = JSON.stringify(item.requestId);
      throw refusal(param, `there is no mcp_approval_request with the id ${id}`);
    }
    // If there are several answers, the last counts.
    approved.delete(request.id);
    if (!item.approve) continue;
    const recipient = findRecipient(tools, request);
    if (recipient === undefined) {
      const name = JSON.stringify(`${request.server}.${request.tool}`);
      throw refusal(
        param,
        `the tools of this request have no ${name}. Declare its MCP server again`,
      );
    }
    approved.set(request.id, { recipient, body: request.body, requestId: request.id });
  }
  return [...approved.values()];
}

/** The output item of a listing. */
export function toListItem({ label, tools, error }: Listing, id: string) {
  return {
    id,
    type: "mcp_list_tools" as const,
    server_label: label,
    tools: tools.map(({ name, description, inputSchema, readOnly }) => ({
      name,
      description,
      input_schema: inputSchema,
      annotations: { readOnlyHint: readOnly },
    })),
    // The AI SDK does not accept null.
    ...(error !== undefined && { error }),
  };
}

export type McpListItem = ReturnType<typeof toListItem>;

/** The event types between `response.output_item.added` and `.done`. */
export function listEvents({ error }: McpListItem): readonly string[] {
  const prefix = "response.mcp_list_tools";
  return [
    `${prefix}.in_progress`,
    error === undefined ? `${prefix}.completed` : `${prefix}.failed`,
  ];
}

const BY_MODEL: ReadonlySet<HistoryItem["type"]> = new Set([
  "assistant",
  "reasoning",
  "call",
  "kept-call",
  "mcp-call",
  "mcp-request",
]);

function findRecipient(
  tools: readonly GatewayTool[],
  { server, tool: name }: McpRequestItem,
): string | undefined {
  for (const tool of tools) {
    for (const { recipient } of tool.functions ?? []) {
      const origin = tool.origin?.(recipient);
      if (origin?.server === server && origin.tool === name) return recipient;
    }
  }
  return undefined;
}

function toRefusal(reason: string | undefined): string {
  const why = reason === undefined || reason === "" ? "" : ` The reason given: ${reason}`;
  return `Error: the user has not approved this call. It was not made.${why}`;
}

/** The error's text for the model, if known. */
function toErrorText(error: unknown): string {
  const parsed = errorText().safeParse(error).data;
  if (parsed === undefined) return "Error: the call failed.";
  if (typeof parsed === "string") return `Error: ${parsed}`;
  const texts = parsed.content?.flatMap(({ text }) => text ?? []) ?? [];
  return `Error: ${parsed.message ?? texts.join("\n")}`;
}

function toCall(item: { server_label: string; name: string; arguments: string }): McpCall {
  return { server: item.server_label, tool: item.name, body: item.arguments };
}

function toTool({
  name,
  description,
  input_schema: inputSchema,
  annotations,
}: ListedTool): McpTool {
  const readOnly = annotations?.readOnlyHint === true;
  return { name, description: description ?? "", inputSchema, readOnly };
}

/** Maximum tools in a list. A longer list is rejected as a whole. */
const MAX_LISTED = 1000;

const listedTool = lazy(() =>
  z.object({
    name: z.string(),
    description: z.string().nullish(),
    input_schema: z.record(z.string(), z.unknown()),
    annotations: z.looseObject({ readOnlyHint: z.unknown().optional() }).nullish(),
  }),
);

type ListedTool = z.output<ReturnType<typeof listedTool>>;

const listItem = lazy(() =>
  z.object({
    server_label: z.string(),
    tools: z.array(listedTool()).max(MAX_LISTED),
    error: z.unknown().optional(),
  }),
);

const callFields = lazy(() => ({
  server_label: z.string(),
  name: z.string(),
  arguments: z.string(),
}));

const callItem = lazy(() =>
  z.object({ ...callFields(), output: z.string().nullish(), error: z.unknown().optional() }),
);

const requestItem = lazy(() => z.object({ id: z.string(), ...callFields() }));

const responseItem = lazy(() =>
  z.object({
    approval_request_id: z.string(),
    approve: z.boolean(),
    reason: z.string().nullish(),
  }),
);

const errorText = lazy(() =>
  z.union([
    z.string(),
    z.object({
      message: z.string().optional(),
      content: z.array(z.looseObject({ text: z.string().optional() })).optional(),
    }),
  ]),
);

interface ServerContext {
  readonly tenant: string;
  readonly style: NamespaceStyle;
  readonly hosted: HostedDeps;
  /** Reads images and files in results. */
  readonly media: RequestMedia;
}

/** Throws a {@link RequestError} for a declaration that cannot be used. */
export async function openResponseServers(
  { tools, tool_choice: choice }: PromptRequest,
  history: readonly HistoryItem[],
  { tenant, style, hosted, media }: ServerContext,
): Promise<OpenedServers> {
  const { mcp: toolbox } = hosted.toolbox;
  if (toolbox === undefined || choice === "none") return NO_SERVERS;
  const known = knownTools(history);
  return openServers(toDeclarations(tools), {
    toolbox,
    tenant,
    style,
    known,
    media,
    hasApprovals: true,
  });
}
