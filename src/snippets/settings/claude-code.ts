/** The variables of Claude Code. */
import { NO_KEY } from "../snippet.ts";
import type { SettingsTarget } from "./settings-target.ts";

export function toClaudeCodeVariables({
  origin,
  models,
  key,
}: SettingsTarget): Record<string, string> {
  const [main] = models;
  const small = models.find(({ id, isPreset }) => !isPreset && id !== main.id) ?? main;
  return {
    // The URL has no /v1, which Claude Code appends.
    ANTHROPIC_BASE_URL: origin,
    ANTHROPIC_AUTH_TOKEN: key ?? NO_KEY,
    ANTHROPIC_MODEL: main.id,
    ANTHROPIC_DEFAULT_OPUS_MODEL: main.id,
    ANTHROPIC_DEFAULT_SONNET_MODEL: main.id,
    ANTHROPIC_DEFAULT_HAIKU_MODEL: small.id,
    // For unknown models, Claude Code assumes a million tokens and compacts too late.
    CLAUDE_CODE_MAX_CONTEXT_TOKENS: String(Math.min(main.contextLength, small.contextLength)),
    // Other traffic would go to Anthropic's own servers.
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  };
}
