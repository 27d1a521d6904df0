/**
 * Opens the MCP servers of a request: the operator's, by label, and the servers that the request declares, if the
 * operator allows it. Their tools are listed before the turn begins, because the model is shown them.
 */
import type { Message } from "../../harmony/conversation.ts";
import { callMessage, resultMessage } from "../../harmony/messages.ts";
import { isLabel, type NamespaceStyle, toolRecipient } from "../../harmony/tool-names.ts";
import type { GatewayTool } from "../../tools/gateway-tool.ts";
import { type McpServer, type McpTool, McpUnavailable } from "../../tools/mcp/connection.ts";
import { toToolName } from "../../tools/mcp/names.ts";
import { isAllowed, type McpPolicy, needsApproval } from "../../tools/mcp/policy.ts";
import { createMcpTool } from "../../tools/mcp/tool.ts";
import { type McpToolbox, ServerRefused } from "../../tools/toolbox.ts";
import { refusal } from "../errors.ts";
import type { RequestMedia } from "../media/request-media.ts";
import { parseWith } from "../request/parse-request.ts";
import type { Declaration } from "./hosted-tools.ts";
import { type McpDeclaration, mcpDeclaration, toDeferral, toPolicy } from "./mcp-declaration.ts";

export interface McpRequest {
  readonly toolbox: McpToolbox;
  readonly tenant: string;
  readonly style: NamespaceStyle;
  /** The tools that were listed earlier in the conversation, by the server's label. */
  readonly known: ReadonlyMap<string, readonly McpTool[]>;
  /** False: the API does not support approvals, so tools that need one are not offered. */
  readonly hasApprovals: boolean;
  /** Reads images and files in results. */
  readonly media: RequestMedia;
}

/** The servers of a request, ready to be offered. */
export interface OpenedServers {
  readonly tools: readonly GatewayTool[];
  /** Servers that were listed for this request, in order. */
  readonly listings: readonly Listing[];
}

export interface Listing {
  readonly label: string;
  readonly tools: readonly McpTool[];
  /** The reason why the listing failed. Absent: it succeeded. */
  readonly error?: string;
  /** The field that declares the server. */
  readonly param: string;
}

export const NO_SERVERS: OpenedServers = { tools: [], listings: [] };

/** Maximum servers of one request. */
const MAX_SERVERS = 16;

/**
 * Lists the servers whose tools are not known yet. A failing server is reported in its listing, and the request
 * continues without it. Throws a `RequestError` for a server that is not allowed, and for an invalid declaration.
 */
export async function openServers(
  declarations: readonly Declaration[],
  request: McpRequest,
): Promise<OpenedServers> {
  const own = declarations.filter(({ kind }) => kind === "mcp");
  if (own.length === 0) return NO_SERVERS;
  const surplus = own[MAX_SERVERS];
  if (surplus)
    throw refusal(surplus.param, `a request may have at most ${MAX_SERVERS} MCP servers`);
  const wanted = own.map((each) => toWanted(each, request));
  refuseTwice(wanted);
  const opened = await Promise.all(wanted.map((each) => openServer(each, request)));
  return {
    tools: opened.flatMap(({ tool }) => tool ?? []),
    listings: opened.flatMap(({ listing }) => listing ?? []),
  };
}

/** The tools of servers on an API that has no approvals, and no item for a server that fails: the request is refused then. */
export async function openServersOrRefuse(
  declarations: readonly Declaration[],
  request: Omit<McpRequest, "known" | "hasApprovals">,
): Promise<readonly GatewayTool[]> {
  const without = { ...request, known: new Map(), hasApprovals: false };
  const { tools, listings } = await openServers(declarations, without);
  for (const { error, param } of listings) if (error !== undefined) throw refusal(param, error);
  return tools;
}

/** The messages of a call in the history whose original messages are not stored. Names are the server's. */
export function mcpCallMessages(
  call: { readonly server: string; readonly tool: string; readonly body: string },
  result: string,
  style: NamespaceStyle,
): readonly Message[] {
  const recipient = toolRecipient(call.server, toToolName(call.tool), style);
  return [callMessage(recipient, call.body), resultMessage(recipient, result)];
}

/** A server with the policies of the operator and of the request. */
interface Wanted {
  readonly server: McpServer;
  readonly policies: readonly McpPolicy[];
  readonly description: string | undefined;
  /** Whether the request declares the server itself. An earlier listing of it is then used. */
  readonly isDeclared: boolean;
  readonly isDeferred: (name: string) => boolean;
  readonly param: string;
}

function toWanted({ fields, param }: Declaration, request: McpRequest): Wanted {
  const declared = parseWith(mcpDeclaration(), fields, param);
  const operators = request.toolbox.servers.get(declared.server_label);
  const policy = toPolicy(declared);
  if (!request.hasApprovals && policy.approval === "always") {
    throw refusal(
      `${param}.require_approval`,
      'this API has no approvals. Use the Responses API, or "never"',
    );
  }
  if (operators === undefined) {
    return {
      server: connect(declared, param, request),
      policies: [withApproval(policy, request)],
      description: declared.server_description ?? undefined,
      isDeclared: true,
      isDeferred: toDeferral(declared),
      param,
    };
  }
  refuseOverride(declared, operators.url, param);
  // A request can make the operator's policy stricter, not weaker.
  const ownPolicy =
    operators.policy.approval === undefined ? withApproval(policy, request) : policy;
  return {
    server: operators.server,
    policies: [operators.policy, ownPolicy],
    description: declared.server_description ?? operators.description,
    isDeclared: false,
    isDeferred: toDeferral(declared),
    param,
  };
}

/** Adds the default: as at OpenAI, tools need approval. In an API without approvals, declaring a server is enough. */
function withApproval(policy: McpPolicy, { hasApprovals }: McpRequest): McpPolicy {
  return { ...policy, approval: policy.approval ?? (hasApprovals ? "always" : "never") };
}

function connect(declared: McpDeclaration, param: string, request: McpRequest): McpServer {
  const { server_label: label, server_url: url } = declared;
  const { toolbox, tenant } = request;
  if (!isLabel(label)) {
    throw refusal(
      `${param}.server_label`,
      "must be up to 64 letters, digits, dashes or underscores, and no name of the model's own",
    );
  }
  if (url == null) {
    const labels = [...toolbox.servers.keys()];
    const known = labels.length === 0 ? "" : ` Servers of this gateway: ${labels.join(", ")}.`;
    throw refusal(
      `${param}.server_url`,
      `is required, since this gateway has no MCP server with the label ${label}.${known}`,
    );
  }
  if (toolbox.connect === undefined) {
    throw refusal(
      `${param}.server_url`,
      "requests cannot name MCP servers here. The operator can allow it with the setting mcpFromRequests",
    );
  }
  try {
    return toolbox.connect({ label, url, headers: declared.headers, tenant });
  } catch (error) {
    if (!(error instanceof ServerRefused)) throw error;
    throw refusal(`${param}.server_url`, `this MCP server cannot be used: ${error.message}`);
  }
}

/** Refuses an address or credentials for the operator's server, which has its own. */
function refuseOverride(
  { server_label: label, server_url: url, headers }: McpDeclaration,
  known: string | undefined,
  param: string,
): void {
  if (url != null && url !== known) {
    throw refusal(
      `${param}.server_url`,
      `${label} is a server of this gateway with another address. Leave server_url out, or choose another label`,
    );
  }
  if (Object.keys(headers).length > 0) {
    throw refusal(
      `${param}.headers`,
      `${label} is a server of this gateway with its own credentials. Leave headers and authorization out`,
    );
  }
}

function refuseTwice(wanted: readonly Wanted[]): void {
  const labels = new Set<string>();
  for (const { server, param } of wanted) {
    if (labels.has(server.label)) {
      throw refusal(`${param}.server_label`, `two servers have the label ${server.label}`);
    }
    labels.add(server.label);
  }
}

async function openServer(
  wanted: Wanted,
  request: McpRequest,
): Promise<{ readonly tool?: GatewayTool; readonly listing?: Listing }> {
  const { server, policies, description, isDeclared, isDeferred, param } = wanted;
  const { label } = server;
  const known = request.known.get(label);
  try {
    // The operator's policy may depend on the server's own declarations, but not on a client's copy of them.
    const listed =
      isDeclared && known !== undefined
        ? known
        : await server.listTools(new AbortController().signal);
    const needsNone = (tool: McpTool) => !policies.some((policy) => needsApproval(tool, policy));
    const tools = request.hasApprovals ? listed : listed.filter((tool) => needsNone(tool));
    const allowed = listed.filter((tool) => policies.every((policy) => isAllowed(tool, policy)));
    return {
      tool: createMcpTool({
        server,
        tools,
        policies,
        description,
        style: request.style,
        isDeferred,
        readMedia: request.media.readResult,
      }),
      ...(known === undefined && { listing: { label, tools: allowed, param } }),
    };
  } catch (error) {
    if (!(error instanceof McpUnavailable)) throw error;
    return { listing: { label, tools: [], error: error.message, param } };
  }
}
