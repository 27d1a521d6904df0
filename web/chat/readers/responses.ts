/** Parses the events of Responses. */
import type { Body } from "../../../src/snippets/composed.ts";
import { isObject, members, number, objects, text } from "../../../src/snippets/read.ts";
import type { Draft, ReadEvent } from "./draft.ts";

export function readResponses(draft: Draft): ReadEvent {
  /** Ids of calls by the ids of their items. */
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
        readRan(draft, item);
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
        readRan(draft, item);
        break;
      case "error":
        draft.problem = text(event["message"]) ?? "The gateway reports an error.";
        break;
      default:
        if (isObject(event["response"])) readEnd(draft, type, event["response"]);
    }
  };
}

interface Ran {
  readonly name: string;
  readonly given: unknown;
  readonly result: unknown;
}

/** Name, arguments and result of each type of call that the gateway runs. */
const RAN: ReadonlyMap<string, (item: Body) => Ran> = new Map([
  ["web_search_call", readSearch],
  ["code_interpreter_call", readCode],
  ["mcp_call", readMcp],
  [
    "mcp_approval_request",
    (item: Body) => ({
      ...readMcp(item),
      result: "This server wants an approval, which this page does not give.",
    }),
  ],
]);

function readSearch({ action, results }: Body): Ran {
  const { type, sources: _, ...given } = members(action);
  const found = objects(results).map(({ title, url }) => `${text(title) ?? ""} ${text(url) ?? ""}`);
  return { name: text(type) ?? "search", given, result: found.join("\n").trim() };
}

function readCode({ code, outputs }: Body): Ran {
  const written = objects(outputs).map(({ logs }) => text(logs) ?? "[image]");
  return { name: "python", given: code, result: written.join("\n") };
}

function readMcp({ server_label: label, name, arguments: given, output, error }: Body): Ran {
  return { name: `${text(label)}.${text(name)}`, given, result: output ?? error };
}

function readRan(draft: Draft, item: Body): void {
  const read = RAN.get(text(item["type"]) ?? "");
  if (read === undefined) return;
  const { name, given, result } = read(item);
  const isDone = item["status"] !== "in_progress";
  draft.ran(text(item["id"]) ?? "", {
    name,
    arguments: toText(given),
    ...(isDone && { result: toText(result) }),
  });
}

function toText(value: unknown): string {
  return typeof value === "string" ? value : value == null ? "" : JSON.stringify(value);
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
