import { expect, test } from "vitest";
import { printClient } from "../../../../src/node/cli/connect/aliases.ts";

const KEYS = ["--keys", `me:${"0".repeat(64)}`];
const codex = (...args: string[]) => printClient("codex", args, {});
const catalogue = (...args: string[]) => JSON.parse(codex("catalog", ...args)).models;

function variablesFor(...args: string[]): Record<string, string> {
  const lines = printClient("claude", args, {}).split("\n");
  return Object.fromEntries(
    lines.map((line) => {
      const [, name = "", value = ""] = /^export (\w+)=(.*)$/.exec(line) ?? [];
      return [name, value];
    }),
  );
}

test("the configuration of Codex names the gateway's address and model", () => {
  const lines = codex("--host", "0.0.0.0", "--open", "--port", "9000", "--served-name", "m");
  expect(lines).toBe(`\
# The models are a file of their own: harmony-gateway codex catalog > ~/.codex/gpt-oss.json
model = "m"
model_provider = "harmony-gateway"
model_catalog_json = "~/.codex/gpt-oss.json"
show_raw_agent_reasoning = true

[model_providers.harmony-gateway]
name = "harmony-gateway"
base_url = "http://127.0.0.1:9000/v1"
wire_api = "responses"`);
});

test("with keys it says where Codex finds one, and an IPv6 address has its brackets", () => {
  const text = codex("--host", "::1", ...KEYS);
  expect(text).toContain('base_url = "http://[::1]:8787/v1"');
  expect(text).toMatch(/^env_key = "HARMONY_GATEWAY_KEY"$/m);
});

test("behind a proxy the address is the public one", () => {
  expect(codex("--public-url", "https://llm.example.com/team/")).toContain(
    'base_url = "https://llm.example.com/team/v1"',
  );
});

const TWO_BACKENDS = JSON.stringify([
  { engine: "vllm", model: "openai/gpt-oss-120b" },
  { engine: "vllm", model: "openai/gpt-oss-20b", contextLength: 65_536 },
]);

test("the catalogue has each model once, with its shortest context, and the presets that are listed", () => {
  const backend = { engine: "vllm", url: "http://127.0.0.1:8000", servedName: "big" };
  const models = catalogue(
    "--backends",
    JSON.stringify([
      { ...backend, contextLength: 65_536 },
      { ...backend, url: "http://127.0.0.1:8001", contextLength: 32_768 },
      { ...backend, url: "http://127.0.0.1:8002", servedName: "small" },
    ]),
    "--presets",
    JSON.stringify({
      review: { model: "big", effort: "high", description: "Code review" },
      quick: { model: "small", effort: "none" },
      hidden: { model: "big", unlisted: true },
    }),
  );
  expect(models).toMatchObject([
    { slug: "big", context_window: 32_768, priority: 1, default_reasoning_level: "medium" },
    { slug: "small", context_window: 131_072, priority: 2 },
    {
      slug: "review",
      context_window: 32_768,
      description: "Code review",
      default_reasoning_level: "high",
    },
    { slug: "quick", default_reasoning_level: "none" },
  ]);
  expect(models).toHaveLength(4);
  expect(models[3].supported_reasoning_levels[0].effort).toBe("none");
});

test.each([
  [
    ["--vision-url", "http://127.0.0.1:8081", "--vision-model", "sees"],
    ["text", "image"],
  ],
  [[], ["text"]],
])("the catalogue says whether images are described: %s", (flags, modalities) => {
  const preset = JSON.stringify({ quick: { model: "openai/gpt-oss-20b" } });
  const models = catalogue("--model", "openai/gpt-oss-20b", "--presets", preset, ...flags);
  expect(models).toMatchObject([
    { slug: "openai/gpt-oss-20b", input_modalities: modalities },
    { slug: "quick", input_modalities: modalities },
  ]);
});

/** Fields without which Codex 0.169.0 refuses a catalogue. */
test("an entry has every field that Codex requires", () => {
  const [entry] = catalogue();
  expect(Object.keys(entry)).toEqual(
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
  expect(entry.base_instructions.length).toBeGreaterThan(1500);
});

test("Claude Code gets the gateway, its model and the model's context", () => {
  expect(
    variablesFor("--engine", "vllm", "--model", "openai/gpt-oss-120b", "--port", "9000"),
  ).toEqual({
    ANTHROPIC_BASE_URL: "http://127.0.0.1:9000",
    ANTHROPIC_AUTH_TOKEN: "none",
    ANTHROPIC_MODEL: "openai/gpt-oss-120b",
    ANTHROPIC_DEFAULT_OPUS_MODEL: "openai/gpt-oss-120b",
    ANTHROPIC_DEFAULT_SONNET_MODEL: "openai/gpt-oss-120b",
    ANTHROPIC_DEFAULT_HAIKU_MODEL: "openai/gpt-oss-120b",
    CLAUDE_CODE_MAX_CONTEXT_TOKENS: "131072",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  });
});

test("the second model is the small one, a preset never is, and the shorter context is used", () => {
  expect(variablesFor("--backends", TWO_BACKENDS)).toMatchObject({
    ANTHROPIC_MODEL: "openai/gpt-oss-120b",
    ANTHROPIC_DEFAULT_HAIKU_MODEL: "openai/gpt-oss-20b",
    CLAUDE_CODE_MAX_CONTEXT_TOKENS: "65536",
  });
  expect(
    variablesFor("--presets", '{"review":{"model":"gpt-oss-20b","effort":"high"}}'),
  ).toMatchObject({ ANTHROPIC_DEFAULT_HAIKU_MODEL: "openai/gpt-oss-20b" });
});

test("a key is included if the gateway requires one, and names are quoted for the shell", () => {
  expect(variablesFor(...KEYS, "--served-name", "it's mine")).toMatchObject({
    ANTHROPIC_AUTH_TOKEN: "'<your key>'",
    ANTHROPIC_MODEL: String.raw`'it'\''s mine'`,
  });
});
