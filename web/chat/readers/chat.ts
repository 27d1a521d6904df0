/** Parses the chunks of Chat Completions. */
import { isObject, members, number, objects, text } from "../../../src/snippets/read.ts";
import type { Draft, ReadEvent } from "./draft.ts";

export function readChat(draft: Draft): ReadEvent {
  /** Ids of calls by their index. */
  const calls = new Map<number, string>();
  return (chunk) => {
    if (isObject(chunk["usage"])) draft.usage = toUsage(chunk["usage"]);
    if (isObject(chunk["error"])) draft.problem = text(chunk["error"]["message"]);
    const [choice] = objects(chunk["choices"]);
    if (choice === undefined) return;
    draft.finish = text(choice["finish_reason"]) ?? draft.finish;
    const { delta } = choice;
    if (!isObject(delta)) return;
    draft.write("reasoning", text(delta["reasoning"]) ?? "");
    for (const detail of objects(delta["reasoning_details"])) {
      if (detail["type"] !== "reasoning.encrypted") continue;
      draft.write("reasoning", "", draft.parts.at(-1)?.type !== "reasoning");
      draft.seal("chat", [detail]);
    }
    draft.write("text", text(delta["content"]) ?? "");
    for (const call of objects(delta["executed_tools"])) {
      const label = text(call["server_label"]);
      const name = text(call["name"]) ?? text(call["type"]) ?? "";
      draft.ran(`${draft.parts.length} ${number(call["index"]) ?? 0}`, {
        name: label === undefined ? name : `${label}.${name}`,
        arguments: text(call["arguments"]) ?? "",
        result: text(call["output"]) ?? "",
      });
    }
    for (const call of objects(delta["tool_calls"])) {
      const index = number(call["index"]) ?? 0;
      const inner = members(call["function"]);
      const id = text(call["id"]);
      if (id !== undefined && !calls.has(index)) {
        calls.set(index, id);
        draft.call(id, text(inner["name"]) ?? "");
      }
      draft.writeArguments(calls.get(index) ?? "", text(inner["arguments"]) ?? "");
    }
  };
}

function toUsage(usage: Readonly<Record<string, unknown>>) {
  const prompt = members(usage["prompt_tokens_details"]);
  const details = members(usage["completion_tokens_details"]);
  return {
    input: number(usage["prompt_tokens"]) ?? 0,
    output: number(usage["completion_tokens"]) ?? 0,
    cached: number(prompt["cached_tokens"]) ?? 0,
    reasoning: number(details["reasoning_tokens"]) ?? 0,
  };
}
