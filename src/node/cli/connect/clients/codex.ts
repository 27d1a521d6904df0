/** Codex: a provider and a model in its configuration, and a catalogue of the models beside it. */
import {
  CODEX_PROVIDER,
  toCodexModel,
  toCodexProvider,
} from "../../../../snippets/settings/codex.ts";
import { KEY_VARIABLE } from "../../../../snippets/snippet.ts";
import { toCodexModels } from "../../../../api/codex-catalogue.ts";
import { type ConnectedClient, toJson } from "../client-settings.ts";
import { type TomlPair, mergeToml } from "../edit/toml-text.ts";
import type { Target } from "../target.ts";

const TABLE = ["model_providers", CODEX_PROVIDER];

export const codex: ConnectedClient = {
  title: "Codex",
  settings: (target) => {
    const toml = { top: topOf(target), table: TABLE, pairs: toCodexProvider(target) };
    const catalogue = toJson({ models: toCodexModels(target.models) });
    const keyVariable = target.key !== undefined && { [KEY_VARIABLE]: target.key };
    return {
      files: [
        {
          path: ".codex/config.toml",
          text: mergeToml("", toml).trimEnd(),
          merge: (existing) => mergeToml(existing, toml),
        },
        { path: ".codex/gpt-oss.json", text: catalogue },
      ],
      ...(keyVariable && { keyVariable }),
      start: {
        command: ["codex", ...toOverrides(target)],
        variables: { ...keyVariable },
        file: {
          text: catalogue,
          toArguments: (path) => toArguments([["model_catalog_json", path]]),
        },
      },
    };
  },
};

function topOf({ models: [model] }: Target): readonly TomlPair[] {
  return [
    ["model", model.id],
    ["model_provider", CODEX_PROVIDER],
    ["model_catalog_json", "~/.codex/gpt-oss.json"],
    // The model's own reasoning, where the gateway shows it.
    ["show_raw_agent_reasoning", true],
  ];
}

/** The same as arguments, but for the catalogue. */
function toOverrides(target: Target): string[] {
  const [model, provider] = toCodexModel(target);
  return toArguments([
    model,
    provider,
    ...toCodexProvider(target).map(([name, value]): TomlPair => [
      `${TABLE.join(".")}.${name}`,
      value,
    ]),
  ]);
}

function toArguments(pairs: readonly TomlPair[]): string[] {
  return pairs.flatMap(([name, value]) =>
    value === undefined ? [] : ["-c", `${name}=${JSON.stringify(value)}`],
  );
}
