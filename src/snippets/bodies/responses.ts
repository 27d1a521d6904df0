/** Bodies of Responses, without storage at the gateway. */
import {
  type AssistantPart,
  type Body,
  compact,
  type Composed,
  type ComposedMessage,
} from "../composed.ts";
import { readMessage, toContent, toResponsesPart } from "../attachments.ts";
import { contentText, members, number, objects, text } from "../read.ts";
import { readFormat } from "./chat.ts";
import { addParts, addResult, readComposed, readParallelCalls, toTools } from "./shared.ts";

export function toResponsesBody(composed: Composed): Body {
  const { model, system, messages, tools, options } = composed;
  const { effort, format, toolChoice } = options;
  const functions = tools.map((tool) => ({ type: "function", ...tool }));
  return compact({
    model,
    instructions: system || undefined,
    input: messages.flatMap((message) => toItems(message)),
    tools: toTools(functions, composed),
    tool_choice: typeof toolChoice === "object" ? { type: "function", ...toolChoice } : toolChoice,
    parallel_tool_calls: options.parallelCalls,
    reasoning: effort === undefined ? undefined : { effort },
    text: format && { format: toFormat(format) },
    temperature: options.temperature,
    top_p: options.topP,
    max_output_tokens: options.maxTokens,
    include: ["reasoning.encrypted_content", ...toIncluded(composed)],
    store: false,
  });
}

/** The values of `include`, without which calls that the gateway runs have no results. */
function toIncluded({ hosted = [] }: Composed): string[] {
  const types = hosted.map((tool) => text(members(tool)["type"]) ?? "");
  return [
    ...(types.some((type) => type.includes("search")) ? ["web_search_call.results"] : []),
    ...(types.includes("code_interpreter") ? ["code_interpreter_call.outputs"] : []),
  ];
}

function toFormat(format: NonNullable<Composed["options"]["format"]>): Body {
  if (format.type === "object") return { type: "json_object" };
  return { type: "json_schema", name: format.name, strict: true, schema: format.schema };
}

function toItems(message: ComposedMessage): Body[] {
  if (message.role === "user") {
    return [{ role: "user", content: toContent(message, "input_text", toResponsesPart) }];
  }
  const items: Body[] = [];
  const results: Body[] = [];
  for (const part of message.parts) {
    if (part.type !== "call") items.push(...results.splice(0));
    items.push(toItem(part));
    if (part.type === "call" && part.result !== undefined) {
      results.push({ type: "function_call_output", call_id: part.id, output: part.result });
    }
  }
  return [...items, ...results];
}

function toItem(part: AssistantPart): Body {
  switch (part.type) {
    case "reasoning":
      if (part.sealed?.api === "responses") return { ...part.sealed.value };
      return {
        type: "reasoning",
        summary: [],
        content: [{ type: "reasoning_text", text: part.text }],
      };
    case "text":
      return { role: "assistant", content: [{ type: "output_text", text: part.text }] };
    case "call":
      return {
        type: "function_call",
        call_id: part.id,
        name: part.name,
        arguments: part.arguments,
      };
    default:
      return part satisfies never;
  }
}

export function fromResponsesBody(body: Body): Composed {
  const messages: ComposedMessage[] = [];
  const system = [text(body["instructions"]) ?? ""];
  const { input } = body;
  if (typeof input === "string") messages.push({ role: "user", text: input });
  for (const item of objects(input)) addItem(messages, system, item);
  return readComposed(body, system, messages, {
    effort: text(members(body["reasoning"])["effort"]),
    maxTokens: number(body["max_output_tokens"]),
    format: readFormat(members(body["text"])["format"]),
    parallelCalls: readParallelCalls(body),
  });
}

function addItem(messages: ComposedMessage[], system: string[], item: Body): void {
  const content = contentText(item["content"]);
  switch (item["type"] ?? "message") {
    case "message":
      if (item["role"] === "assistant") addParts(messages, [{ type: "text", text: content }]);
      else if (item["role"] === "user") messages.push(readMessage(item["content"], content));
      else system.push(content);
      break;
    case "reasoning":
      addParts(messages, [
        {
          type: "reasoning",
          text: content || contentText(item["summary"]),
          ...(typeof item["encrypted_content"] === "string" && {
            sealed: { api: "responses", value: item },
          }),
        },
      ]);
      break;
    case "function_call":
      addParts(messages, [
        {
          type: "call",
          id: text(item["call_id"]) ?? "",
          name: text(item["name"]) ?? "",
          arguments: text(item["arguments"]) ?? "",
        },
      ]);
      break;
    case "function_call_output":
      addResult(messages, text(item["call_id"]), contentText(item["output"]));
      break;
    default:
  }
}
