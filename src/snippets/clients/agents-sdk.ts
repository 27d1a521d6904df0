/** OpenAI's Agents SDK for TypeScript, over Chat Completions and Responses. */
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
} from "../composed.ts";
import { toTypeScript } from "../literals.ts";
import type { SnippetClient, SnippetInput } from "../snippet.ts";
import { toKey } from "./sdk-typescript.ts";
import { Code, toNote } from "./typed-code.ts";

export const AGENTS_SDK: SnippetClient = {
  id: "agents-sdk",
  label: "Agents SDK",
  apis: ["chat", "responses"],
  make: (input) => {
    const composed = fromBody(input.api, input.body);
    const note = toNote(composed, {
      reasoning: input.api === "responses" ? "unsealed" : "sealed",
    });
    return {
      language: "typescript",
      file: "request.mts",
      code: toCode(input, composed),
      run: "npm install @openai/agents openai && node request.mts",
      ...(note !== undefined && { note }),
    };
  },
};

function toCode({ origin, key, api }: SnippetInput, composed: Composed): string {
  const { tools } = composed;
  const model = api === "chat" ? "OpenAIChatCompletionsModel" : "OpenAIResponsesModel";
  const names = [
    "Agent",
    model,
    "run",
    "setTracingDisabled",
    ...(tools.length > 0 ? ["tool"] : []),
  ];
  const client = { baseURL: `${origin}/v1`, apiKey: new Code(toKey(key)) };
  return `import { ${names.join(", ")} } from "@openai/agents";
import OpenAI from "openai";

// Traces would go to OpenAI.
setTracingDisabled(true);

const client = new OpenAI(${toTypeScript(client)});
const agent = new Agent({
${toMembers(composed, model)}});
const result = await run(agent, ${toTypeScript(composed.messages.flatMap((message) => toItems(message, api)))}, { maxTurns: 1 });
console.log(result.finalOutput);
`;
}

function toMembers(composed: Composed, model: string): string {
  const { system, tools, options } = composed;
  const members = compact({
    name: "Assistant",
    instructions: system,
    model: new Code(`new ${model}(client, ${JSON.stringify(composed.model)})`),
    modelSettings: toSettings(options),
    outputType:
      options.format?.type === "schema"
        ? {
            type: "json_schema",
            name: options.format.name,
            strict: true,
            schema: options.format.schema,
          }
        : undefined,
    tools: tools.length === 0 ? undefined : tools.map((each) => toTool(each)),
  });
  return Object.entries(members)
    .map(([name, value]) => `  ${name}: ${toTypeScript(value, "  ")},\n`)
    .join("");
}

function toSettings(options: Composed["options"]): object | undefined {
  const { effort, budget, toolChoice, format, stop, seed } = options;
  const extra = compact({
    reasoning: budget === undefined ? undefined : { max_tokens: budget },
    response_format: format?.type === "object" ? { type: "json_object" } : undefined,
    stop,
    seed,
  });
  const settings = compact({
    temperature: options.temperature,
    topP: options.topP,
    maxTokens: options.maxTokens,
    parallelToolCalls: options.parallelCalls,
    toolChoice: typeof toolChoice === "object" ? toolChoice.name : toolChoice,
    reasoning: effort === undefined || budget !== undefined ? undefined : { effort },
    providerData: Object.keys(extra).length === 0 ? undefined : extra,
  });
  return Object.keys(settings).length === 0 ? undefined : settings;
}

function toTool({ name, description, parameters, strict }: Composed["tools"][number]): Code {
  const schema = parameters ?? { type: "object", properties: {} };
  const members = {
    name,
    description: description ?? "",
    parameters: schema,
    strict: strict ?? false,
    // Your own code goes here.
    execute: new Code("async (input) => JSON.stringify(input)"),
  };
  return new Code(`tool(${toTypeScript(members, "    ")})`);
}

function toItems(message: ComposedMessage, api: ApiName): object[] {
  if (message.role === "user") {
    return [{ role: "user", content: toContent(message, "input_text", toSdkPart) }];
  }
  const items: object[] = [];
  const results: object[] = [];
  for (const part of message.parts) {
    if (part.type !== "call") items.push(...results.splice(0));
    // Over Responses, the SDK sends the encrypted content of a thought only.
    const isEmpty = api === "responses" && part.type === "reasoning" && part.sealed === undefined;
    if (!isEmpty) items.push(toItem(part));
    if (part.type !== "call" || part.result === undefined) continue;
    const output = { type: "text", text: part.result };
    const { id: callId, name } = part;
    results.push({ type: "function_call_result", callId, name, status: "completed", output });
  }
  return [...items, ...results];
}

function toItem(part: AssistantPart): object {
  switch (part.type) {
    case "reasoning": {
      const sealed = part.sealed?.api === "responses" ? part.sealed.value : undefined;
      const encrypted = sealed && Reflect.get(sealed, "encrypted_content");
      return {
        type: "reasoning",
        content: [],
        rawContent: [{ type: "reasoning_text", text: part.text }],
        ...(sealed && {
          id: Reflect.get(sealed, "id"),
          providerData: { encrypted_content: encrypted },
        }),
      };
    }
    case "text":
      return {
        type: "message",
        role: "assistant",
        status: "completed",
        content: [{ type: "output_text", text: part.text }],
      };
    case "call":
      return {
        type: "function_call",
        callId: part.id,
        name: part.name,
        status: "completed",
        arguments: part.arguments,
      };
    default:
      return part satisfies never;
  }
}

function toSdkPart(file: Attachment): Body {
  const { name, url } = file;
  if (isDocument(file)) return { type: "input_file", filename: name, file: url };
  return { type: "input_image", image: url };
}
