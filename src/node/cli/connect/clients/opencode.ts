/** opencode: a provider in its configuration. */
import { type ConnectedClient, toJson } from "../client-settings.ts";
import { setJsonValues } from "../edit/json-text.ts";
import type { Target } from "../target.ts";

export const opencode: ConnectedClient = {
  title: "opencode",
  settings: (target) => {
    const settings = {
      $schema: "https://opencode.ai/config.json",
      model: `gateway/${target.models[0].id}`,
      provider: { gateway: toProvider(target) },
    };
    return {
      files: [
        {
          path: ".config/opencode/opencode.json",
          alternative: ".config/opencode/opencode.jsonc",
          text: toJson(settings),
          merge: (existing) =>
            setJsonValues(existing, [
              // opencode would add it, as the first member.
              { path: ["$schema"], value: settings.$schema },
              { path: ["model"], value: settings.model },
              { path: ["provider", "gateway"], value: settings.provider.gateway },
            ]),
        },
      ],
      start: {
        command: ["opencode"],
        variables: { OPENCODE_CONFIG_CONTENT: JSON.stringify(settings) },
      },
    };
  },
};

function toProvider({ origin, models, key }: Target): object {
  return {
    npm: "@ai-sdk/openai-compatible",
    name: "harmony-gateway",
    options: { baseURL: `${origin}/v1`, ...(key !== undefined && { apiKey: key }) },
    models: Object.fromEntries(
      models.map(({ id, contextLength, maxOutputTokens, seesImages }) => [
        id,
        {
          name: id,
          ...(seesImages && {
            attachment: true,
            modalities: { input: ["text", "image"], output: ["text"] },
          }),
          limit: { context: contextLength, output: maxOutputTokens },
        },
      ]),
    ),
  };
}
