/** Continue: its models are a list in YAML. */
import { type ConnectedClient, NO_KEY } from "../client-settings.ts";
import { insertYamlItems } from "../edit/yaml-list.ts";
import type { Target } from "../target.ts";

export const continueClient: ConnectedClient = {
  title: "Continue",
  settings: (target) => {
    const items = toItems(target);
    return {
      files: [
        {
          path: ".continue/config.yaml",
          text: insertYamlItems(
            "name: gateway\nversion: 1.0.0\nschema: v1\n",
            "models",
            items,
          ).trimEnd(),
          merge: (existing) => insertYamlItems(existing, "models", items),
        },
      ],
    };
  },
};

/** YAML reads JSON's strings. */
function toItems({ origin, models, key = NO_KEY }: Target): readonly (readonly string[])[] {
  return models.map(({ id, seesImages = false }) => [
    `name: ${JSON.stringify(id)}`,
    "provider: openai",
    `model: ${JSON.stringify(id)}`,
    `apiBase: ${JSON.stringify(`${origin}/v1`)}`,
    `apiKey: ${JSON.stringify(key)}`,
    "roles: [chat, edit, apply]",
    `capabilities: [tool_use${seesImages ? ", image_input" : ""}]`,
  ]);
}
