/** Parses the events of Anthropic's Messages. */
import { isObject, members, number, objects, text } from "../../../src/snippets/read.ts";
import type { Draft, ReadEvent } from "./draft.ts";

export function readMessages(draft: Draft): ReadEvent {
  let call = "";
  return (event) => {
    const delta = members(event["delta"]);
    switch (event["type"]) {
      case "message_start":
        if (isObject(event["message"])) readUsage(draft, event["message"]["usage"]);
        break;
      case "content_block_start": {
        const block = members(event["content_block"]);
        if (block["type"] === "thinking") draft.write("reasoning", "", true);
        if (block["type"] === "redacted_thinking") {
          draft.write("reasoning", "", true);
          draft.seal("messages", block);
        }
        if (block["type"] === "text") draft.write("text", text(block["text"]) ?? "", true);
        if (block["type"] === "tool_use") {
          call = text(block["id"]) ?? "";
          draft.call(call, text(block["name"]) ?? "");
        }
        if (block["type"] === "server_tool_use") {
          call = text(block["id"]) ?? "";
          draft.ran(call, { name: text(block["name"]) ?? "" });
        }
        if (typeof block["tool_use_id"] === "string") {
          draft.ran(block["tool_use_id"], { result: toResult(block["content"]) });
        }
        break;
      }
      case "content_block_delta":
        draft.write("text", text(delta["text"]) ?? "");
        draft.write("reasoning", text(delta["thinking"]) ?? "");
        draft.writeArguments(call, text(delta["partial_json"]) ?? "");
        if (delta["type"] === "signature_delta") seal(draft, text(delta["signature"]) ?? "");
        break;
      case "message_delta":
        draft.finish = text(delta["stop_reason"]) ?? draft.finish;
        readUsage(draft, event["usage"]);
        break;
      case "error":
        if (isObject(event["error"])) draft.problem = text(event["error"]["message"]);
        break;
      default:
    }
  };
}

/** The readable parts of the result of a search, a page or code. */
function toResult(content: unknown): string {
  if (Array.isArray(content)) {
    return objects(content)
      .map(({ title, url }) => `${text(title) ?? ""} ${text(url) ?? ""}`)
      .join("\n");
  }
  const { stdout, content: document, error_code: code } = members(content);
  const { data } = members(members(document)["source"]);
  return text(code) ?? text(stdout) ?? text(data) ?? JSON.stringify(content);
}

/** Seals a thought, which is sent back with its text as one block. */
function seal(draft: Draft, signature: string): void {
  const thought = draft.parts.findLast((part) => part.type === "reasoning");
  if (thought === undefined) return;
  draft.seal("messages", { type: "thinking", thinking: thought.text, signature });
}

function readUsage(draft: Draft, usage: unknown): void {
  if (!isObject(usage)) return;
  const details = members(usage["output_tokens_details"]);
  const cached = number(usage["cache_read_input_tokens"]) ?? 0;
  draft.usage = {
    input: (number(usage["input_tokens"]) ?? 0) + cached,
    output: number(usage["output_tokens"]) ?? 0,
    cached,
    reasoning: number(details["thinking_tokens"]) ?? 0,
  };
}
