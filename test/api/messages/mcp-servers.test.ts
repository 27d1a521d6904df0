import { expect, test } from "vitest";
import { createMcpApp } from "../../helpers/mcp-app.ts";
import { MODEL } from "../../helpers/browsing-app.ts";
import { scriptedEngine } from "../../helpers/scripted-engine.ts";

test("MCP servers of Anthropic's beta are refused, with the APIs that have them", async () => {
  const { post } = createMcpApp({ engine: scriptedEngine([]), settings: {} });
  const response = await post("/v1/messages", {
    model: MODEL,
    max_tokens: 10,
    messages: [{ role: "user", content: "?" }],
    mcp_servers: [{ type: "url", name: "words", url: "https://mcp.example/" }],
  });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({
    error: {
      message:
        "mcp_servers: MCP servers are not run on this API. Use the Responses API or Chat Completions",
    },
  });
});
