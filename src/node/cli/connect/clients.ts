/** The settings of each client, for a gateway. To add a client, add its entry here and its page in `docs/clients/`. */
import { toCodexModels } from "../../../api/codex-catalogue.ts";
import type { Target } from "./target.ts";

export interface ClientSettings {
  /** Files below the home folder. */
  readonly files?: readonly { readonly path: string; readonly text: string }[];
  readonly variables?: Readonly<Record<string, string>>;
  /** Code, or lines to enter elsewhere. */
  readonly text?: string;
  /** The program that is started, with arguments before the user's. */
  readonly program?: readonly [string, ...string[]];
}

export interface ConnectedClient {
  readonly title: string;
  readonly settings: (target: Target) => ClientSettings;
}

const NO_KEY = "none";

export const CLIENTS: Readonly<Record<string, ConnectedClient>> = {
  codex: {
    title: "Codex",
    settings: (target) => ({
      files: [
        { path: ".codex/config.toml", text: toCodexConfig(target) },
        { path: ".codex/gpt-oss.json", text: toCodexCatalogue(target) },
      ],
      ...(target.key !== undefined && { variables: { HARMONY_GATEWAY_KEY: target.key } }),
      program: ["codex", ...toCodexOverrides(target)],
    }),
  },
  "claude-code": {
    title: "Claude Code",
    settings: (target) => ({ variables: toClaudeVariables(target), program: ["claude"] }),
  },
  opencode: {
    title: "opencode",
    settings: (target) => ({
      files: [{ path: ".config/opencode/opencode.json", text: toJson(toOpencode(target)) }],
      variables: { OPENCODE_CONFIG_CONTENT: JSON.stringify(toOpencode(target)) },
      program: ["opencode"],
    }),
  },
  continue: {
    title: "Continue",
    settings: (target) => ({
      files: [{ path: ".continue/config.yaml", text: toContinue(target) }],
    }),
  },
  "open-webui": {
    title: "Open WebUI",
    settings: ({ origin, key = NO_KEY }) => ({
      variables: {
        OPENAI_API_BASE_URL: `${origin}/v1`,
        OPENAI_API_KEY: key,
        ENABLE_OLLAMA_API: "false",
      },
    }),
  },
  python: {
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
  },
  typescript: {
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
  },
  anthropic: {
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
  },
};

export function toClaudeVariables({ origin, models, key }: Target): Record<string, string> {
  const [main] = models;
  const small = models.find(({ id }) => id !== main.id) ?? main;
  return {
    // Without /v1, which Claude Code appends.
    ANTHROPIC_BASE_URL: origin,
    ANTHROPIC_AUTH_TOKEN: key ?? NO_KEY,
    ANTHROPIC_MODEL: main.id,
    ANTHROPIC_DEFAULT_OPUS_MODEL: main.id,
    ANTHROPIC_DEFAULT_SONNET_MODEL: main.id,
    ANTHROPIC_DEFAULT_HAIKU_MODEL: small.id,
    // For unknown models, Claude Code assumes a million tokens and compacts too late.
    CLAUDE_CODE_MAX_CONTEXT_TOKENS: String(
      Math.min(...models.map(({ contextLength }) => contextLength)),
    ),
    // Its other traffic is for Anthropic's own servers.
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  };
}

function toCodexConfig({ origin, models: [model], key }: Target): string {
  return [
    `model = ${JSON.stringify(model.id)}`,
    'model_provider = "harmony-gateway"',
    'model_catalog_json = "~/.codex/gpt-oss.json"',
    "# The model's own reasoning, where the gateway shows it. Summaries have to be enabled in the gateway.",
    "show_raw_agent_reasoning = true",
    "",
    "[model_providers.harmony-gateway]",
    'name = "harmony-gateway"',
    `base_url = ${JSON.stringify(`${origin}/v1`)}`,
    'wire_api = "responses"',
    ...(key === undefined ? [] : ['env_key = "HARMONY_GATEWAY_KEY"']),
  ].join("\n");
}

/** The same as arguments, for a Codex that is started without its files being changed. */
function toCodexOverrides({ origin, models: [model], key }: Target): string[] {
  const provider = "model_providers.harmony-gateway";
  const values = {
    model: model.id,
    model_provider: "harmony-gateway",
    [`${provider}.name`]: "harmony-gateway",
    [`${provider}.base_url`]: `${origin}/v1`,
    [`${provider}.wire_api`]: "responses",
    ...(key !== undefined && { [`${provider}.env_key`]: "HARMONY_GATEWAY_KEY" }),
  };
  const context = ["-c", `model_context_window=${model.contextLength}`];
  return [
    ...Object.entries(values).flatMap(([name, value]) => [
      "-c",
      `${name}=${JSON.stringify(value)}`,
    ]),
    ...context,
  ];
}

function toCodexCatalogue({ models }: Target): string {
  return toJson({ models: toCodexModels(models) });
}

function toOpencode({ origin, models, key }: Target): object {
  const [main] = models;
  return {
    $schema: "https://opencode.ai/config.json",
    model: `gateway/${main.id}`,
    provider: {
      gateway: {
        npm: "@ai-sdk/openai-compatible",
        name: "harmony-gateway",
        options: { baseURL: `${origin}/v1`, ...(key !== undefined && { apiKey: key }) },
        models: Object.fromEntries(
          models.map(({ id, contextLength }) => [
            id,
            {
              name: id,
              limit: { context: contextLength, output: Math.min(32_768, contextLength) },
            },
          ]),
        ),
      },
    },
  };
}

/** YAML reads JSON's strings. */
function toContinue({ origin, models, key = NO_KEY }: Target): string {
  const entries = models.map(
    ({ id }) => `  - name: ${JSON.stringify(id)}
    provider: openai
    model: ${JSON.stringify(id)}
    apiBase: ${JSON.stringify(`${origin}/v1`)}
    apiKey: ${JSON.stringify(key)}
    roles: [chat, edit, apply]
    capabilities: [tool_use]`,
  );
  return `name: gateway\nversion: 1.0.0\nschema: v1\nmodels:\n${entries.join("\n")}`;
}

function toJson(value: unknown): string {
  return JSON.stringify(value, undefined, 2);
}
