/** The configuration of Codex: a provider, and its model. */
import { KEY_VARIABLE } from "../snippet.ts";
import type { SettingsTarget } from "./settings-target.ts";

export const CODEX_PROVIDER = "harmony-gateway";

/** Names and values of the provider's table, without undefined ones. */
export function toCodexProvider({
  origin,
  key,
}: SettingsTarget): readonly (readonly [name: string, value: string | undefined])[] {
  return [
    ["name", CODEX_PROVIDER],
    ["base_url", `${origin}/v1`],
    ["wire_api", "responses"],
    // A variable that is named but not set is an error in Codex.
    ["env_key", key === undefined ? undefined : KEY_VARIABLE],
  ];
}

type Pair = readonly [name: string, value: string | number];

/** Values of the top level, for a Codex without a catalogue of models: they include the context length. */
export function toCodexModel({ models: [model] }: SettingsTarget): readonly [Pair, Pair, Pair] {
  return [
    ["model", model.id],
    ["model_provider", CODEX_PROVIDER],
    ["model_context_window", model.contextLength],
  ];
}
