import { expect, test } from "vitest";
import type { NamespaceStyle } from "../../../src/harmony/tool-names.ts";
import type { McpOutcome, McpServer, McpTool } from "../../../src/tools/mcp/connection.ts";
import type { McpPolicy } from "../../../src/tools/mcp/policy.ts";
import { createMcpTool } from "../../../src/tools/mcp/tool.ts";

const never = new AbortController().signal;
const SESSION = { tenant: "acme", turnId: "t1", saved: undefined, signal: never };

function fakeServer(outcome: McpOutcome = { text: "found" }) {
  const calls: [string, string][] = [];
  const tools: McpTool[] = [
    {
      name: "search.docs",
      description: "Searches.",
      inputSchema: { type: "object" },
      readOnly: true,
    },
    { name: "delete", description: "Deletes.", inputSchema: { type: "object" }, readOnly: false },
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
  return { server, calls, tools };
}

function open(
  fake = fakeServer(),
  policies: readonly McpPolicy[] = [],
  style: NamespaceStyle = "own",
) {
  const { server, tools } = fake;
  return createMcpTool({ server, tools, policies, description: "Documents.", style });
}

const shown = {
  name: "search_docs",
  description: "Searches.",
  parameters: new Map([["type", "object"]]),
  namespace: { name: "docs", description: "Documents." },
};

test.each<[NamespaceStyle, string]>([
  ["own", "docs.search_docs"],
  ["flat", "functions.docs__search_docs"],
])("offers the allowed tools as any namespace's: %s", (style, recipient) => {
  const tool = open(fakeServer(), [{ allowed: ["search.docs"] }], style);
  expect(tool.functions).toEqual([{ name: "docs.search_docs", recipient, shown }]);
  expect(tool.accepts(recipient)).toBe(true);
  expect(tool.accepts("docs.delete")).toBe(false);
  expect(tool.origin?.(recipient)).toEqual({ server: "docs", tool: "search.docs" });
});

test("a call to a tool that there is not is a result that says so", async () => {
  const run = await open().open(SESSION);
  expect(await run.run({ id: "1", recipient: "docs.none", body: "{}" }, never)).toMatchObject({
    text: "Error: There is no tool docs.none.",
    failed: true,
  });
});

test("asks the client before tools that change something", () => {
  const tool = open(fakeServer(), [{ approval: { never: { readOnly: true } } }]);
  expect(tool.needsApproval?.("docs.search_docs")).toBe(false);
  expect(tool.needsApproval?.("docs.delete")).toBe(true);
});

test("of several policies each counts: what one refuses or asks for, no other allows", () => {
  const tool = open(fakeServer(), [
    { allowed: { readOnly: true } },
    { allowed: ["search.docs", "delete"], approval: "always" },
    { approval: "never" },
  ]);
  expect(tool.functions?.map(({ name }) => name)).toEqual(["docs.search_docs"]);
  expect(tool.needsApproval?.("docs.search_docs")).toBe(true);
});

test("calls the server's tool by its own name", async () => {
  const fake = fakeServer();
  const run = await open(fake).open(SESSION);
  const call = { id: "c1", recipient: "docs.search_docs", body: '{"q":1}' };
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
  expect(fake.calls).toEqual([["search.docs", '{"q":1}']]);
});

test("a failure is a result that the model reads and the client sees", async () => {
  const error = { type: "http", code: 502, message: "Bad gateway" } as const;
  const run = await open(fakeServer({ text: "Bad gateway", error })).open(SESSION);
  const result = await run.run({ id: "c1", recipient: "docs.delete", body: "{}" }, never);
  expect(result).toMatchObject({ text: "Error: Bad gateway", failed: true, shown: { error } });
});
