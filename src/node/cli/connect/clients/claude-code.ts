/** Claude Code: variables, which its settings file can hold too. */
import { type ConnectedClient, NO_KEY, toJson } from "../client-settings.ts";
import { setJsonValues } from "../edit/json-text.ts";
import type { Target } from "../target.ts";

export const claudeCode: ConnectedClient = {
  title: "Claude Code",
  settings: (target) => {
    const variables = toVariables(target);
    return {
      variables,
      files: [
        {
          path: ".claude/settings.json",
          text: toJson({ env: variables }),
          merge: (existing) =>
            setJsonValues(
              existing,
              Object.entries(variables).map(([name, value]) => ({ path: ["env", name], value })),
            ),
        },
      ],
      start: { command: ["claude"], variables },
    };
  },
};

function toVariables({ origin, models, key }: Target): Record<string, string> {
  const [main] = models;
  const small = models.find(({ id, isPreset }) => !isPreset && id !== main.id) ?? main;
  return {
    // Without /v1, which Claude Code appends.
    ANTHROPIC_BASE_URL: origin,
    ANTHROPIC_AUTH_TOKEN: key ?? NO_KEY,
    ANTHROPIC_MODEL: main.id,
    ANTHROPIC_DEFAULT_OPUS_MODEL: main.id,
    ANTHROPIC_DEFAULT_SONNET_MODEL: main.id,
    ANTHROPIC_DEFAULT_HAIKU_MODEL: small.id,
    // For unknown models, Claude Code assumes a million tokens and compacts too late.
    CLAUDE_CODE_MAX_CONTEXT_TOKENS: String(Math.min(main.contextLength, small.contextLength)),
    // Its other traffic is for Anthropic's own servers.
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  };
}
