/** opencode, headless, with the AI SDK's provider for OpenAI-compatible servers. */
import { globSync } from "node:fs";
import { join } from "node:path";
import { MCP_SERVER, MODEL, toMatrixClient } from "./coding-agent.ts";

/** The binary, which the package's install script would link. */
const OPENCODE = join(
  import.meta.dirname,
  `node_modules/opencode-${process.platform}-${process.arch}/bin/opencode`,
);

/** opencode's search downloads ripgrep unless it is installed: the package of Codex contains it. */
const RIPGREP = globSync("node_modules/@openai/codex-*/vendor/*/codex-path", {
  cwd: import.meta.dirname,
}).map((folder) => join(import.meta.dirname, folder));

export const opencode = toMatrixClient({
  name: "opencode",
  package: "opencode-ai",
  tools: {
    write: (path, content) => ({ tool: "write", arguments: { filePath: path, content } }),
    edit: (path, from, to) => [
      { tool: "edit", arguments: { filePath: path, oldString: from, newString: to } },
    ],
    shell: (command) => ({ tool: "bash", arguments: { command, description: "Runs a command" } }),
    echo: (message) => [{ tool: "everything_echo", arguments: { message } }],
  },
  mapped: {
    "container.exec": "bash",
    "repo_browser.open_file": "read",
    "repo_browser.list_dir": "read",
    "repo_browser.search": "grep",
  },
  configure(workspace, baseURL) {
    workspace.configure(".config/opencode/opencode.json", {
      model: `gateway/${MODEL}`,
      permission: "allow",
      autoupdate: false,
      share: "disabled",
      provider: {
        gateway: {
          npm: "@ai-sdk/openai-compatible",
          name: "harmony-gateway",
          options: { baseURL },
          models: { [MODEL]: { name: "gpt-oss-20b", limit: { context: 131_072, output: 32_768 } } },
        },
      },
      mcp: { everything: { type: "local", command: MCP_SERVER } },
    });
  },
  start: (ask) => [OPENCODE, "run", "--format", "json", ask],
  resume: (ask) => [OPENCODE, "run", "--format", "json", "--continue", ask],
  // The configuration contains the data that opencode would look up in a registry of models.
  environment: {
    OPENCODE_DISABLE_MODELS_FETCH: "1",
    OPENCODE_DISABLE_AUTOUPDATE: "1",
    PATH: [...RIPGREP, process.env["PATH"]].join(":"),
  },
});
