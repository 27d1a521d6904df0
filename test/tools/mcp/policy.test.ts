import { describe, expect, test } from "vitest";
import { boundTools, type McpTool } from "../../../src/tools/mcp/connection.ts";
import { toToolNames } from "../../../src/tools/mcp/names.ts";
import { isAllowed, type McpPolicy, needsApproval } from "../../../src/tools/mcp/policy.ts";

const tool = (name: string, readOnly = false): McpTool => ({
  name,
  description: "",
  inputSchema: { type: "object" },
  readOnly,
});

describe("which tools a request may use", () => {
  test.each<[string, McpPolicy["allowed"], string[]]>([
    ["all, where nothing is said", undefined, ["read", "write"]],
    ["those that are named", ["write"], ["write"]],
    ["none of an empty list", [], []],
    ["those that a filter names", { toolNames: ["read"] }, ["read"]],
    ["those that change nothing", { readOnly: true }, ["read"]],
    ["those to which all of a filter applies", { readOnly: true, toolNames: ["write"] }, []],
  ])("%s", (_, allowed, expected) => {
    const tools = [tool("read", true), tool("write")];
    const found = tools.filter((each) => isAllowed(each, { allowed }));
    expect(found.map(({ name }) => name)).toEqual(expected);
  });
});

describe("which tools need approval", () => {
  test.each<[string, McpPolicy["approval"], string[]]>([
    ["none, where nothing is said", undefined, []],
    ["all", "always", ["read", "write"]],
    ["none", "never", []],
    ["those not exempt", { never: { toolNames: ["read"] } }, ["write"]],
    [
      "those that are named, and those of which nothing is said",
      { always: { toolNames: ["read"] } },
      ["read", "write"],
    ],
    ["those named, even if exempt", { always: { toolNames: ["read"] }, never: {} }, ["read"]],
    ["those that change something", { never: { readOnly: true } }, ["write"]],
  ])("%s", (_, required, expected) => {
    const tools = [tool("read", true), tool("write")];
    const found = tools.filter((each) => needsApproval(each, { approval: required }));
    expect(found.map(({ name }) => name)).toEqual(expected);
  });
});

describe("names for the model", () => {
  test.each<[string, string[], string[]]>([
    ["are the server's own", ["search", "get-sum"], ["search", "get-sum"]],
    ["have no dot, which would begin another namespace", ["a.b", "c/d e"], ["a_b", "c_d_e"]],
    ["stay apart when they become the same", ["a.b", "a_b", "a b"], ["a_b", "a_b_2", "a_b_3"]],
    [
      "are cut to what clients accept, and stay apart",
      ["x".repeat(80), `${"x".repeat(80)}y`],
      ["x".repeat(64), `${"x".repeat(62)}_2`],
    ],
  ])("%s", (_, tools, expected) => {
    expect(toToolNames(tools)).toEqual(expected);
  });
});

describe("lists of tools", () => {
  const deep = (depth: number): Record<string, unknown> =>
    depth === 0 ? {} : { properties: deep(depth - 1) };

  test("have at most 128 tools, with bounded descriptions", () => {
    const many = Array.from({ length: 200 }, (_, index) => tool(`t${index}`));
    expect(boundTools(many)).toHaveLength(128);
    expect(boundTools([{ ...tool("t"), description: "x".repeat(9999) }])).toEqual([
      { ...tool("t"), description: "x".repeat(2000) },
    ]);
  });

  test("have tools whose schemas a client can send back", () => {
    const deepest = { ...tool("t"), inputSchema: deep(58) };
    expect(boundTools([deepest])).toEqual([deepest]);
  });

  test.each<[string, McpTool]>([
    ["has no name", tool("")],
    ["has a name that is too long", tool("x".repeat(129))],
    ["has a schema that is too long", { ...tool("t"), inputSchema: { a: "x".repeat(300_000) } }],
    ["has a schema that is nested too deep", { ...tool("t"), inputSchema: deep(59) }],
    ["has a schema that would overflow the stack", { ...tool("t"), inputSchema: deep(5000) }],
  ])("leave out a tool that %s, and keep the others", (_, wrong) => {
    expect(boundTools([tool("a"), wrong, tool("b")])).toEqual([tool("a"), tool("b")]);
  });
});
