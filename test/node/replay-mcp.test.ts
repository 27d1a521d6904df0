import { expect, test } from "vitest";
import * as z from "zod";
import { McpUnavailable } from "../../src/tools/mcp/connection.ts";
import { replay } from "../helpers/command-io.ts";
import { createRecordedApp, type RecordedAppOptions } from "../helpers/recorded-app.ts";
import { scriptedEngine } from "../helpers/scripted-engine.ts";

const MODEL = "openai/gpt-oss-20b";
const CALLED = '<|channel|>commentary to=clock.now<|message|>{"zone":"UTC"}<|call|>';
const ANSWERED = "<|channel|>final<|message|>It is noon.<|return|>";

type McpToolbox = NonNullable<NonNullable<RecordedAppOptions["toolbox"]>["mcp"]>;
type McpServer = ReturnType<NonNullable<McpToolbox["connect"]>>;

const server: McpServer = {
  label: "clock",
  listTools: async () => [
    {
      name: "now",
      description: "The time.",
      inputSchema: { type: "object", properties: { zone: { type: "string" } } },
      readOnly: true,
    },
  ],
  callTool: async () => ({ text: "12:00" }),
  close: async () => {},
};

const failing: McpServer = {
  ...server,
  label: "broken",
  listTools: () => Promise.reject(new McpUnavailable("it is not there")),
};
const mcp: McpToolbox = {
  servers: new Map([server, failing].map((each) => [each.label, { server: each, policy: {} }])),
  connect: ({ label }) => ({ ...server, label }),
};
const CLOCK = { type: "mcp", server_label: "clock", require_approval: "never" };
const QUESTION = "What time is it?";
const responses = (...tools: readonly object[]) => ({ input: QUESTION, tools });

function clockApp() {
  return createRecordedApp({ engine: scriptedEngine([CALLED, ANSWERED]), toolbox: { mcp } });
}

test.each([
  ["a response", "/v1/responses", responses(CLOCK)],
  ["a streamed response", "/v1/responses", { ...responses(CLOCK), stream: true }],
  [
    "a response that waits for approval",
    "/v1/responses",
    responses({ ...CLOCK, require_approval: "always" }),
  ],
  [
    "a response with a server of the request",
    "/v1/responses",
    responses({ ...CLOCK, server_url: "https://clock.example/mcp", server_label: "clock2" }, CLOCK),
  ],
  [
    "a response with a server that cannot be reached",
    "/v1/responses",
    responses({ type: "mcp", server_label: "broken" }, CLOCK),
  ],
  [
    "a chat completion",
    "/v1/chat/completions",
    { messages: [{ role: "user", content: QUESTION }], tools: [CLOCK] },
  ],
])("%s with an MCP server is compared whole, without the server", async (name, path, body) => {
  const app = clockApp();
  const answer = await (await app.post(path, { model: MODEL, ...body })).text();
  expect(answer).toContain(name.endsWith("approval") ? "mcp_approval_request" : "noon");
  const [record] = await app.records();
  expect(record?.parts.map(({ kind }) => kind)).toContain("builtin-call");
  const comparison = await replay(record);
  expect(comparison).toMatchObject({ differences: [], skipped: [] });
  expect(comparison.same).toContain("answer");
});

test("a result of an MCP server is in the record", async () => {
  const app = clockApp();
  await (await app.post("/v1/responses", { model: MODEL, ...responses(CLOCK) })).text();
  const [record] = await app.records();
  expect(record?.parts).toMatchObject([
    { kind: "builtin-call", name: "clock.now", sent: true },
    { kind: "tool-result", text: "12:00", failed: false },
    { kind: "content", text: "It is noon." },
  ]);
});

test("the answer is not compared if its servers were listed in an earlier response", async () => {
  const app = createRecordedApp({
    engine: scriptedEngine([CALLED, ANSWERED, CALLED, ANSWERED]),
    toolbox: { mcp },
  });
  const body = { model: MODEL, ...responses(CLOCK) };
  const first = await (await app.post("/v1/responses", body)).json();
  const { id } = z.object({ id: z.string() }).parse(first);
  await (await app.post("/v1/responses", { ...body, previous_response_id: id })).text();
  const comparison = await replay((await app.records()).at(-1));
  expect(comparison.differences).toEqual([]);
  expect(comparison.skipped).toContainEqual(expect.stringContaining("MCP server clock"));
});
