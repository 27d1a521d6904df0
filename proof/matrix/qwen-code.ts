/** Qwen Code, headless, over Chat Completions. */
import { join } from "node:path";
import { MCP_SERVER, MODEL, toMatrixClient } from "./coding-agent.ts";

const PACKAGE = "@qwen-code/qwen-code";
const QWEN = join(import.meta.dirname, "node_modules", PACKAGE, "cli-entry.js");
const [command, ...args] = MCP_SERVER;

export const qwenCode = toMatrixClient({
  name: "Qwen Code",
  package: PACKAGE,
  tools: {
    write: (path, content) => ({ tool: "write_file", arguments: { file_path: path, content } }),
    edit: (path, from, to) => [
      { tool: "read_file", arguments: { file_path: path } },
      { tool: "edit", arguments: { file_path: path, old_string: from, new_string: to } },
    ],
    shell: (line) => ({
      tool: "run_shell_command",
      arguments: { command: line, is_background: false },
    }),
    // It hides tools of MCP servers until they are searched for.
    echo: (message) => [
      { tool: "tool_search", arguments: { query: "select:mcp__everything__echo" } },
      { tool: "tool_call", arguments: { name: "mcp__everything__echo", arguments: { message } } },
    ],
  },
  configure(workspace, baseURL) {
    workspace.configure(".qwen/settings.json", {
      security: { auth: { selectedType: "openai", apiKey: "none", baseUrl: baseURL } },
      model: { name: MODEL },
      privacy: { usageStatisticsEnabled: false },
      mcpServers: { everything: { command, args } },
    });
  },
  start: (ask) => [process.execPath, QWEN, "--yolo", "--prompt", ask],
  resume: (ask) => [process.execPath, QWEN, "--yolo", "--continue", "--prompt", ask],
});
