/** Continue's command-line client, headless, with its provider for OpenAI. */
import { join } from "node:path";
import { MCP_SERVER, MODEL, toMatrixClient } from "./coding-agent.ts";

const PACKAGE = "@continuedev/cli";
const CONTINUE = join(import.meta.dirname, "node_modules", PACKAGE, "dist/cn.js");
const [command, ...args] = MCP_SERVER;

export const continueCli = toMatrixClient({
  name: "Continue",
  package: PACKAGE,
  tools: {
    write: (path, content) => ({ tool: "Write", arguments: { filepath: path, content } }),
    edit: (path, from, to) => [
      { tool: "Read", arguments: { filepath: path } },
      {
        tool: "MultiEdit",
        arguments: { file_path: path, edits: [{ old_string: from, new_string: to }] },
      },
    ],
    shell: (line) => ({ tool: "Bash", arguments: { command: line } }),
    echo: (message) => [{ tool: "echo", arguments: { message } }],
  },
  configure(workspace, baseURL) {
    // YAML; JSON is a subset of it.
    workspace.configure(".continue/config.yaml", {
      name: "gateway",
      version: "1.0.0",
      schema: "v1",
      models: [
        {
          name: "gpt-oss-20b",
          provider: "openai",
          model: MODEL,
          apiBase: baseURL,
          apiKey: "none",
          roles: ["chat"],
          capabilities: ["tool_use"],
        },
      ],
      mcpServers: [{ name: "everything", command, args }],
    });
  },
  start: (ask) => [process.execPath, CONTINUE, "--print", "--auto", ask],
  resume: (ask) => [process.execPath, CONTINUE, "--print", "--auto", "--resume", ask],
});
