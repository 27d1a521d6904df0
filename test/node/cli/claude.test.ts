import { expect, test } from "vitest";
import { toClaudeVariables } from "../../../src/node/cli/claude.ts";
import { testSettings } from "../../helpers/gateway.ts";

function variablesFor(settings: Readonly<Record<string, unknown>>): Map<string, string> {
  const lines = toClaudeVariables(testSettings(settings)).split("\n");
  return new Map(
    lines.map((line) => {
      const [, name = "", value = ""] = /^export (\w+)=(.*)$/.exec(line) ?? [];
      return [name, value];
    }),
  );
}

test("Claude Code is pointed at the gateway, its model and the model's context", () => {
  const variables = variablesFor({ engine: "vllm", model: "openai/gpt-oss-120b", port: 9000 });
  expect(variables.get("ANTHROPIC_BASE_URL")).toBe("http://127.0.0.1:9000");
  expect(variables.get("ANTHROPIC_AUTH_TOKEN")).toBe("none");
  expect(variables.get("ANTHROPIC_MODEL")).toBe("openai/gpt-oss-120b");
  expect(variables.get("ANTHROPIC_DEFAULT_HAIKU_MODEL")).toBe("openai/gpt-oss-120b");
  expect(variables.get("CLAUDE_CODE_MAX_CONTEXT_TOKENS")).toBe("131072");
});

test("the second model is the small one, and the shorter context length is used", () => {
  const variables = variablesFor({
    backends: [
      { engine: "vllm", model: "openai/gpt-oss-120b" },
      { engine: "vllm", model: "openai/gpt-oss-20b", contextLength: 65_536 },
    ],
  });
  expect(variables.get("ANTHROPIC_MODEL")).toBe("openai/gpt-oss-120b");
  expect(variables.get("ANTHROPIC_DEFAULT_HAIKU_MODEL")).toBe("openai/gpt-oss-20b");
  expect(variables.get("CLAUDE_CODE_MAX_CONTEXT_TOKENS")).toBe("65536");
});

test("a key is included if the gateway requires one, and names are quoted for the shell", () => {
  const variables = variablesFor({
    keys: [{ name: "me", sha256: "0".repeat(64) }],
    servedName: "it's mine",
  });
  expect(variables.get("ANTHROPIC_AUTH_TOKEN")).toBe("'<your key>'");
  expect(variables.get("ANTHROPIC_MODEL")).toBe(String.raw`'it'\''s mine'`);
});
