/** Decides whether a tool of a server may be used, and whether it needs the client's approval. */
import type { McpTool } from "./connection.ts";

export interface McpPolicy {
  /** Allowed tools: names, or a filter by properties. Absent: all tools. */
  readonly allowed?: readonly string[] | ToolFilter | undefined;
  /** Names of tools that are never offered. */
  readonly denied?: readonly string[] | undefined;
  /** Absent: no tool needs approval. */
  readonly approval?: ApprovalRule | undefined;
}

/** The rule for approvals. A tool that neither filter matches needs approval. */
export type ApprovalRule =
  | "always"
  | "never"
  | { readonly always?: ToolFilter | undefined; readonly never?: ToolFilter | undefined };

/** All given conditions must match. An empty filter matches every tool. */
export interface ToolFilter {
  readonly toolNames?: readonly string[] | undefined;
  /** Whether the tool only reads, by the server's own declaration. */
  readonly readOnly?: boolean | undefined;
}

export function isAllowed(tool: McpTool, { allowed, denied }: McpPolicy): boolean {
  if (denied?.includes(tool.name)) return false;
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
