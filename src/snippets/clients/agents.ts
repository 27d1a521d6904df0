/** Coding agents, which need settings instead of code: those that `connect` writes. */
import type { ApiName } from "../composed.ts";
import { quoteShell } from "../literals.ts";
import { toClaudeCodeVariables } from "../settings/claude-code.ts";
import { CODEX_PROVIDER, toCodexModel, toCodexProvider } from "../settings/codex.ts";
import { toOpencodeSettings } from "../settings/opencode.ts";
import type { SettingsTarget } from "../settings/settings-target.ts";
import { KEY_VARIABLE, type Snippet, type SnippetClient, type SnippetInput } from "../snippet.ts";

/** Context length of gpt-oss, if the gateway reports none. */
const CONTEXT_LENGTH = 131_072;

function toTarget({
  origin,
  body,
  key,
  contextLength = CONTEXT_LENGTH,
}: SnippetInput): SettingsTarget {
  const model = {
    id: String(body["model"]),
    contextLength,
    maxOutputTokens: Math.min(32_768, Math.floor(contextLength / 2)),
  };
  return { origin, models: [model], key };
}

function settingsClient(
  id: string,
  label: string,
  api: ApiName,
  make: (target: SettingsTarget) => Omit<Snippet, "note">,
): SnippetClient {
  return { id, label, apis: [api], isSettings: true, make: (input) => make(toTarget(input)) };
}

export const CODEX = settingsClient("codex", "Codex", "responses", (target) => ({
  language: "toml",
  file: "~/.codex/config.toml",
  code: `${toToml(toCodexModel(target))}
[model_providers.${CODEX_PROVIDER}]
${toToml(toCodexProvider(target))}`,
  run: `harmony-gateway connect codex --gateway ${target.origin} --write`,
}));

function toToml(pairs: readonly (readonly [string, string | number | undefined])[]): string {
  return pairs
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name} = ${JSON.stringify(value)}\n`)
    .join("");
}

export const CLAUDE_CODE = settingsClient("claude-code", "Claude Code", "messages", (target) => ({
  language: "bash",
  file: "claude.sh",
  code: Object.entries(toClaudeCodeVariables(target))
    .map(([name, value]) => `export ${name}=${toShellValue(value)}\n`)
    .join("")
    .concat("claude\n"),
  run: `harmony-gateway connect claude-code --gateway ${target.origin} --write`,
}));

function toShellValue(value: string): string {
  if (value === "variable") return `"$${KEY_VARIABLE}"`;
  return /^[\w.:/@-]+$/.test(value) ? value : quoteShell(value);
}

export const OPENCODE = settingsClient("opencode", "opencode", "chat", (target) => ({
  language: "json",
  file: "~/.config/opencode/opencode.json",
  code: `${JSON.stringify(
    toOpencodeSettings({
      ...target,
      // opencode replaces this text by the variable's value.
      key: target.key === "variable" ? `{env:${KEY_VARIABLE}}` : target.key,
    }),
    undefined,
    2,
  )}\n`,
  run: `harmony-gateway connect opencode --gateway ${target.origin} --write`,
}));
