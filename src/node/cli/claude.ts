/** `harmony-gateway claude`: the environment variables that point Claude Code at this gateway. */
import { DEFAULT_MODEL, toBackends } from "../../config/backends.ts";
import type { Settings } from "../../config/settings.ts";
import { GPT_OSS_CONTEXT } from "../../engines/context-length.ts";

/** Shell commands with address, models and context length from the settings. */
export function toClaudeVariables(settings: Settings): string {
  const backends = toBackends(settings);
  const names = [...new Set(backends.map(({ servedName }) => servedName))];
  const [main = DEFAULT_MODEL] = names;
  const small = names.find((name) => name !== main) ?? main;
  const lengths = backends.map(({ contextLength }) => contextLength ?? GPT_OSS_CONTEXT);
  const host = /^(0\.0\.0\.0|::)$/.test(settings.host) ? "127.0.0.1" : settings.host;
  const variables = {
    // Without /v1, which Claude Code appends.
    ANTHROPIC_BASE_URL: `http://${host.includes(":") ? `[${host}]` : host}:${settings.port}`,
    ANTHROPIC_AUTH_TOKEN: settings.keys.length > 0 ? "<your key>" : "none",
    ANTHROPIC_MODEL: main,
    ANTHROPIC_DEFAULT_OPUS_MODEL: main,
    ANTHROPIC_DEFAULT_SONNET_MODEL: main,
    ANTHROPIC_DEFAULT_HAIKU_MODEL: small,
    // For unknown models, Claude Code assumes a million tokens and compacts too late.
    CLAUDE_CODE_MAX_CONTEXT_TOKENS: String(Math.min(...lengths)),
    // Its other traffic is for Anthropic's own servers.
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  };
  return Object.entries(variables)
    .map(([name, value]) => `export ${name}=${quote(value)}`)
    .join("\n");
}

function quote(value: string): string {
  return /^[\w.:/@-]+$/.test(value) ? value : `'${value.replaceAll("'", String.raw`'\''`)}'`;
}
