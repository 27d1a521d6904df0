import { expect, test } from "vitest";
import { toCodexCatalogue, toCodexConfig } from "../../../src/node/cli/codex.ts";
import { testSettings } from "../../helpers/gateway.ts";

const KEY = { name: "me", sha256: "0".repeat(64) };

test("the configuration names the gateway's address and model", () => {
  const lines = toCodexConfig(
    testSettings({ host: "0.0.0.0", open: true, port: 9000, servedName: "m" }),
  ).split("\n");
  expect(lines).toContain('model = "m"');
  expect(lines).toContain('base_url = "http://127.0.0.1:9000/v1"');
  expect(lines).toContain('wire_api = "responses"');
  expect(lines.some((line) => line.startsWith("env_key"))).toBe(false);
});

test("with keys it says where Codex finds one, and an IPv6 address has its brackets", () => {
  const text = toCodexConfig(testSettings({ host: "::1", keys: [KEY] }));
  expect(text).toContain('base_url = "http://[::1]:8787/v1"');
  expect(text).toMatch(/^env_key = "HARMONY_GATEWAY_KEY"/m);
});

test("the catalogue has each model once, with its shortest context", () => {
  const backend = { engine: "vllm", url: "http://127.0.0.1:8000", servedName: "big" };
  const settings = testSettings({
    backends: [
      { ...backend, contextLength: 65_536 },
      { ...backend, url: "http://127.0.0.1:8001", contextLength: 32_768 },
      { ...backend, url: "http://127.0.0.1:8002", servedName: "small" },
    ],
  });
  expect(JSON.parse(toCodexCatalogue(settings)).models).toMatchObject([
    { slug: "big", context_window: 32_768, priority: 1 },
    { slug: "small", context_window: 131_072, priority: 2 },
  ]);
});

/** Fields without which Codex 0.169.0 refuses a catalogue. */
test("an entry has every field that Codex requires", () => {
  const { models } = JSON.parse(toCodexCatalogue(testSettings({})));
  expect(Object.keys(models[0])).toEqual(
    expect.arrayContaining([
      "slug",
      "display_name",
      "supported_reasoning_levels",
      "shell_type",
      "visibility",
      "supported_in_api",
      "priority",
      "base_instructions",
      "support_verbosity",
      "truncation_policy",
      "experimental_supported_tools",
    ]),
  );
  expect(models[0].base_instructions.length).toBeGreaterThan(1500);
});
