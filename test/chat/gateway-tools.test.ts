import { expect, test } from "vitest";
import { toHosted, toLabel } from "../../web/chat/gateway-tools.ts";

const NAMES = ["browser", "python", "mcp:wiki"];

test("each API gets the tools in its own words, and Messages no MCP servers", () => {
  const types = (api: "chat" | "responses" | "messages") =>
    toHosted(NAMES, api).map((tool) => ("type" in tool ? tool.type : ""));
  expect(types("chat")).toEqual(["browser_search", "code_interpreter", "mcp"]);
  expect(types("responses")).toEqual(["web_search", "code_interpreter", "mcp"]);
  expect(types("messages")).toEqual([
    "web_search_20250305",
    "web_fetch_20250910",
    "code_execution_20250825",
  ]);
  expect(toHosted(["mcp:wiki"], "responses")).toEqual([
    { type: "mcp", server_label: "wiki", require_approval: "never" },
  ]);
  expect(toLabel("mcp:wiki")).toBe("MCP server wiki");
});

test("a name of an object's own members is no tool", () => {
  expect(toHosted(["constructor", "__proto__"], "chat")).toEqual([]);
});
