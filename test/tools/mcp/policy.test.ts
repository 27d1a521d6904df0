import { describe, expect, test } from "vitest";
import type { McpTool } from "../../../src/tools/mcp/connection.ts";
import { toFunctionNames } from "../../../src/tools/mcp/names.ts";
import { isAllowed, mcpPolicy, needsApproval } from "../../../src/tools/mcp/policy.ts";

const tool = (name: string, readOnly = false): McpTool => ({
  name,
  description: "",
  parameters: new Map(),
  readOnly,
});
const policy = (given: object) => mcpPolicy().parse(given);

describe("which tools a request may use", () => {
  test.each<[string, unknown, string[]]>([
    ["all, where nothing is said", undefined, ["read", "write"]],
    ["those that are named", ["write"], ["write"]],
    ["none of an empty list", [], []],
    ["those that a filter names", { tool_names: ["read"] }, ["read"]],
    ["those that change nothing", { read_only: true }, ["read"]],
    ["those to which all of a filter applies", { read_only: true, tool_names: ["write"] }, []],
  ])("%s", (_, allowed, expected) => {
    const tools = [tool("read", true), tool("write")];
    const found = tools.filter((each) => isAllowed(each, policy({ allowed_tools: allowed })));
    expect(found.map(({ name }) => name)).toEqual(expected);
  });
});

describe("which tools need approval", () => {
  test.each<[string, unknown, string[]]>([
    ["all, where nothing is said", undefined, ["read", "write"]],
    ["all", "always", ["read", "write"]],
    ["none", "never", []],
    ["those not exempt", { never: { tool_names: ["read"] } }, ["write"]],
    [
      "those that are named, and those of which nothing is said",
      { always: { tool_names: ["read"] } },
      ["read", "write"],
    ],
    ["those named, even if exempt", { always: { tool_names: ["read"] }, never: {} }, ["read"]],
    ["those that change something", { never: { read_only: true } }, ["write"]],
  ])("%s", (_, required, expected) => {
    const tools = [tool("read", true), tool("write")];
    const found = tools.filter((each) =>
      needsApproval(each, policy({ require_approval: required })),
    );
    expect(found.map(({ name }) => name)).toEqual(expected);
  });
});

describe("names for the model", () => {
  test.each<[string, string[], string[]]>([
    ["carry the server's label", ["search"], ["docs__search"]],
    [
      "have no dot, which would begin another namespace",
      ["a.b", "c/d e"],
      ["docs__a_b", "docs__c_d_e"],
    ],
    [
      "stay apart when they become the same",
      ["a.b", "a_b", "a b"],
      ["docs__a_b", "docs__a_b_2", "docs__a_b_3"],
    ],
    [
      "are cut to what clients accept, and stay apart",
      ["x".repeat(80), `${"x".repeat(80)}y`],
      [`docs__${"x".repeat(58)}`, `docs__${"x".repeat(56)}_2`],
    ],
  ])("%s", (_, tools, expected) => {
    expect(toFunctionNames("docs", tools)).toEqual(expected);
  });
});
