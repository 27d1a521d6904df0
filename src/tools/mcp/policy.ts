/** Which tools of a server may be used, and which of them only with the client's approval. */
import type { McpTool } from "./connection.ts";

export interface McpPolicy {
  /** Names, or what the tools are like. Absent: all. */
  readonly allowed?: readonly string[] | ToolFilter | undefined;
  /** Absent: none needs approval. */
  readonly approval?: ApprovalRule | undefined;
}

/** A tool that neither filter matches needs approval. */
export type ApprovalRule =
  | "always"
  | "never"
  | { readonly always?: ToolFilter | undefined; readonly never?: ToolFilter | undefined };

/** All that is given must match. An empty filter matches all tools. */
export interface ToolFilter {
  readonly toolNames?: readonly string[] | undefined;
  /** Relies on what the server says of itself. */
  readonly readOnly?: boolean | undefined;
}

export function isAllowed(tool: McpTool, { allowed }: McpPolicy): boolean {
  if (allowed === undefined) return true;
  return isNames(allowed) ? allowed.includes(tool.name) : matches(tool, allowed);
}

export function needsApproval(tool: McpTool, { approval = "never" }: McpPolicy): boolean {
  if (typeof approval === "string") return approval === "always";
  const { always, never } = approval;
  if (always !== undefined && matches(tool, always)) return true;
  return never === undefined || !matches(tool, never);
}

function isNames(allowed: readonly string[] | ToolFilter): allowed is readonly string[] {
  return Array.isArray(allowed);
}

function matches(tool: McpTool, { toolNames, readOnly }: ToolFilter): boolean {
  if (toolNames !== undefined && !toolNames.includes(tool.name)) return false;
  return readOnly === undefined || readOnly === tool.readOnly;
}
