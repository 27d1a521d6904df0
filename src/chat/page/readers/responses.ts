/** Reads the events of Responses. */
import { isObject, members, number, text } from "../../../snippets/read.ts";
import type { Draft, ReadEvent } from "./draft.ts";

export function readResponses(draft: Draft): ReadEvent {
  /** Ids of calls by those of their items. */
  const calls = new Map<string, string>();
  return (event) => {
    const type = text(event["type"]) ?? "";
    const delta = text(event["delta"]) ?? "";
    const item = members(event["item"]);
    switch (type) {
      case "response.output_item.added":
        if (item["type"] === "reasoning") draft.write("reasoning", "", true);
        if (item["type"] === "message") draft.write("text", "", true);
        if (item["type"] === "function_call") {
          const id = text(item["call_id"]) ?? "";
          calls.set(text(item["id"]) ?? "", id);
          draft.call(id, text(item["name"]) ?? "");
        }
        break;
      case "response.reasoning_text.delta":
      case "response.reasoning_summary_text.delta":
        draft.write("reasoning", delta);
        break;
      case "response.output_text.delta":
      case "response.refusal.delta":
        draft.write("text", delta);
        break;
      case "response.function_call_arguments.delta":
        draft.writeArguments(calls.get(text(event["item_id"]) ?? "") ?? "", delta);
        break;
      case "response.output_item.done":
        if (item["type"] === "reasoning" && typeof item["encrypted_content"] === "string") {
          draft.seal("responses", item);
        }
        break;
      case "error":
        draft.problem = text(event["message"]) ?? "The gateway reports an error.";
        break;
      default:
        if (isObject(event["response"])) readEnd(draft, type, event["response"]);
    }
  };
}

function readEnd(draft: Draft, type: string, response: Readonly<Record<string, unknown>>): void {
  if (!/^response\.(completed|incomplete|failed)$/.test(type)) return;
  const details = response["incomplete_details"];
  draft.finish =
    (isObject(details) ? text(details["reason"]) : undefined) ?? text(response["status"]);
  const { error, usage } = response;
  if (isObject(error)) draft.problem = text(error["message"]);
  if (!isObject(usage)) return;
  const input = members(usage["input_tokens_details"]);
  const output = members(usage["output_tokens_details"]);
  draft.usage = {
    input: number(usage["input_tokens"]) ?? 0,
    output: number(usage["output_tokens"]) ?? 0,
    cached: number(input["cached_tokens"]) ?? 0,
    reasoning: number(output["reasoning_tokens"]) ?? 0,
  };
}
