/** Bodies of Anthropic's Messages. */
import {
  type AssistantPart,
  type Body,
  compact,
  type Composed,
  type ComposedMessage,
  SCHEMA_NAME,
  toSteps,
} from "../composed.ts";
import { readMessage, toContent, toMessagesPart } from "../attachments.ts";
import { contentText, isObject, members, number, objects, strings, text } from "../read.ts";
import { addParts, addResult, readComposed, toTools } from "./shared.ts";

/** Default of the token limit, which the API requires. */
const DEFAULT_MAX_TOKENS = 16_384;

export function toMessagesBody(composed: Composed): Body {
  const { model, system, messages, tools, options } = composed;
  const { effort, budget, format } = options;
  const functions = tools.map(({ name, description, parameters, strict }) =>
    compact({
      name,
      description,
      input_schema: parameters ?? { type: "object", properties: {} },
      strict,
    }),
  );
  const config = compact({
    effort: budget === undefined ? effort : undefined,
    format: format?.type === "schema" ? { type: "json_schema", schema: format.schema } : undefined,
  });
  return compact({
    model,
    max_tokens: options.maxTokens ?? DEFAULT_MAX_TOKENS,
    system: system || undefined,
    messages: messages.flatMap((message) => toMessages(message)),
    tools: toTools(functions, composed),
    tool_choice: toChoice(options),
    // Without this field the API returns no reasoning.
    thinking:
      budget === undefined ? { type: "adaptive" } : { type: "enabled", budget_tokens: budget },
    output_config: Object.keys(config).length > 0 ? config : undefined,
    temperature: options.temperature,
    top_p: options.topP,
    stop_sequences: options.stop,
  });
}

function toChoice({ toolChoice, parallelCalls }: Composed["options"]): Body | undefined {
  const parallel = parallelCalls === undefined ? {} : { disable_parallel_tool_use: !parallelCalls };
  if (toolChoice === undefined) {
    return parallelCalls === undefined ? undefined : { type: "auto", ...parallel };
  }
  if (typeof toolChoice === "object") return { type: "tool", ...toolChoice, ...parallel };
  if (toolChoice === "none") return { type: "none" };
  return { type: toolChoice === "required" ? "any" : "auto", ...parallel };
}

function toMessages(message: ComposedMessage): Body[] {
  if (message.role === "user") {
    return [{ role: "user", content: toContent(message, "text", toMessagesPart) }];
  }
  return toSteps(message.parts).flatMap((step) => {
    const results = step.flatMap((part) =>
      part.type === "call" && part.result !== undefined
        ? [{ type: "tool_result", tool_use_id: part.id, content: part.result }]
        : [],
    );
    return [
      { role: "assistant", content: step.map((part) => toBlock(part)) },
      ...(results.length > 0 ? [{ role: "user", content: results }] : []),
    ];
  });
}

function toBlock(part: AssistantPart): Body {
  switch (part.type) {
    case "reasoning":
      if (part.sealed?.api === "messages") return { ...part.sealed.value };
      return { type: "thinking", thinking: part.text, signature: "" };
    case "text":
      return { type: "text", text: part.text };
    case "call":
      return { type: "tool_use", id: part.id, name: part.name, input: toInput(part.arguments) };
    default:
      return part satisfies never;
  }
}

/** The input of a call, which the API requires to be an object. Other arguments are wrapped in one. */
function toInput(given: string): unknown {
  try {
    const value: unknown = JSON.parse(given || "{}");
    return isObject(value) ? value : { input: value };
  } catch {
    return { input: given };
  }
}

export function fromMessagesBody(body: Body): Composed {
  const messages: ComposedMessage[] = [];
  const system = [contentText(body["system"])];
  for (const message of objects(body["messages"])) addMessage(messages, system, message);
  const config = members(body["output_config"]);
  const thinking = members(body["thinking"]);
  const { schema } = members(config["format"]);
  const disabled = members(body["tool_choice"])["disable_parallel_tool_use"];
  return readComposed(body, system, messages, {
    effort: text(config["effort"]),
    budget: thinking["type"] === "enabled" ? number(thinking["budget_tokens"]) : undefined,
    maxTokens: number(body["max_tokens"]),
    stop: strings(body["stop_sequences"]),
    format: isObject(schema) ? { type: "schema", name: SCHEMA_NAME, schema } : undefined,
    parallelCalls: typeof disabled === "boolean" ? !disabled : undefined,
  });
}

function addMessage(messages: ComposedMessage[], system: string[], message: Body): void {
  const { content, role } = message;
  if (role === "system") {
    system.push(contentText(content));
  } else if (role === "assistant") {
    const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
    addParts(
      messages,
      objects(blocks).flatMap((block) => toPart(block) ?? []),
    );
  } else {
    for (const block of objects(content)) {
      if (block["type"] !== "tool_result") continue;
      addResult(messages, text(block["tool_use_id"]), contentText(block["content"]));
    }
    const said = readMessage(content, contentText(content));
    if (said.text !== "" || said.files) messages.push(said);
  }
}

function toPart(block: Body): AssistantPart | undefined {
  switch (block["type"]) {
    case "thinking":
    case "redacted_thinking":
      return {
        type: "reasoning",
        text: text(block["thinking"]) ?? "",
        ...(isSealed(block) && { sealed: { api: "messages", value: block } }),
      };
    case "text":
      return { type: "text", text: text(block["text"]) ?? "" };
    case "tool_use":
      return {
        type: "call",
        id: text(block["id"]) ?? "",
        name: text(block["name"]) ?? "",
        arguments: JSON.stringify(block["input"] ?? {}),
      };
    default:
      return undefined;
  }
}

function isSealed(block: Body): boolean {
  return Boolean(block["signature"]) || Boolean(block["data"]);
}
