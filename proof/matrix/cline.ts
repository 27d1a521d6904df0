/** Cline's command-line client, headless, with its provider for OpenAI-compatible servers. */
import { join } from "node:path";
import { MCP_SERVER, MODEL, toMatrixClient } from "./coding-agent.ts";
import type { ToolCall } from "./scripted-agent.ts";

const CLINE = join(import.meta.dirname, "node_modules/cline/bin/cline");
const [command, ...args] = MCP_SERVER;

export const cline = toMatrixClient({
  name: "Cline",
  package: "cline",
  tools: {
    write: (path, content) => patch(`*** Add File: ${path}`, added(content)),
    edit: (path, from, to) => [patch(`*** Update File: ${path}`, `@@\n-${from}\n+${to}`)],
    shell: (line) => ({ tool: "run_commands", arguments: { commands: [line] } }),
    echo: (message) => [{ tool: "everything__echo", arguments: { message } }],
  },
  configure(workspace, baseURL) {
    workspace.configure(".cline/data/settings/providers.json", {
      version: 1,
      lastUsedProvider: "openai-compatible",
      modes: {},
      providers: {
        "openai-compatible": {
          settings: {
            provider: "openai-compatible",
            apiKey: "none",
            model: MODEL,
            baseUrl: baseURL,
          },
          updatedAt: "2026-01-01T00:00:00.000Z",
          tokenSource: "manual",
        },
      },
    });
    workspace.configure(".cline/data/settings/cline_mcp_settings.json", {
      mcpServers: { everything: { type: "stdio", command, args } },
    });
  },
  start: (ask) => [process.execPath, CLINE, "--json", ask],
  notes: ["A session was not resumed: headless, it has no option for the last one."],
});

/** Cline offers `apply_patch` as a function of one string. */
function patch(header: string, body: string): ToolCall {
  const input = `*** Begin Patch\n${header}\n${body}\n*** End Patch`;
  return { tool: "apply_patch", arguments: { input } };
}

function added(content: string): string {
  return content.replace(/\n$/, "").replaceAll(/^/gm, "+");
}
