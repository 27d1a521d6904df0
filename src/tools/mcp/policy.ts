/** Which tools of a server a request may use, and which of them only with the client's approval. */
import * as z from "zod";
import { lazy } from "../../lazy.ts";
import type { McpTool } from "./connection.ts";

/** `allowed_tools` and `require_approval` of the Responses API, as they come. */
export const mcpPolicy = lazy(() =>
  z.object({
    allowed_tools: z.union([z.array(z.string()), toolFilter()]).nullish(),
    require_approval: z
      .union([
        z.enum(["always", "never"]),
        z.object({ always: toolFilter().nullish(), never: toolFilter().nullish() }),
      ])
      .nullish(),
  }),
);

export type McpPolicy = z.output<ReturnType<typeof mcpPolicy>>;

const toolFilter = lazy(() =>
  z.object({ tool_names: z.array(z.string()).nullish(), read_only: z.boolean().nullish() }),
);

type ToolFilter = z.output<ReturnType<typeof toolFilter>>;

export function isAllowed(tool: McpTool, { allowed_tools: allowed }: McpPolicy): boolean {
  if (allowed == null) return true;
  return Array.isArray(allowed) ? allowed.includes(tool.name) : matches(tool, allowed);
}

/** As at OpenAI, a tool that nothing is said of needs approval. */
export function needsApproval(tool: McpTool, { require_approval: required }: McpPolicy): boolean {
  if (required == null || required === "always") return true;
  if (required === "never") return false;
  if (required.always != null && matches(tool, required.always)) return true;
  return required.never == null || !matches(tool, required.never);
}

/** An empty filter matches all tools. `read_only` relies on what the server says of itself. */
function matches(tool: McpTool, { tool_names: names, read_only: readOnly }: ToolFilter): boolean {
  if (names != null && !names.includes(tool.name)) return false;
  return readOnly == null || readOnly === tool.readOnly;
}
