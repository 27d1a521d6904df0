/** The AI SDK, with the provider of each API. */
import { isDocument, toContent } from "../attachments.ts";
import { fromBody } from "../bodies.ts";
import {
  type ApiName,
  type AssistantPart,
  type Attachment,
  type Body,
  compact,
  type Composed,
  type ComposedMessage,
  type SealedThought,
  toSteps,
} from "../composed.ts";
import { toTypeScript } from "../literals.ts";
import { ALL_APIS, type SnippetClient, type SnippetInput } from "../snippet.ts";
import { toKey } from "./sdk-typescript.ts";
import { Code, type Lacks, parseOr, toNote } from "./typed-code.ts";

interface Provider {
  readonly package: string;
  readonly create: string;
  /** The key of the provider's options. */
  readonly name: string;
  readonly settings: (origin: string) => Readonly<Record<string, unknown>>;
  readonly options: (options: Composed["options"]) => Readonly<Record<string, unknown>>;
  /** The token limit. Absent: as in the body. */
  readonly maxTokens?: (options: Composed["options"]) => number | undefined;
  readonly lacks: Lacks;
}

const PROVIDERS: Readonly<Record<ApiName, Provider>> = {
  chat: {
    package: "@ai-sdk/openai-compatible",
    create: "createOpenAICompatible",
    name: "gateway",
    settings: (origin) => ({
      name: "gateway",
      baseURL: `${origin}/v1`,
      supportsStructuredOutputs: true,
    }),
    options: ({ effort, budget, parallelCalls }) => ({
      reasoningEffort: budget === undefined ? effort : undefined,
      reasoning: budget === undefined ? undefined : { max_tokens: budget },
      parallel_tool_calls: parallelCalls,
    }),
    lacks: { reasoning: "sealed" },
  },
  responses: {
    package: "@ai-sdk/open-responses",
    create: "createOpenResponses",
    name: "gateway",
    settings: (origin) => ({ name: "gateway", url: `${origin}/v1/responses` }),
    options: ({ effort }) => ({ reasoningEffort: effort }),
    lacks: { options: ["parallelCalls"] },
  },
  messages: {
    package: "@ai-sdk/anthropic",
    create: "createAnthropic",
    name: "anthropic",
    settings: (origin) => ({ baseURL: `${origin}/v1` }),
    options: ({ effort, budget, parallelCalls, format }) => ({
      effort: budget === undefined ? effort : undefined,
      thinking:
        budget === undefined ? { type: "adaptive" } : { type: "enabled", budgetTokens: budget },
      disableParallelToolUse: parallelCalls === undefined ? undefined : !parallelCalls,
      structuredOutputMode: format === undefined ? undefined : "outputFormat",
    }),
    // The provider adds the budget to the limit.
    maxTokens: ({ maxTokens, budget = 0 }) => maxTokens && maxTokens - budget,
    // With thinking, the provider omits both options.
    lacks: { strict: true, reasoning: "unsealed", options: ["temperature", "topP"] },
  },
};

export const AI_SDK: SnippetClient = {
  id: "ai-sdk",
  label: "AI SDK",
  apis: ALL_APIS,
  make: (input) => {
    const { api, body } = input;
    const composed = fromBody(api, body);
    const provider = PROVIDERS[api];
    const note = toNote(composed, provider.lacks);
    return {
      language: "typescript",
      file: "request.mts",
      code: toCode(input, composed, provider),
      run: `npm install ai ${provider.package} && node request.mts`,
      ...(note !== undefined && { note }),
    };
  },
};

function toCode({ origin, key }: SnippetInput, composed: Composed, provider: Provider): string {
  const { tools, options, model } = composed;
  const names = [
    "generateText",
    ...(tools.some(({ parameters }) => parameters) || options.format?.type === "schema"
      ? ["jsonSchema"]
      : []),
    ...(options.format === undefined ? [] : ["Output"]),
    ...(tools.length > 0 ? ["tool"] : []),
  ];
  const settings = { ...provider.settings(origin), apiKey: new Code(toKey(key)) };
  return `import { ${provider.create} } from "${provider.package}";
import { ${names.join(", ")} } from "ai";

const gateway = ${provider.create}(${toTypeScript(settings)});
const { text${tools.length > 0 ? ", toolCalls" : ""} } = await generateText({
  model: gateway(${JSON.stringify(model)}),
${toMembers(composed, provider)}});
console.log(text${tools.length > 0 ? ", toolCalls" : ""});
`;
}

function toMembers(composed: Composed, provider: Provider): string {
  const { system, messages, tools, options } = composed;
  const providerOptions = compact(provider.options(options));
  const members = compact({
    instructions: system,
    messages: messages.flatMap((message) => toMessages(message)),
    tools:
      tools.length === 0
        ? undefined
        : Object.fromEntries(tools.map((tool) => [tool.name, toTool(tool)])),
    toolChoice:
      typeof options.toolChoice === "object"
        ? { type: "tool", toolName: options.toolChoice.name }
        : options.toolChoice,
    output: options.format && new Code(toOutput(options.format)),
    temperature: options.temperature,
    topP: options.topP,
    maxOutputTokens: provider.maxTokens ? provider.maxTokens(options) : options.maxTokens,
    stopSequences: options.stop,
    seed: options.seed,
    providerOptions:
      Object.keys(providerOptions).length === 0 ? undefined : { [provider.name]: providerOptions },
  });
  return Object.entries(members)
    .map(([name, value]) => `  ${name}: ${toTypeScript(value, "  ")},\n`)
    .join("");
}

function toTool({ description, parameters, strict }: Composed["tools"][number]): Code {
  const schema = toTypeScript(parameters ?? { type: "object", properties: {} }, "    ");
  const members = compact({ description, inputSchema: new Code(`jsonSchema(${schema})`), strict });
  return new Code(`tool(${toTypeScript(members, "    ")})`);
}

function toOutput(format: NonNullable<Composed["options"]["format"]>): string {
  if (format.type === "object") return "Output.json()";
  const { name, schema } = format;
  const members = { name, schema: new Code(`jsonSchema(${toTypeScript(schema, "    ")})`) };
  return `Output.object(${toTypeScript(members, "  ")})`;
}

function toMessages(message: ComposedMessage): object[] {
  if (message.role === "user") {
    return [{ role: "user", content: toContent(message, "text", toSdkPart) }];
  }
  return toSteps(message.parts).flatMap((step) => {
    const results = step.flatMap((part) =>
      part.type === "call" && part.result !== undefined
        ? [
            {
              type: "tool-result",
              toolCallId: part.id,
              toolName: part.name,
              output: { type: "text", value: part.result },
            },
          ]
        : [],
    );
    return [
      { role: "assistant", content: step.map((part) => toPart(part)) },
      ...(results.length > 0 ? [{ role: "tool", content: results }] : []),
    ];
  });
}

function toPart(part: AssistantPart): object {
  switch (part.type) {
    case "reasoning": {
      const providerOptions = part.sealed && toSealedOptions(part.sealed);
      return { type: "reasoning", text: part.text, ...(providerOptions && { providerOptions }) };
    }
    case "text":
      return { type: "text", text: part.text };
    case "call":
      return {
        type: "tool-call",
        toolCallId: part.id,
        toolName: part.name,
        input: parseOr(part.arguments),
      };
    default:
      return part satisfies never;
  }
}

/** The provider's options with content that is sent back unread. The provider of Chat Completions has no such option. */
function toSealedOptions({ api, value }: SealedThought): object | undefined {
  const member = (name: string): unknown => Reflect.get(value, name);
  if (api === "messages") {
    return { anthropic: compact({ signature: member("signature"), redactedData: member("data") }) };
  }
  if (api === "chat") return undefined;
  const encrypted = member("encrypted_content");
  return { gateway: compact({ itemId: member("id"), reasoningEncryptedContent: encrypted }) };
}

function toSdkPart(file: Attachment): Body {
  const [, mediaType = "image/*"] = /^data:([^;,]+)/.exec(file.url) ?? [];
  const filename = isDocument(file) ? file.name : undefined;
  return compact({ type: "file", mediaType, filename, data: file.url });
}
