/** Qwen Code: an OpenAI-compatible server in its settings. */
import { type ConnectedClient, NO_KEY, toJson } from "../client-settings.ts";
import { setJsonValues } from "../edit/json-text.ts";

export const qwenCode: ConnectedClient = {
  title: "Qwen Code",
  settings: ({ origin, key = NO_KEY, models: [model] }) => {
    const auth = { selectedType: "openai", apiKey: key, baseUrl: `${origin}/v1` };
    return {
      files: [
        {
          path: ".qwen/settings.json",
          text: toJson({ security: { auth }, model: { name: model.id } }),
          merge: (existing) =>
            setJsonValues(existing, [
              ...Object.entries(auth).map(([name, value]) => ({
                path: ["security", "auth", name],
                value,
              })),
              { path: ["model", "name"], value: model.id },
            ]),
        },
      ],
    };
  },
};
