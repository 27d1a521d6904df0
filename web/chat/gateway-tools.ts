/** Tools that the gateway runs, in the form of each API. */
import type { ApiName } from "../../src/snippets/composed.ts";

import { MCP } from "./conversation.ts";

type Forms = Readonly<Record<ApiName, readonly object[]>>;

const BUILTIN: ReadonlyMap<string, Forms> = new Map([
  [
    "browser",
    {
      chat: [{ type: "browser_search" }],
      responses: [{ type: "web_search" }],
      messages: [
        { type: "web_search_20250305", name: "web_search" },
        { type: "web_fetch_20250910", name: "web_fetch" },
      ],
    },
  ],
  [
    "python",
    {
      chat: [{ type: "code_interpreter" }],
      responses: [{ type: "code_interpreter", container: { type: "auto" } }],
      messages: [{ type: "code_execution_20250825", name: "code_execution" }],
    },
  ],
]);

/** @param names names in the conversation. Messages has no MCP servers. */
export function toHosted(names: readonly string[], api: ApiName): readonly object[] {
  return names.flatMap((name) => {
    if (!name.startsWith(MCP)) return BUILTIN.get(name)?.[api] ?? [];
    if (api === "messages") return [];
    const server_label = name.slice(MCP.length);
    return [{ type: "mcp", server_label, require_approval: "never" }];
  });
}

export function toLabel(name: string): string {
  if (name === "browser") return "Browser: search and read pages";
  if (name === "python") return "Python: run code";
  return `MCP server ${name.slice(MCP.length)}`;
}
