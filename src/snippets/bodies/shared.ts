/** Common parts of the bodies of all APIs. */
import {
  type AssistantPart,
  type Body,
  compact,
  type Composed,
  type ComposedMessage,
} from "../composed.ts";
import { number, readToolChoice, readTools, text } from "../read.ts";

/** Undefined: there are no tools. */
export function toTools(
  functions: readonly object[],
  { hosted = [] }: Composed,
): readonly object[] | undefined {
  return functions.length + hosted.length === 0 ? undefined : [...functions, ...hosted];
}

/**
 * @param system texts of the system message
 * @param options options whose fields have other names in other APIs
 */
export function readComposed(
  body: Body,
  system: readonly string[],
  messages: readonly ComposedMessage[],
  options: Record<string, unknown>,
): Composed {
  const instructions = system.filter((each) => each !== "").join("\n\n");
  return {
    model: text(body["model"]) ?? "",
    ...(instructions !== "" && { system: instructions }),
    messages,
    ...readTools(body["tools"]),
    options: compact({
      temperature: number(body["temperature"]),
      topP: number(body["top_p"]),
      toolChoice: readToolChoice(body["tool_choice"]),
      ...options,
    }),
  };
}

/** Reads the field of OpenAI's APIs. */
export function readParallelCalls(body: Body): boolean | undefined {
  const given = body["parallel_tool_calls"];
  return typeof given === "boolean" ? given : undefined;
}

/** Adds parts to the last message if it is the assistant's: a loop of tool calls is one message. */
export function addParts(messages: ComposedMessage[], parts: readonly AssistantPart[]): void {
  const last = messages.at(-1);
  if (last?.role !== "assistant") messages.push({ role: "assistant", parts });
  else messages[messages.length - 1] = { ...last, parts: [...last.parts, ...parts] };
}

export function addResult(
  messages: ComposedMessage[],
  id: string | undefined,
  result: string,
): void {
  const last = messages.at(-1);
  if (last?.role !== "assistant") return;
  const parts = last.parts.map((part) =>
    part.type === "call" && part.id === id ? { ...part, result } : part,
  );
  messages[messages.length - 1] = { ...last, parts };
}
