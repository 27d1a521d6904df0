import { expect, onTestFinished, test, vi } from "vitest";
import * as z from "zod";
import { runCommand } from "../../../helpers/command-io.ts";

/** Models as a gateway lists them. */
const BIG = { id: "big", context_length: 32_768 };
const QUICK = {
  id: "quick",
  canonical_slug: "big",
  context_length: 32_768,
  reasoning: { default_effort: "none" },
};

const ORIGIN = "http://[::1]:9000";

/** Settings that `connect` prints for a gateway with these models. */
async function settingsOf(client: string, models: readonly object[] = [BIG], ...flags: string[]) {
  vi.stubGlobal("fetch", async () => Response.json({ data: models }));
  onTestFinished(() => void vi.unstubAllGlobals());
  return (await runCommand(["connect", client, "--gateway", ORIGIN, ...flags])).printed;
}

const entry = z.looseObject({
  supported_reasoning_levels: z.array(z.looseObject({ effort: z.string() })),
  base_instructions: z.string(),
});

async function codex(served?: readonly object[], ...flags: string[]) {
  const printed = await settingsOf("codex", served, ...flags);
  const [, config, catalogue = ""] =
    /^# ~\/\.codex\/config\.toml\n([^]*?)\n\n# ~\/\.codex\/gpt-oss\.json\n([^]*?)\n\n(?:export|#) /.exec(
      printed,
    ) ?? [];
  const { models } = z.object({ models: z.array(entry) }).parse(JSON.parse(catalogue));
  return { config, models };
}

test("the configuration of Codex names the gateway's address and model", async () => {
  expect((await codex()).config).toBe(`\
model = "big"
model_provider = "harmony-gateway"
model_catalog_json = "~/.codex/gpt-oss.json"
show_raw_agent_reasoning = true

[model_providers.harmony-gateway]
name = "harmony-gateway"
base_url = "http://[::1]:9000/v1"
wire_api = "responses"`);
});

test("with keys it says where Codex finds one", async () => {
  const { config } = await codex([BIG], "--key", "secret");
  expect(config).toMatch(/^env_key = "HARMONY_GATEWAY_KEY"$/m);
});

test("the catalogue has each model and preset, in order", async () => {
  const high = { default_effort: "high" };
  const review = { ...QUICK, id: "review", description: "Code review", reasoning: high };
  const { models } = await codex([BIG, review, QUICK]);
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
])("the catalogue says whether images are described: %s", async (seesImages, modalities) => {
  const architecture = { input_modalities: seesImages ? ["text", "image"] : ["text"] };
  const { models } = await codex([BIG, QUICK].map((each) => ({ ...each, architecture })));
  expect(models).toMatchObject([
    { slug: "big", input_modalities: modalities },
    { slug: "quick", input_modalities: modalities },
  ]);
});

/** Fields without which Codex 0.169.0 refuses a catalogue. */
test("an entry has every field that Codex requires", async () => {
  const [model] = (await codex()).models;
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

/** The variables that are printed for Claude Code. */
async function claudeCode(models?: readonly object[]) {
  const printed = await settingsOf("claude-code", models);
  // The variables take the place of the file.
  expect(printed).not.toContain(".claude/settings.json");
  return Object.fromEntries(
    Array.from(printed.matchAll(/^export (\w+)=(.*)$/gm), ([, name, value]) => [name, value]),
  );
}

test("Claude Code gets the gateway, its model and the model's context", async () => {
  expect(await claudeCode()).toEqual({
    ANTHROPIC_BASE_URL: "'http://[::1]:9000'",
    ANTHROPIC_AUTH_TOKEN: "none",
    ANTHROPIC_MODEL: "big",
    ANTHROPIC_DEFAULT_OPUS_MODEL: "big",
    ANTHROPIC_DEFAULT_SONNET_MODEL: "big",
    ANTHROPIC_DEFAULT_HAIKU_MODEL: "big",
    CLAUDE_CODE_MAX_CONTEXT_TOKENS: "32768",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  });
});

test("Claude Code's small model is the second one, never a preset, and the shorter context is used", async () => {
  const small = { id: "small", context_length: 20_000 };
  expect(await claudeCode([BIG, small])).toMatchObject({
    ANTHROPIC_MODEL: "big",
    ANTHROPIC_DEFAULT_HAIKU_MODEL: "small",
    CLAUDE_CODE_MAX_CONTEXT_TOKENS: "20000",
  });
  expect(await claudeCode([BIG, QUICK])).toMatchObject({ ANTHROPIC_DEFAULT_HAIKU_MODEL: "big" });
});

test("a key is included if there is one, and names are quoted for the shell", async () => {
  const models = [{ ...BIG, id: "it's mine" }];
  const text = await settingsOf("claude-code", models, "--key", "<your key>");
  expect(text).toContain("export ANTHROPIC_AUTH_TOKEN='<your key>'");
  expect(text).toContain(String.raw`export ANTHROPIC_MODEL='it'\''s mine'`);
});
