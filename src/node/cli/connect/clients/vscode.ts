/** VS Code's chat: a provider of the kind "Custom Endpoint", in the file that it keeps for language models. */
import { type ConnectedClient, NO_KEY, toJson } from "../client-settings.ts";
import { setJsonValues } from "../edit/json-text.ts";
import type { Target } from "../target.ts";

const NAME = "harmony-gateway";

export const vscode: ConnectedClient = {
  title: "VS Code's chat",
  settings: (target) => {
    const provider = toProvider(target);
    return {
      files: [
        {
          path: `${USER_FOLDERS.get(process.platform) ?? ".config"}/Code/User/chatLanguageModels.json`,
          text: toJson([provider]),
          merge: (existing) =>
            setJsonValues(existing, [{ path: [{ member: "name", is: NAME }], value: provider }]),
        },
      ],
    };
  },
};

/** Where programs keep a user's settings, if not in `.config`. */
const USER_FOLDERS = new Map<NodeJS.Platform, string>([
  ["darwin", "Library/Application Support"],
  ["win32", "AppData/Roaming"],
]);

/** VS Code asks for the value of an input once, and keeps it with its secrets. */
function toProvider({ origin, models, key }: Target): object {
  return {
    name: NAME,
    vendor: "customendpoint",
    apiKey: key === undefined ? NO_KEY : "${input:harmonyGatewayKey}",
    apiType: "chat-completions",
    models: models.map(({ id, contextLength, maxOutputTokens, seesImages = false }) => ({
      id,
      name: id.replace(/^openai\//, ""),
      url: `${origin}/v1/chat/completions`,
      toolCalling: true,
      vision: seesImages,
      thinking: true,
      supportsReasoningEffort: ["low", "medium", "high"],
      // VS Code adds them up to the context.
      maxInputTokens: contextLength - maxOutputTokens,
      maxOutputTokens,
    })),
  };
}
