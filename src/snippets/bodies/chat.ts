/** Bodies of Chat Completions. */
import {
  type AssistantPart,
  type Body,
  compact,
  type Composed,
  type ComposedFormat,
  type ComposedMessage,
  SCHEMA_NAME,
  toSteps,
} from "../composed.ts";
import { readMessage, toChatPart, toContent } from "../attachments.ts";
import { contentText, isObject, members, number, objects, strings, text } from "../read.ts";
import { addParts, addResult, readComposed, readParallelCalls, toTools } from "./shared.ts";

export function toChatBody(composed: Composed): Body {
  const { model, system, messages, tools, options } = composed;
  const { effort, budget, format, toolChoice } = options;
  const functions = tools.map((tool) => ({ type: "function", function: { ...tool } }));
  return compact({
    model,
    messages: [
      ...(system ? [{ role: "system", content: system }] : []),
      ...messages.flatMap((message) => toMessages(message)),
    ],
    tools: toTools(functions, composed),
    tool_choice:
      typeof toolChoice === "object" ? { type: "function", function: toolChoice } : toolChoice,
    parallel_tool_calls: options.parallelCalls,
    reasoning_effort: budget === undefined ? effort : undefined,
    reasoning: budget === undefined ? undefined : { max_tokens: budget },
    response_format: format && toChatFormat(format),
    temperature: options.temperature,
    top_p: options.topP,
    max_completion_tokens: options.maxTokens,
    stop: options.stop,
    seed: options.seed,
  });
}

export function toChatFormat(format: ComposedFormat): Body {
  if (format.type === "object") return { type: "json_object" };
  const { name, schema } = format;
  return { type: "json_schema", json_schema: { name, strict: true, schema } };
}

function toMessages(message: ComposedMessage): Body[] {
  if (message.role === "user") {
    return [{ role: "user", content: toContent(message, "text", toChatPart) }];
  }
  return toSteps(message.parts).flatMap((step) => {
    const calls = step.filter((part) => part.type === "call");
    const thoughts = step.filter((part) => part.type === "reasoning");
    const sealed = thoughts.flatMap((part) =>
      part.sealed?.api === "chat" ? part.sealed.value : [],
    );
    const reasoning = thoughts.map((part) => part.text).join("\n");
    const content = step.flatMap((part) => (part.type === "text" ? part.text : [])).join("");
    return [
      compact({
        role: "assistant",
        content: content === "" && calls.length > 0 ? null : content,
        reasoning: sealed.length > 0 || reasoning === "" ? undefined : reasoning,
        reasoning_details: sealed.length > 0 ? sealed : undefined,
        tool_calls:
          calls.length === 0
            ? undefined
            : calls.map((call) => ({
                id: call.id,
                type: "function",
                function: { name: call.name, arguments: call.arguments },
              })),
      }),
      ...calls.flatMap((call) =>
        call.result === undefined
          ? []
          : [{ role: "tool", tool_call_id: call.id, content: call.result }],
      ),
    ];
  });
}

export function fromChatBody(body: Body): Composed {
  const messages: ComposedMessage[] = [];
  const system: string[] = [];
  for (const message of objects(body["messages"])) {
    const content = contentText(message["content"]);
    switch (message["role"]) {
      case "system":
      case "developer":
        system.push(content);
        break;
      case "assistant":
        addParts(messages, toParts(message));
        break;
      case "tool":
        addResult(messages, text(message["tool_call_id"]), content);
        break;
      default:
        messages.push(readMessage(message["content"], content));
    }
  }
  const reasoning = members(body["reasoning"]);
  return readComposed(body, system, messages, {
    effort: text(body["reasoning_effort"]) ?? text(reasoning["effort"]),
    budget: number(reasoning["max_tokens"]),
    maxTokens: number(body["max_completion_tokens"]) ?? number(body["max_tokens"]),
    stop: strings(body["stop"]),
    seed: number(body["seed"]),
    format: readFormat(body["response_format"]),
    parallelCalls: readParallelCalls(body),
  });
}

/** The format of Chat Completions, whose schema is one level deeper, or of Responses. */
export function readFormat(value: unknown): Composed["options"]["format"] {
  if (!isObject(value)) return undefined;
  if (value["type"] === "json_object") return { type: "object" };
  const inner = isObject(value["json_schema"]) ? value["json_schema"] : value;
  if (value["type"] !== "json_schema" || !isObject(inner["schema"])) return undefined;
  return { type: "schema", name: text(inner["name"]) ?? SCHEMA_NAME, schema: inner["schema"] };
}

function toParts(message: Body): AssistantPart[] {
  const details = objects(message["reasoning_details"]);
  const isSealed = details.some(({ type }) => type === "reasoning.encrypted");
  const thought =
    text(message["reasoning"]) ??
    text(message["reasoning_content"]) ??
    details.map((each) => text(each["text"]) ?? "").join("");
  const content = contentText(message["content"]);
  return [
    ...(thought === "" && !isSealed
      ? []
      : [
          {
            type: "reasoning" as const,
            text: thought,
            ...(isSealed && { sealed: { api: "chat" as const, value: details } }),
          },
        ]),
    ...(content === "" ? [] : [{ type: "text", text: content } as const]),
    ...objects(message["tool_calls"]).map((call) => {
      const inner = members(call["function"]);
      return {
        type: "call" as const,
        id: text(call["id"]) ?? "",
        name: text(inner["name"]) ?? "",
        arguments: text(inner["arguments"]) ?? "",
      };
    }),
  ];
}
