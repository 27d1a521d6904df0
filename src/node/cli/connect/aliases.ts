/** `harmony-gateway claude` and `harmony-gateway codex`: the settings of `connect`, for a gateway that need not run. */
import type { Command } from "../command-io.ts";
import { loadSettings } from "../settings.ts";
import { claudeCode } from "./clients/claude-code.ts";
import { codex } from "./clients/codex.ts";
import { targetOf } from "./target.ts";
import { toExports } from "./to-text.ts";

/** The client may run elsewhere than the gateway. */
const DRY = { public: false, isDry: true };

export const CLAUDE: Command = {
  usage: `\
harmony-gateway claude [settings]    print the variables that connect Claude Code to a gateway with these settings

harmony-gateway connect claude-code takes them from the running gateway instead.`,
  run(args, { environment, print }) {
    print(printClient("claude", args, environment));
    return 0;
  },
};

export const CODEX: Command = {
  usage: `\
harmony-gateway codex [settings]            print a config.toml for a gateway with these settings
harmony-gateway codex catalog [settings]    print its models as Codex's catalogue

harmony-gateway connect codex takes them from the running gateway instead.`,
  run(args, { environment, print }) {
    print(printClient("codex", args, environment));
    return 0;
  },
};

/** @throws SettingsError */
export function printClient(
  command: "claude" | "codex",
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): string {
  const isCatalogue = command === "codex" && args[0] === "catalog";
  const flags = isCatalogue ? args.slice(1) : args;
  const target = targetOf(loadSettings(flags, environment, DRY).settings);
  if (command === "claude") return toExports(claudeCode.settings(target).variables ?? {});
  const [config, catalogue] = codex.settings(target).files ?? [];
  if (isCatalogue) return catalogue?.text ?? "";
  return `# The models are a file of their own: harmony-gateway codex catalog > ~/.codex/gpt-oss.json\n${config?.text}`;
}
