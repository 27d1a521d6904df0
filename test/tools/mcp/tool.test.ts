import { expect, test } from "vitest";
import type { McpOutcome, McpServer, McpTool } from "../../../src/tools/mcp/connection.ts";
import { openMcpTool } from "../../../src/tools/mcp/tool.ts";

const never = new AbortController().signal;
const SESSION = { tenant: "acme", turnId: "t1", saved: undefined, signal: never };

function fakeServer(outcome: McpOutcome = { text: "found" }) {
  const calls: [string, string][] = [];
  const tools: McpTool[] = [
    { name: "search.docs", description: "Searches.", parameters: new Map(), readOnly: true },
    { name: "delete", description: "Deletes.", parameters: new Map(), readOnly: false },
  ];
  const server: McpServer = {
    label: "docs",
    listTools: () => Promise.resolve(tools),
    callTool(name, args) {
      calls.push([name, args]);
      return Promise.resolve(outcome);
    },
    close: () => Promise.resolve(),
  };
  return { server, calls };
}

test("offers the allowed tools under safe names, and knows them by either", async () => {
  const { server } = fakeServer();
  const tool = await openMcpTool(server, { allowed_tools: ["search.docs"] }, never);
  expect(tool.functions).toEqual([
    { name: "docs__search_docs", description: "Searches.", parameters: new Map() },
  ]);
  expect(tool.accepts("functions.docs__search_docs")).toBe(true);
  expect(tool.accepts("docs__search_docs")).toBe(true);
  expect(tool.accepts("functions.docs__delete")).toBe(false);
  expect(tool.origin?.("functions.docs__search_docs")).toEqual({
    server: "docs",
    tool: "search.docs",
  });
});

test("asks the client before tools that change something", async () => {
  const tool = await openMcpTool(
    fakeServer().server,
    { require_approval: { never: { read_only: true } } },
    never,
  );
  expect(tool.needsApproval?.("functions.docs__search_docs")).toBe(false);
  expect(tool.needsApproval?.("functions.docs__delete")).toBe(true);
});

test("calls the server's tool by its own name", async () => {
  const { server, calls } = fakeServer();
  const run = await (await openMcpTool(server, {}, never)).open(SESSION);
  const call = { id: "c1", recipient: "functions.docs__search_docs", body: '{"q":1}' };
  expect(await run.run(call, never)).toEqual({
    text: "found",
    failed: false,
    shown: {
      type: "mcp",
      server: "docs",
      tool: "search.docs",
      arguments: '{"q":1}',
      output: "found",
    },
  });
  expect(calls).toEqual([["search.docs", '{"q":1}']]);
});

test("a failure is a result that the model reads and the client sees", async () => {
  const error = { type: "http_error", code: 502, message: "Bad gateway" } as const;
  const { server } = fakeServer({ text: "Bad gateway", error });
  const run = await (await openMcpTool(server, {}, never)).open(SESSION);
  const result = await run.run(
    { id: "c1", recipient: "functions.docs__delete", body: "{}" },
    never,
  );
  expect(result).toMatchObject({ text: "Error: Bad gateway", failed: true, shown: { error } });
});
