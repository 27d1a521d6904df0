/** The tools of an MCP server as functions that the gateway runs. */
import type { ToolFunction } from "../../harmony/conversation.ts";
import type { BuiltinCall, BuiltinResult, BuiltinTool, ToolOrigin } from "../builtin-tool.ts";
import type { McpServer, McpTool } from "./connection.ts";
import { toFunctionNames } from "./names.ts";
import { isAllowed, type McpPolicy, needsApproval } from "./policy.ts";

const FUNCTIONS = "functions.";

/**
 * Lists the server's tools and offers those that the policy allows.
 * @throws McpUnavailable
 */
export async function openMcpTool(
  server: McpServer,
  policy: McpPolicy,
  signal: AbortSignal,
): Promise<BuiltinTool> {
  const tools = await server.listTools(signal);
  return createMcpTool(
    server,
    tools.filter((tool) => isAllowed(tool, policy)),
    policy,
  );
}

function createMcpTool(
  server: McpServer,
  tools: readonly McpTool[],
  policy: McpPolicy,
): BuiltinTool {
  const { label } = server;
  const names = toFunctionNames(
    label,
    tools.map(({ name }) => name),
  );
  const functions: ToolFunction[] = [];
  const byRecipient = new Map<string, McpTool>();
  for (const [index, tool] of tools.entries()) {
    const name = names[index] ?? tool.name;
    functions.push({ name, description: tool.description, parameters: tool.parameters });
    byRecipient.set(FUNCTIONS + name, tool);
  }
  const find = (recipient: string) =>
    byRecipient.get(recipient.startsWith(FUNCTIONS) ? recipient : FUNCTIONS + recipient);

  return {
    name: `mcp:${label}`,
    functions,
    rawBody: false,
    accepts: (recipient) => find(recipient) !== undefined,
    origin: (recipient) => toOrigin(label, find(recipient)),
    needsApproval: (recipient) => {
      const tool = find(recipient);
      return tool !== undefined && needsApproval(tool, policy);
    },
    open: () =>
      Promise.resolve({
        run: (call, signal) => runCall(server, find(call.recipient), call, signal),
        save: () => undefined,
        // The connection outlives the turn.
        close: () => Promise.resolve(),
      }),
  };
}

function toOrigin(server: string, tool: McpTool | undefined): ToolOrigin {
  return { server, tool: tool?.name ?? "" };
}

async function runCall(
  server: McpServer,
  tool: McpTool | undefined,
  { recipient, body }: BuiltinCall,
  signal: AbortSignal,
): Promise<BuiltinResult> {
  const name = tool?.name ?? recipient;
  const shown = { type: "mcp", server: server.label, tool: name, arguments: body } as const;
  if (tool === undefined) {
    const message = `There is no tool ${recipient}.`;
    const error = { type: "mcp_protocol_error", code: NO_SUCH_TOOL, message } as const;
    return { text: `Error: ${message}`, shown: { ...shown, error }, failed: true };
  }
  const { text, error } = await server.callTool(name, body, signal);
  if (error !== undefined)
    return { text: `Error: ${text}`, shown: { ...shown, error }, failed: true };
  return { text, shown: { ...shown, output: text }, failed: false };
}

/** Of JSON-RPC: invalid parameters. */
const NO_SUCH_TOOL = -32_602;
