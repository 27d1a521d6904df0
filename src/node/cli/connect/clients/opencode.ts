/** opencode: a provider in its configuration. */
import { toOpencodeSettings } from "../../../../snippets/settings/opencode.ts";
import { type ConnectedClient, toJson } from "../client-settings.ts";
import { setJsonValues } from "../edit/json-text.ts";

export const opencode: ConnectedClient = {
  title: "opencode",
  settings: (target) => {
    const settings = toOpencodeSettings(target);
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
