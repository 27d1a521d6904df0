/** Opens the MCP servers of a request to the Responses API. */
import type { RequestMedia } from "../media/request-media.ts";
import { NO_SERVERS, type OpenedServers, openServers } from "../tools/mcp-servers.ts";
import type { HistoryItem } from "./history-item.ts";
import { knownTools } from "./mcp-items.ts";
import type { PromptRequest } from "./request.ts";
import type { PromptContext } from "./to-turn.ts";

type ServerContext = Pick<PromptContext, "tenant" | "style" | "hosted"> & {
  /** Reads images and files in results. */
  readonly media: RequestMedia;
};

/** Throws a {@link RequestError} for a declaration that cannot be used. */
export async function openResponseServers(
  { tools, tool_choice: choice }: PromptRequest,
  history: readonly HistoryItem[],
  { tenant, style, hosted, media }: ServerContext,
): Promise<OpenedServers> {
  const { mcp: toolbox } = hosted.toolbox;
  if (toolbox === undefined || choice === "none") return NO_SERVERS;
  const declarations = (tools ?? []).flatMap((tool, index) =>
    tool.type === "unsupported"
      ? [{ kind: tool.kind, fields: tool.fields, param: `tools[${index}]` }]
      : [],
  );
  const known = knownTools(history);
  return openServers(declarations, { toolbox, tenant, style, known, media, hasApprovals: true });
}
