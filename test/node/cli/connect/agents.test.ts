import { expect, test } from "vitest";
import * as z from "zod";
import { claudeCode, codex } from "../../../../src/node/cli/connect/clients.ts";
import type { ConnectedModel, Target } from "../../../../src/node/cli/connect/target.ts";
import { toText } from "../../../../src/node/cli/connect/client-settings.ts";

const BIG: ConnectedModel = {
  id: "big",
  contextLength: 32_768,
  maxOutputTokens: 16_384,
  isPreset: false,
  seesImages: false,
};
const QUICK: ConnectedModel = { ...BIG, id: "quick", isPreset: true, effort: "none" };
const TARGET: Target = { origin: "http://[::1]:9000", models: [BIG], key: undefined };

const entry = z.looseObject({
  supported_reasoning_levels: z.array(z.looseObject({ effort: z.string() })),
  base_instructions: z.string(),
});

function filesOf(target: Target) {
  const [config, catalogue] = codex.settings(target).files ?? [];
  const { models } = z.object({ models: z.array(entry) }).parse(JSON.parse(catalogue?.text ?? ""));
  return { config: config?.text, models };
}

test("the configuration of Codex names the gateway's address and model", () => {
  expect(filesOf(TARGET).config).toBe(`\
model = "big"
model_provider = "harmony-gateway"
model_catalog_json = "~/.codex/gpt-oss.json"
show_raw_agent_reasoning = true

[model_providers.harmony-gateway]
name = "harmony-gateway"
base_url = "http://[::1]:9000/v1"
wire_api = "responses"`);
});

test("with keys it says where Codex finds one", () => {
  const { config } = filesOf({ ...TARGET, key: "<your key>" });
  expect(config).toMatch(/^env_key = "HARMONY_GATEWAY_KEY"$/m);
});

test("the catalogue has each model and preset, in order", () => {
  const review = { ...QUICK, id: "review", description: "Code review", effort: "high" } as const;
  const { models } = filesOf({ ...TARGET, models: [BIG, review, QUICK] });
  expect(models).toMatchObject([
    { slug: "big", context_window: 32_768, priority: 1, default_reasoning_level: "medium" },
    { slug: "review", description: "Code review", default_reasoning_level: "high" },
    { slug: "quick", default_reasoning_level: "none" },
  ]);
  expect(models[2]?.supported_reasoning_levels[0]?.effort).toBe("none");
});

test.each([
  [true, ["text", "image"]],
  [false, ["text"]],
])("the catalogue says whether images are described: %s", (seesImages, modalities) => {
  const models = [
    { ...BIG, seesImages },
    { ...QUICK, seesImages },
  ] as const;
  expect(filesOf({ ...TARGET, models }).models).toMatchObject([
    { slug: "big", input_modalities: modalities },
    { slug: "quick", input_modalities: modalities },
  ]);
});

/** Fields without which Codex 0.169.0 refuses a catalogue. */
test("an entry has every field that Codex requires", () => {
  const [model] = filesOf(TARGET).models;
  expect(Object.keys(model ?? {})).toEqual(
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
  expect(model?.base_instructions.length).toBeGreaterThan(1500);
});

test("Claude Code gets the gateway, its model and the model's context", () => {
  expect(claudeCode.settings(TARGET).variables).toEqual({
    ANTHROPIC_BASE_URL: "http://[::1]:9000",
    ANTHROPIC_AUTH_TOKEN: "none",
    ANTHROPIC_MODEL: "big",
    ANTHROPIC_DEFAULT_OPUS_MODEL: "big",
    ANTHROPIC_DEFAULT_SONNET_MODEL: "big",
    ANTHROPIC_DEFAULT_HAIKU_MODEL: "big",
    CLAUDE_CODE_MAX_CONTEXT_TOKENS: "32768",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  });
});

test("Claude Code's small model is the second one, never a preset, and the shorter context is used", () => {
  const small = { ...BIG, id: "small", contextLength: 20_000 };
  expect(claudeCode.settings({ ...TARGET, models: [BIG, small] }).variables).toMatchObject({
    ANTHROPIC_MODEL: "big",
    ANTHROPIC_DEFAULT_HAIKU_MODEL: "small",
    CLAUDE_CODE_MAX_CONTEXT_TOKENS: "20000",
  });
  expect(claudeCode.settings({ ...TARGET, models: [BIG, QUICK] }).variables).toMatchObject({
    ANTHROPIC_DEFAULT_HAIKU_MODEL: "big",
  });
});

test("a key is included if the gateway requires one, and names are quoted for the shell", () => {
  const text = toText(
    claudeCode.settings({ ...TARGET, models: [{ ...BIG, id: "it's mine" }], key: "<your key>" }),
  );
  expect(text).toContain("export ANTHROPIC_AUTH_TOKEN='<your key>'");
  expect(text).toContain(String.raw`export ANTHROPIC_MODEL='it'\''s mine'`);
});
