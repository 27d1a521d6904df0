/** Conversations as files: Markdown, JSON as a request of the chosen API, and OpenChatML. */
import { saveFile } from "../shared/save-file.ts";
import { fromBody, toBody } from "../../src/snippets/bodies.ts";
import type { ApiName, Body, Composed } from "../../src/snippets/composed.ts";
import { isObject } from "../../src/snippets/read.ts";
import { restore } from "./actions.ts";
import { toComposed } from "./compose.ts";
import {
  add,
  type Answer,
  type Conversation,
  type Message,
  newConversation,
  newId,
  toPath,
  toTitle,
} from "./conversation.ts";
import { fromMarkdown, toMarkdown } from "./markdown-file.ts";
import { state, update } from "./state.ts";

/** Maximum size of a file: the files of a message, and text. */
const MAX_BYTES = 25_000_000;
const MAX_MESSAGES = 2_000;

export function exportJson(): void {
  const { current } = state;
  try {
    const body = toBody(current.api, toComposed(current, toPath(current)));
    save(current, "json", JSON.stringify(body, undefined, 2));
  } catch (error) {
    update({ notice: error instanceof Error ? error.message : String(error) });
  }
}

export async function exportOpenChatML(): Promise<void> {
  const { current } = state;
  const path = toPath(current);
  try {
    const { toOpenChatML } = await import("./to-openchatml.ts");
    const { text, left } = toOpenChatML(toComposed(current, path));
    const parts = path.flatMap((message) => (message.role === "user" ? [] : message.parts));
    const hasRun = parts.some(({ type }) => type === "ran");
    const lost = [...left, ...(hasRun ? ["calls that the gateway has run"] : [])];
    save(current, "openchatml", text);
    if (lost.length > 0) update({ notice: `OpenChatML leaves out: ${lost.join("; ")}.` });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    update({ notice: `This chat cannot be written as OpenChatML: ${reason}` });
  }
}

export function exportMarkdown(): void {
  const { current } = state;
  save(current, "md", toMarkdown(current));
}

export async function importFile(file: File): Promise<void> {
  try {
    if (file.size > MAX_BYTES) throw new Error("it is larger than 25 MB");
    const text = await file.text();
    if (file.name.endsWith(".md")) await restore(fromMarkdownFile(text));
    else await restore(fromRequest(JSON.parse(text)));
  } catch (error) {
    const reason =
      error instanceof SyntaxError ? "it is not JSON" : error instanceof Error ? error.message : "";
    update({ notice: `“${file.name}” was not imported: ${reason}.` });
  }
}

function fromMarkdownFile(text: string): Conversation {
  const { messages, ...title } = fromMarkdown(text);
  const composed = { model: "", messages, tools: [], options: {} };
  return { ...toConversation(state.current.api, composed), ...title };
}

/** @throws Error with the reason if the value is not a conversation */
export function fromRequest(value: unknown): Conversation {
  if (!isObject(value)) throw new Error("it is not a request");
  const api = apiOf(value);
  if (api === undefined) throw new Error("it has neither messages nor an input");
  const composed = fromBody(api, value);
  if (composed.messages.length === 0) throw new Error("it has no messages");
  if (composed.messages.length > MAX_MESSAGES)
    throw new Error(`it has more than ${MAX_MESSAGES} messages`);
  return toConversation(api, composed);
}

/** The API of a body. Anthropic's has a limit, or content that OpenAI's lacks. */
function apiOf(body: Body): ApiName | undefined {
  if (body["input"] !== undefined) return "responses";
  if (!Array.isArray(body["messages"])) return undefined;
  const isAnthropic =
    body["system"] !== undefined ||
    body["stop_sequences"] !== undefined ||
    body["output_config"] !== undefined ||
    /"(tool_use|tool_result|input_schema|thinking)"/.test(JSON.stringify(body));
  return isAnthropic || hasOnlyLimit(body) ? "messages" : "chat";
}

function hasOnlyLimit(body: Body): boolean {
  const names = Object.keys(body).filter((name) => name !== "stream");
  return (
    names.length === 3 && ["model", "max_tokens", "messages"].every((name) => names.includes(name))
  );
}

function toConversation(api: ApiName, composed: Composed): Conversation {
  const { format, ...options } = composed.options;
  const tools = [
    ...composed.tools.map((tool) => ({ type: "function", ...tool })),
    ...(composed.hosted ?? []),
  ];
  let conversation: Conversation = {
    ...newConversation(),
    api,
    ...(composed.model !== "" && { model: composed.model }),
    system: composed.system ?? "",
    tools: tools.length === 0 ? "" : JSON.stringify(tools, undefined, 2),
    options,
    format: format?.type ?? "",
    schema: format?.type === "schema" ? JSON.stringify(format.schema, undefined, 2) : "",
  };
  let parent: string | null = null;
  for (const message of composed.messages) {
    const next = toMessage(message, parent, api, composed.model);
    conversation = add(conversation, next);
    parent = next.id;
  }
  const first = composed.messages.find(({ role }) => role === "user");
  return { ...conversation, title: toTitle(first?.role === "user" ? first.text : "") };
}

function toMessage(
  message: Composed["messages"][number],
  parent: string | null,
  api: ApiName,
  model: string,
): Message {
  const id = newId();
  if (message.role === "user") return { id, parent, ...message };
  return {
    id,
    parent,
    role: "assistant",
    parts: message.parts,
    api,
    model,
    status: "done",
  } satisfies Answer;
}

function save({ title }: Conversation, ending: string, text: string): void {
  const name = title.replaceAll(/[^\p{L}\p{N}-]+/gu, "-").slice(0, 60) || "chat";
  saveFile(`${name}.${ending}`, new Blob([text]));
}
