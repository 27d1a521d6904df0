/** Opens the MCP servers of a chat request: tools `{type: "mcp"}`, in Groq's format. This API has no approvals. */
import type { NamespaceStyle } from "../../harmony/tool-names.ts";
import type { BuiltinTool } from "../../tools/builtin-tool.ts";
import type { RequestMedia } from "../media/request-media.ts";
import type { HostedDeps } from "../tools/hosted-tools.ts";
import { openServers } from "../tools/mcp-servers.ts";
import { refusal } from "../errors.ts";
import type { ChatRequest } from "./request.ts";

export interface ChatServerDeps {
  readonly tenant: string;
  readonly hosted: HostedDeps;
  readonly style: NamespaceStyle;
  /** Reads images and files in results. */
  readonly media: RequestMedia;
}

/** Undefined: the request has none. Throws a {@link RequestError} for a declaration that cannot be used. */
export async function openChatServers(
  { tools = [], tool_choice: choice }: ChatRequest,
  { tenant, hosted, style, media }: ChatServerDeps,
): Promise<readonly BuiltinTool[] | undefined> {
  const { mcp: toolbox } = hosted.toolbox;
  const declarations = (tools ?? []).flatMap((tool, index) =>
    tool.type === "hosted" && tool.kind === "mcp"
      ? [{ kind: "mcp", fields: tool.fields, param: `tools[${index}]` }]
      : [],
  );
  // Without a toolbox the declaration is refused with the other tools.
  if (declarations.length === 0 || choice === "none" || toolbox === undefined) return undefined;
  const request = { toolbox, tenant, style, media, known: new Map(), hasApprovals: false };
  const opened = await openServers(declarations, request);
  for (const { error, param } of opened.listings) {
    // This API has no item that could report the failure.
    if (error !== undefined) throw refusal(param, error);
  }
  return opened.tools;
}
