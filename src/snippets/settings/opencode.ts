/** The configuration of opencode: a provider with the gateway's models. */
import type { SettingsTarget } from "./settings-target.ts";

export function toOpencodeSettings({ origin, models, key }: SettingsTarget) {
  return {
    $schema: "https://opencode.ai/config.json",
    model: `gateway/${models[0].id}`,
    provider: {
      gateway: {
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
      },
    },
  };
}
