/** MCP servers on Chat Completions, in Groq's shape, read by OpenAI's client. */
import { expect, test } from "vitest";
import { createMcpApp } from "../../helpers/mcp-app.ts";
import { startMcpServer } from "../../helpers/mcp-server.ts";
import { MODEL } from "../../helpers/browsing-app.ts";
import { scriptedEngine, type ScriptedEngine } from "../../helpers/scripted-engine.ts";

const call = (recipient: string) =>
  `<|channel|>commentary to=${recipient} <|constrain|>json<|message|>{"word":"cat"}<|call|>`;
const LOOK = call("words.look_up");
const FINAL = "<|channel|>final<|message|>It is an animal.<|return|>";

async function start(engine: ScriptedEngine, settings: object = {}, label = "words") {
  const server = await startMcpServer();
  const app = createMcpApp({
    engine,
    settings: { mcpServers: { [label]: { url: server.url, ...settings } } },
  });
  const ask = async (body: object, tool: object = {}) => {
    const response = await app.post("/v1/chat/completions", {
      model: MODEL,
      messages: [{ role: "user", content: "cat?" }],
      tools: [{ type: "mcp", server_label: label, ...tool }],
      ...body,
    });
    return { status: response.status, text: await response.text() };
  };
  return { ...app, server, ask };
}

const EXECUTED = {
  index: 0,
  type: "mcp",
  name: "look.up",
  server_label: "words",
  arguments: '{"word":"cat"}',
  output: "found",
};

test("a call is run, shown as executed and not as a tool call", async () => {
  const engine = scriptedEngine([LOOK, FINAL]);
  const { ask, server } = await start(engine);
  const { status, text } = await ask({});
  expect(status).toBe(200);
  expect(JSON.parse(text)).toMatchObject({
    choices: [
      {
        finish_reason: "stop",
        message: { content: "It is an animal.", executed_tools: [EXECUTED] },
      },
    ],
  });
  expect(text).not.toContain('tool_calls":[');
  expect(server.calls).toEqual([{ name: "look.up", arguments: { word: "cat" } }]);
  expect(engine.prompts[0]).toContain("namespace words {");
});

test("streamed: the same", async () => {
  const { ask } = await start(scriptedEngine([LOOK, FINAL]));
  const { text } = await ask({ stream: true });
  expect(text).toContain(`"executed_tools":[${JSON.stringify(EXECUTED)}]`);
  expect(text).not.toContain('tool_calls":[');
});

test("a server whose label begins like the name of the Python tool keeps its arguments", async () => {
  const engine = scriptedEngine([call("pythonic.look_up"), FINAL]);
  const { ask } = await start(engine, {}, "pythonic");
  const { text } = await ask({});
  expect(JSON.parse(text).choices[0].message.executed_tools).toEqual([
    { ...EXECUTED, server_label: "pythonic" },
  ]);
});

test("beside a client's function, whose call ends the turn and keeps what was found", async () => {
  const engine = scriptedEngine([
    LOOK,
    "<|channel|>commentary to=functions.ask <|constrain|>json<|message|>{}<|call|>",
    FINAL,
  ]);
  const { client } = await start(engine);
  const server: object = { type: "mcp", server_label: "words" };
  const request = {
    model: MODEL,
    tools: [{ type: "function" as const, function: { name: "ask" } }, Object(server)],
  };
  const question = { role: "user" as const, content: "cat?" };
  const first = await client.chat.completions.create({ ...request, messages: [question] });
  const message = first.choices[0]?.message;
  expect(message?.tool_calls).toMatchObject([{ function: { name: "ask" } }]);
  await client.chat.completions.create({
    ...request,
    messages: [
      question,
      { role: "assistant", tool_calls: message?.tool_calls ?? [] },
      { role: "tool", tool_call_id: message?.tool_calls?.[0]?.id ?? "", content: "yes" },
    ],
  });
  expect(engine.prompts[2]).toContain("<|start|>words.look_up to=assistant");
});

test("tools that need an approval, which this API has no place for, are not offered", async () => {
  const engine = scriptedEngine([FINAL]);
  const { ask } = await start(engine, { requireApproval: { never: { readOnly: true } } });
  expect(await ask({})).toMatchObject({ status: 200 });
  expect(engine.prompts[0]).toContain("type look_up = ");
  expect(engine.prompts[0]).not.toContain("erase");
});

test("one tool, or any, can be forced", async () => {
  const engine = scriptedEngine(['{"word":"cat"}<|call|>', FINAL, ".erase", "{}<|call|>", FINAL]);
  const { ask } = await start(engine);
  await ask({ tool_choice: { type: "mcp", server_label: "words", name: "look.up" } });
  expect(engine.prompts[0]).toMatch(/ to=words\.look_up<\|channel\|>commentary/);
  await ask({ tool_choice: "required" });
  expect(engine.prompts[2]).toMatch(/<\|start\|>assistant to=words$/);
});

test.each<[string, object, object, string]>([
  [
    "an approval",
    {},
    { require_approval: "always" },
    'tools[0].require_approval: this API has no approvals. Use the Responses API, or "never"',
  ],
  [
    "a server that nobody has configured",
    {},
    { server_label: "x" },
    "tools[0].server_url: is required, since this gateway has no MCP server with the label x. Servers of this gateway: words.",
  ],
  [
    "a choice of what is not there",
    { tool_choice: { type: "mcp", server_label: "x" } },
    {},
    "tool_choice.server_label: this request has no MCP server x",
  ],
])("%s is refused by its field", async (_, body, tool, problem) => {
  const { ask } = await start(scriptedEngine([]));
  const { status, text } = await ask(body, tool);
  expect(status).toBe(400);
  expect(JSON.parse(text).error.message).toBe(problem);
});

test("a server that fails is a 400 that says so: there is no item that could", async () => {
  const { url } = await startMcpServer({
    intercept: (_, response) => {
      response.writeHead(500).end();
      return true;
    },
  });
  const settings = { mcpServers: { words: { url } } };
  const { post } = createMcpApp({ engine: scriptedEngine([]), settings });
  const response = await post("/v1/chat/completions", {
    model: MODEL,
    messages: [{ role: "user", content: "?" }],
    tools: [{ type: "mcp", server_label: "words" }],
  });
  expect(response.status).toBe(400);
  expect(await response.text()).toContain("The MCP server words cannot be used.");
});

test("where the gateway has no servers, the setting is named", async () => {
  const { post } = createMcpApp({ engine: scriptedEngine([]), settings: {} });
  const response = await post("/v1/chat/completions", {
    model: MODEL,
    messages: [{ role: "user", content: "?" }],
    tools: [{ type: "mcp", server_label: "words" }],
  });
  expect(response.status).toBe(400);
  expect(await response.text()).toContain(
    "Its operator can enable it with the setting mcpServers.",
  );
});

test("calls are counted under one label, whatever the server is called", async () => {
  const engine = scriptedEngine([LOOK, FINAL]);
  const { ask, get } = await start(engine);
  await ask({});
  expect(await (await get("/metrics")).text()).toContain(
    'harmony_gateway_builtin_calls_total{tool="mcp",outcome="completed"} 1',
  );
});
