import { describe, expect, test } from "vitest";
import { developerText } from "../../src/harmony/index.ts";
import { qualifiedName, toolRecipient, toShownTools } from "../../src/harmony/tool-names.ts";

const WEATHER = { name: "mcp__weather", description: "Forecasts." };
const TOOLS = [
  { name: "f", description: "Plain." },
  { name: "get", description: "Now.", namespace: WEATHER },
  { name: "get", description: "Time.", namespace: { name: "mcp__clock" } },
  { name: "later", description: "Later.", namespace: WEATHER },
  { name: "g", description: "Plain, too.", namespace: { name: "functions" } },
];

function shown(style: "own" | "flat"): string {
  const { functions, namespaces } = toShownTools(TOOLS, style);
  const plain = { key: "functions", name: "functions", functions };
  return developerText({ type: "developer", namespaces: [plain, ...namespaces] });
}

test("a namespace is shown as one of its own, with its description", () => {
  expect(shown("own")).toBe(
    [
      "# Tools",
      "## functions\n\nnamespace functions {\n\n// Plain.\ntype f = () => any;\n\n// Plain, too.\ntype g = () => any;\n\n} // namespace functions",
      "## mcp__clock\n\nnamespace mcp__clock {\n\n// Time.\ntype get = () => any;\n\n} // namespace mcp__clock",
      "## mcp__weather\n\n// Forecasts.\nnamespace mcp__weather {\n\n// Now.\ntype get = () => any;\n\n// Later.\ntype later = () => any;\n\n} // namespace mcp__weather",
    ].join("\n\n"),
  );
});

test("all tools can be shown as functions instead", () => {
  const { functions, namespaces } = toShownTools(TOOLS, "flat");
  expect(functions.map(({ name }) => name)).toEqual([
    "f",
    "mcp__weather__get",
    "mcp__clock__get",
    "mcp__weather__later",
    "g",
  ]);
  expect(namespaces).toEqual([]);
});

describe("a tool is named in the turn and addressed by the model", () => {
  test.each([
    [undefined, "f", "functions.f", "functions.f"],
    ["functions", "f", "functions.f", "functions.f"],
    ["ns", "ns.f", "ns.f", "functions.ns__f"],
  ])("in the namespace %s: %s", (namespace, name, own, flat) => {
    expect(qualifiedName(namespace, "f")).toBe(name);
    expect(toolRecipient(namespace, "f", "own")).toBe(own);
    expect(toolRecipient(namespace, "f", "flat")).toBe(flat);
  });
});
