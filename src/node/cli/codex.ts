/** `harmony-gateway codex`: the configuration that points Codex at this gateway, and the catalogue of its models. */
import { toCodexModels } from "../../api/codex-catalogue.ts";
import { DEFAULT_MODEL, toBackends } from "../../config/backends.ts";
import type { Settings } from "../../config/settings.ts";

/** A `config.toml`. */
export function toCodexConfig(settings: Settings): string {
  const [model = DEFAULT_MODEL] = servedNames(settings);
  const host = /^(0\.0\.0\.0|::)$/.test(settings.host) ? "127.0.0.1" : settings.host;
  const address = `http://${host.includes(":") ? `[${host}]` : host}:${settings.port}/v1`;
  return [
    "# ~/.codex/config.toml. The catalogue is a file of its own:",
    "#   harmony-gateway codex catalog > ~/.codex/gpt-oss.json",
    `model = ${toToml(model)}`,
    'model_provider = "harmony-gateway"',
    'model_catalog_json = "~/.codex/gpt-oss.json"',
    "# The model's own reasoning, where the gateway shows it. Summaries have to be enabled in the gateway.",
    "show_raw_agent_reasoning = true",
    "",
    "[model_providers.harmony-gateway]",
    'name = "harmony-gateway"',
    `base_url = ${toToml(address)}`,
    'wire_api = "responses"',
    ...(settings.keys.length > 0
      ? ['env_key = "HARMONY_GATEWAY_KEY" # the variable with your key']
      : []),
  ].join("\n");
}

/** A `model_catalog.json`. */
export function toCodexCatalogue(settings: Settings): string {
  const backends = toBackends(settings);
  const models = servedNames(settings).map((id) => {
    const lengths = backends.flatMap(({ servedName, contextLength }) =>
      servedName === id && contextLength !== undefined ? [contextLength] : [],
    );
    return { id, contextLength: lengths.length > 0 ? Math.min(...lengths) : undefined };
  });
  return JSON.stringify({ models: toCodexModels(models) }, undefined, 2);
}

function servedNames(settings: Settings): string[] {
  return [...new Set(toBackends(settings).map(({ servedName }) => servedName))];
}

/** A basic string, whose escapes are those of JSON. */
function toToml(text: string): string {
  return JSON.stringify(text);
}
