import { expect, test } from "vitest";
import { toClientName } from "../../src/telemetry/client-name.ts";

test.each([
  ["codex_cli_rs/0.98.0 (Debian 12; x86_64) xterm", "codex"],
  ["claude-cli/2.1.0 (external, cli)", "claude-code"],
  ["AsyncOpenAI/Python 2.8.1", "openai-python"],
  ["OpenAI/JS 7.55.0", "openai-js"],
  ["Anthropic/JS 1.12.0", "anthropic-js"],
  ["curl/8.14.1", "curl"],
  ["opencode/1.1.2 ai-sdk/5", "opencode"],
  ["ai-sdk/openai-compatible/3.0.92 runtime/node.js/24", "ai-sdk-openai-compatible"],
  ["node", "node"],
  ["Mozilla/5.0 (X11; Linux x86_64)", "browser"],
  ["\u001B[31mred", undefined],
  ["x".repeat(10_000), "x".repeat(32)],
  ["", undefined],
  [undefined, undefined],
])("%j is %j", (agent, name) => {
  expect(toClientName(agent)).toBe(name);
});
