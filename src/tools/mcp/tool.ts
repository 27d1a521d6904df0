/** Offers the tools of an MCP server as functions that the gateway runs. */
import { fromPlainJson } from "../../harmony/json.ts";
import { type NamespaceStyle, qualifiedName, toolRecipient } from "../../harmony/tool-names.ts";
import {
  type GatewayCall,
  type GatewayToolFunction,
  type GatewayToolResult,
  type GatewayTool,
  executionError,
  type McpShown,
  type ToolOrigin,
} from "../gateway-tool.ts";
import type { McpServer, McpTool, ReadMedia } from "./connection.ts";
import { toToolNames } from "./names.ts";
import { isAllowed, type McpPolicy, needsApproval } from "./policy.ts";

export interface McpToolOptions {
  readonly server: McpServer;
  /** The tools, as listed by the server. */
  readonly tools: readonly McpTool[];
  /** The policies of the operator and of the request. All apply. */
  readonly policies: readonly McpPolicy[];
  /** A description of the server. */
  readonly description?: string | undefined;
  readonly style: NamespaceStyle;
  /** Whether the tool with this name on the server is hidden until a search finds it. Absent: no tool is. */
  readonly isDeferred?: (name: string) => boolean;
  /** Reader of images and files. Undefined: a note replaces each in a result. */
  readonly readMedia?: ReadMedia | undefined;
}

/** Offers the tools of the server that the policies allow. */
export function createMcpTool(options: McpToolOptions): GatewayTool {
  const { server, policies, readMedia } = options;
  const { functions, byRecipient } = toFunctions(options);
  return {
    name: mcpToolName(server.label),
    functions,
    rawBody: false,
    accepts: (recipient) => byRecipient.has(recipient),
    origin: (recipient) => toOrigin(server.label, recipient, byRecipient.get(recipient)),
    describe: ({ recipient, body }, text) => {
      const tool = byRecipient.get(recipient);
      return { ...describeCall(server, recipient, tool, body), error: executionError(text) };
    },
    needsApproval: (recipient) => {
      const tool = byRecipient.get(recipient);
      return tool !== undefined && policies.some((policy) => needsApproval(tool, policy));
    },
    open: () =>
      Promise.resolve({
        run: (call, signal) => {
          const tool = byRecipient.get(call.recipient);
          return runCall({ server, readMedia }, tool, call, signal);
        },
        save: () => undefined,
        // The connection is kept beyond the turn.
        close: () => Promise.resolve(),
      }),
  };
}

/** The name of the gateway tool for the server with this label. */
export function mcpToolName(label: string): string {
  return `mcp:${label}`;
}

function toFunctions({
  server: { label },
  tools,
  policies,
  description,
  style,
  isDeferred,
}: McpToolOptions) {
  const namespace = { name: label, ...(description && { description }) };
  // Tools are named before the policies filter them, so that a name does not depend on the policies.
  const names = toToolNames(tools.map(({ name }) => name));
  const functions: GatewayToolFunction[] = [];
  const byRecipient = new Map<string, McpTool>();
  for (const [index, tool] of tools.entries()) {
    if (!policies.every((policy) => isAllowed(tool, policy))) continue;
    const name = names[index] ?? tool.name;
    const recipient = toolRecipient(label, name, style);
    const parameters = fromPlainJson(tool.inputSchema);
    const shown = { name, description: tool.description, parameters, namespace };
    functions.push({
      name: qualifiedName(label, name),
      recipient,
      shown,
      ...(isDeferred?.(tool.name) && { isDeferred: true }),
    });
    byRecipient.set(recipient, tool);
  }
  return { functions, byRecipient };
}

function toOrigin(server: string, recipient: string, tool: McpTool | undefined): ToolOrigin {
  return { server, tool: tool?.name ?? recipient };
}

function describeCall(
  { label }: McpServer,
  recipient: string,
  tool: McpTool | undefined,
  body: string,
): McpShown {
  return { type: "mcp", ...toOrigin(label, recipient, tool), arguments: body };
}

async function runCall(
  { server, readMedia }: Pick<McpToolOptions, "server" | "readMedia">,
  tool: McpTool | undefined,
  { recipient, body }: GatewayCall,
  signal: AbortSignal,
): Promise<GatewayToolResult> {
  const shown = describeCall(server, recipient, tool, body);
  if (tool === undefined) {
    const message = `There is no tool ${recipient}.`;
    const error = { type: "protocol", code: NO_SUCH_TOOL, message } as const;
    return { text: `Error: ${message}`, shown: { ...shown, error }, failed: true };
  }
  const { text, error } = await server.callTool(tool.name, body, signal, readMedia);
  if (error !== undefined)
    return { text: `Error: ${text}`, shown: { ...shown, error }, failed: true };
  return { text, shown: { ...shown, output: text }, failed: false };
}

/** JSON-RPC's code for invalid parameters. */
const NO_SUCH_TOOL = -32_602;
