/** The clients by name. To add one, describe it here, and write its section in `docs/clients.md`. */
import { type ConnectedClient, NO_KEY, toJson } from "./client-settings.ts";
import { toClaudeCodeVariables } from "../../../snippets/settings/claude-code.ts";
import { setJsonValues } from "./edit/json-text.ts";
import { CODEX_PROVIDER, toCodexModel, toCodexProvider } from "../../../snippets/settings/codex.ts";
import { KEY_VARIABLE } from "../../../snippets/snippet.ts";
import { toCodexModels } from "../../../api/codex-catalogue.ts";
import { mergeToml, type TomlPair } from "./edit/toml-text.ts";
import type { Target } from "./target.ts";
import { insertYamlItems } from "./edit/yaml-list.ts";
import { toOpencodeSettings } from "../../../snippets/settings/opencode.ts";

/** VS Code's chat: a provider of the kind "Custom Endpoint", in its file for language models. */
const NAME = "harmony-gateway";

const vscode: ConnectedClient = {
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

/** Folders for user settings on systems where programs do not use `.config`. */
const USER_FOLDERS = new Map<NodeJS.Platform, string>([
  ["darwin", "Library/Application Support"],
  ["win32", "AppData/Roaming"],
]);

/** VS Code asks for the value of an input once, and stores it with its secrets. */
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
      // VS Code adds both limits up to the context length.
      maxInputTokens: contextLength - maxOutputTokens,
      maxOutputTokens,
    })),
  };
}

/** The vendors' SDKs: a program of a few lines each. */
const python: ConnectedClient = {
  title: "OpenAI's SDK for Python",
  settings: ({ origin, key = NO_KEY, models: [model] }) => ({
    text: `from openai import OpenAI

client = OpenAI(base_url=${JSON.stringify(`${origin}/v1`)}, api_key=${JSON.stringify(key)})
answer = client.chat.completions.create(
    model=${JSON.stringify(model.id)},
    messages=[{"role": "user", "content": "Hello!"}],
)
print(answer.choices[0].message.content)`,
  }),
};

const typescript: ConnectedClient = {
  title: "OpenAI's SDK for TypeScript",
  settings: ({ origin, key = NO_KEY, models: [model] }) => ({
    text: `import OpenAI from "openai";

const client = new OpenAI({ baseURL: ${JSON.stringify(`${origin}/v1`)}, apiKey: ${JSON.stringify(key)} });
const answer = await client.chat.completions.create({
  model: ${JSON.stringify(model.id)},
  messages: [{ role: "user", content: "Hello!" }],
});
console.log(answer.choices[0]?.message.content);`,
  }),
};

const anthropic: ConnectedClient = {
  title: "Anthropic's SDK for TypeScript",
  settings: ({ origin, key = NO_KEY, models: [model] }) => ({
    text: `import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic({ baseURL: ${JSON.stringify(origin)}, apiKey: ${JSON.stringify(key)} });
const answer = await client.messages.create({
  model: ${JSON.stringify(model.id)},
  max_tokens: 4096,
  messages: [{ role: "user", content: "Hello!" }],
});
console.log(answer.content);`,
  }),
};

/** Qwen Code: an OpenAI-compatible server in its settings. */
const qwenCode: ConnectedClient = {
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

/** opencode: a provider in its configuration. */
const opencode: ConnectedClient = {
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
              // opencode would add the schema as the first member.
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

/** Open WebUI: it loads the list of models from the gateway. */
const openWebUi: ConnectedClient = {
  title: "Open WebUI",
  settings: ({ origin, key = NO_KEY }) => ({
    variables: {
      OPENAI_API_BASE_URL: `${origin}/v1`,
      OPENAI_API_KEY: key,
      ENABLE_OLLAMA_API: "false",
    },
  }),
};

/** Continue: its models are a list in YAML. */
const continueClient: ConnectedClient = {
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

/** Lines of YAML for the models. JSON strings are valid YAML. */
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

/** Codex: a provider and a model in its configuration, and a catalogue of the models beside it. */
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
    // Shows the model's own reasoning, where the gateway returns it.
    ["show_raw_agent_reasoning", true],
  ];
}

/** The settings as arguments, except the catalogue. */
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

/** Claude Code: variables, which its settings file can hold too. */
export const claudeCode: ConnectedClient = {
  title: "Claude Code",
  settings: (target) => {
    const variables = toClaudeCodeVariables(target);
    return {
      variables,
      files: [
        {
          path: ".claude/settings.json",
          text: toJson({ env: variables }),
          merge: (existing) =>
            setJsonValues(
              existing,
              Object.entries(variables).map(([name, value]) => ({ path: ["env", name], value })),
            ),
        },
      ],
      start: { command: ["claude"], variables },
    };
  },
};

export const CLIENTS: Readonly<Record<string, ConnectedClient>> = {
  codex,
  "claude-code": claudeCode,
  opencode,
  continue: continueClient,
  "qwen-code": qwenCode,
  vscode,
  "open-webui": openWebUi,
  python,
  typescript,
  anthropic,
};
