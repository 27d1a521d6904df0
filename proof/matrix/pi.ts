/** pi, headless, over each of the three APIs. */
import { join } from "node:path";
import type { MatrixClient } from "./client.ts";
import { MCP_SERVER, MODEL, toMatrixClient } from "./coding-agent.ts";

const PACKAGE = "@earendil-works/pi-coding-agent";
const PI = join(import.meta.dirname, "node_modules", PACKAGE, "dist/bundle/cli.js");
const [command, ...args] = MCP_SERVER;

const OPTIONS = ["--print", "--provider", "gateway", "--model", MODEL];

const ENTRY = {
  id: MODEL,
  reasoning: true,
  input: ["text", "image"],
  contextWindow: 131_072,
  maxTokens: 32_768,
};

export const piOverEach: readonly MatrixClient[] = [
  piOver("Chat Completions", "openai-completions"),
  piOver("Responses", "openai-responses"),
  piOver("Messages", "anthropic-messages", (url) => new URL(url).origin),
];

function piOver(name: string, api: string, toBaseUrl = (url: string) => url): MatrixClient {
  return toMatrixClient({
    name: `pi over ${name}`,
    package: PACKAGE,
    tools: {
      write: (path, content) => ({ tool: "write", arguments: { path, content } }),
      edit: (path, from, to) => [
        { tool: "edit", arguments: { path, edits: [{ oldText: from, newText: to }] } },
      ],
      shell: (line) => ({ tool: "bash", arguments: { command: line } }),
      echo: (message) => [{ tool: "mcp__everything__echo", arguments: { message } }],
      look: (path) => ({ tool: "read", arguments: { path } }),
    },
    configure(workspace, baseURL) {
      workspace.configure(".pi/agent/models.json", {
        providers: {
          gateway: {
            baseUrl: toBaseUrl(baseURL),
            api,
            apiKey: "none",
            models: [ENTRY],
          },
        },
      });
      // By default its model calls tools of MCP servers from scripts.
      workspace.configure(".pi/agent/mcp.json", {
        mcpServers: { everything: { command, args, exposure: "direct" } },
      });
    },
    start: (ask) => [process.execPath, PI, ...OPTIONS, ask],
    resume: (ask) => [process.execPath, PI, ...OPTIONS, "--continue", ask],
    environment: { PI_OFFLINE: "1" },
  });
}
