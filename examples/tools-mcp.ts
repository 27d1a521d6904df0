/**
 * Tools of an MCP server through OpenAI's SDK: the gateway lists and calls them. A call that needs an approval ends the first
 * response; the second one makes it. Start the gateway with a server called `everything`:
 *
 *     npm install @modelcontextprotocol/client @modelcontextprotocol/server-everything
 *     npx harmony-gateway --mcp-servers '{"everything": {"command": "npx", "args": ["mcp-server-everything", "stdio"]}}'
 *
 * Run: `node examples/tools-mcp.ts`, with `BASE_URL` if the gateway is elsewhere.
 */
import OpenAI from "openai";

const client = new OpenAI({
  baseURL: process.env["BASE_URL"] ?? "http://127.0.0.1:8787/v1",
  apiKey: process.env["API_KEY"] ?? "none",
});

const request = {
  model: "openai/gpt-oss-20b",
  tools: [{ type: "mcp" as const, server_label: "everything", allowed_tools: ["echo"] }],
};

const asked = await client.responses.create({
  ...request,
  input: "Call everything.echo with hello.",
});
for (const item of asked.output) {
  if (item.type === "mcp_list_tools")
    console.log(
      "tools:",
      item.tools.map(({ name }) => name),
    );
}

const requests = asked.output.filter((item) => item.type === "mcp_approval_request");
for (const { name, arguments: args } of requests) console.log("approved:", name, args);

const answered = await client.responses.create({
  ...request,
  previous_response_id: asked.id,
  input: requests.map(({ id }) => ({
    type: "mcp_approval_response" as const,
    approval_request_id: id,
    approve: true,
  })),
});
for (const item of answered.output) {
  if (item.type === "mcp_call") console.log("result:", item.output ?? item.error);
}
console.log(answered.output_text);
