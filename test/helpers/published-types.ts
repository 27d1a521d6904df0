/**
 * Checks replies against the TypeScript types that clients publish. The compiler reads each reply as a literal, so a
 * missing, mistyped or unknown member is a problem.
 */
import { execFile } from "node:child_process";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Deviations, withoutDeviations } from "./deviations.ts";
import { type Answer, toEvents } from "./openapi-check.ts";

const CHAT = ["Chat.ChatCompletion", "Chat.ChatCompletionChunk"];
const RESPONSES = ["Responses.Response", "Responses.ResponseStreamEvent"];

/** The types of a plain reply and of an event, for each operation. */
const TYPES: Readonly<Record<string, readonly string[]>> = {
  "post /v1/chat/completions": CHAT,
  "post /v1/responses": RESPONSES,
  "get /v1/responses/{id}": RESPONSES,
  "post /v1/responses/{id}/cancel": RESPONSES,
  "get /v1/responses/{id}/input_items": ["Responses.ResponseItemList"],
  "post /v1/responses/input_tokens": ["Responses.InputTokenCountResponse"],
  "post /v1/responses/compact": ["Responses.CompactedResponse"],
  "post /v1/conversations": ["Conversations.Conversation"],
  "get /v1/conversations/{id}": ["Conversations.Conversation"],
  "post /v1/conversations/{id}": ["Conversations.Conversation"],
  "delete /v1/conversations/{id}": ["Conversations.ConversationDeletedResource"],
  "get /v1/conversations/{id}/items": ["Conversations.ConversationItemList"],
  "post /v1/conversations/{id}/items": ["Conversations.ConversationItemList"],
  "get /v1/conversations/{id}/items/{item}": ["Conversations.ConversationItem"],
  "delete /v1/conversations/{id}/items/{item}": ["Conversations.Conversation"],
  "post /v1/messages": ["Messages.Message", "Messages.RawMessageStreamEvent"],
  "post /v1/messages/count_tokens": ["Messages.MessageTokensCount"],
};

const IMPORTS = `
import type { OpenAI } from "openai";
import type { Chat, Conversations, ErrorObject, Responses } from "openai/resources/index";
import type { ErrorResponse, Messages } from "@anthropic-ai/sdk/resources/index";
type OpenAIError = { error: ErrorObject };
`.trim();

/**
 * Members in addition to the types', by the end of their path; an object's name in it is its `type` or `object`, or the
 * member that holds it. Clients ignore them.
 */
const ADDITIONS: Readonly<Record<string, readonly string[]>> = {
  "OpenRouter's replies": [
    "chat.completion.provider",
    "chat.completion.chunk.provider",
    "choices.native_finish_reason",
    "message.reasoning",
    "message.reasoning_details",
    "delta.reasoning",
    "delta.reasoning_details",
    "delta.annotations",
    "usage.cost",
    "usage.is_byok",
    "usage.server_tool_use_details",
    "chat.completion.choices.message.function.index",
    "chat.completion.choices.message.custom.index",
    "response.function_call_arguments.done.name",
  ],
  "OpenRouter's errors": ["chat.completion.chunk.error", "choices.error", "error.metadata"],
  "DeepSeek's replies": ["message.reasoning_content", "delta.reasoning_content"],
  "Groq's replies": ["message.executed_tools", "delta.executed_tools"],
  "OpenAI's replies": [
    "custom_tool_call.status",
    "web_search_call.results",
    "delta.logprobs.bytes",
    "delta.logprobs.top_logprobs.bytes",
    "output_text.done.logprobs.bytes",
    "output_text.done.logprobs.top_logprobs.bytes",
    "output_tokens_details.tool_output_tokens",
  ],
  "Open Responses": [
    "response.presence_penalty",
    "response.frequency_penalty",
    "response.store",
    "ResponseStreamEvent.error.error",
  ],
};
const DEVIATIONS: Deviations = [
  [
    /'null' is not assignable to type 'ResponseUsage'/,
    "Open Responses requires it; OpenAI sends null too",
  ],
  [
    /^Responses.CompactedResponse .*"(input_text|developer)"/,
    "OpenAI's have messages of users too",
  ],
  [
    /^Responses.ResponseStreamEvent .*"response.reasoning.(delta|done)"/,
    "Open Responses' spelling",
  ],
  [/^Chat.ChatCompletion(Chunk)? .*"error"' is not assignable/, "OpenRouter's, beside an error"],
  [/^Messages.* type: "text"; text: string; }' is not/, "no citations: Anthropic leaves them out"],
];

const ADDED = Object.values(ADDITIONS).flat();

/** One line for each problem. */
export async function typeProblems(answers: readonly Answer[]): Promise<string[]> {
  const statements = new Set(answers.flatMap((answer) => toStatements(answer)));
  const lines = [...IMPORTS.split("\n"), ...statements];
  const diagnostics = await compile(lines.join("\n"));
  const problems = diagnostics.map(({ line, column, message }) => {
    const source = lines[line - 1] ?? "";
    const type = /: (\S+) =/.exec(source)?.[1];
    return `${type} ${message} At: ${source.slice(column - 1, column + 60)}`;
  });
  return withoutDeviations(problems, DEVIATIONS);
}

function toStatements(answer: Answer): string[] {
  return toTyped(answer).map(
    ({ type, value }) => `{ const value: ${type} = ${JSON.stringify(value)}; void value; }`,
  );
}

/** Each reply and event with the name of its type, and without additions. */
export function toTyped({ operation, status, type, body }: Answer): TypedValue[] {
  const isStream = type === "text/event-stream";
  const replyType = TYPES[operation]?.[isStream ? 1 : 0];
  if (replyType === undefined) return [];
  const errorType = operation.includes("/messages") ? "ErrorResponse" : "OpenAIError";
  return (isStream ? toEvents(body) : [body]).map((json) => {
    const value: object = JSON.parse(json);
    const isError = status !== 200 || (isStream && isErrorEvent(value));
    const name = isError ? errorType : replyType;
    return { type: name, value: toKnown(value, "reply", name) };
  });
}

export interface TypedValue {
  readonly type: string;
  readonly value: unknown;
}

/** An error event of Messages, or the one after the last chunk of Chat Completions. */
function isErrorEvent(value: object): boolean {
  return "error" in value && !("choices" in value || "sequence_number" in value);
}

/** The value without additions, and with the member that `openai` adds to a response. */
function toKnown(value: unknown, name: string, parents: string): unknown {
  if (Array.isArray(value)) return value.map((each) => toKnown(each, name, parents));
  if (typeof value !== "object" || value === null) return value;
  const { type, object }: { type?: unknown; object?: unknown } = value;
  // The type of an error is not its members' type.
  const kind = name === "error" ? undefined : (type ?? object);
  const path = `${parents}.${typeof kind === "string" ? kind : name}`;
  const members = Object.entries(value).filter(
    ([member]) => !ADDED.some((added) => `${path}.${member}`.endsWith(`.${added}`)),
  );
  if (object === "response" && "output" in value) members.push(["output_text", ""]);
  return Object.fromEntries(members.map(([member, each]) => [member, toKnown(each, member, path)]));
}

interface Diagnostic {
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

async function compile(source: string): Promise<Diagnostic[]> {
  const modules = fileURLToPath(new URL("../../node_modules", import.meta.url));
  const folder = await mkdtemp(join(tmpdir(), "published-types-"));
  try {
    await symlink(modules, join(folder, "node_modules"));
    await writeFile(join(folder, "replies.ts"), source);
    const options = "--noEmit --strict --exactOptionalPropertyTypes --skipLibCheck --pretty false";
    const args = [join(modules, ".bin/tsc"), ...options.split(" "), "replies.ts"];
    const output = await run(args, folder);
    return Array.from(
      output.matchAll(/^replies\.ts\((\d+),(\d+)\): error TS\d+: (.*)$/gm),
      ([, line, column, message = ""]) => ({ line: Number(line), column: Number(column), message }),
    );
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** The output of a program that may fail. */
function run(args: readonly string[], cwd: string): Promise<string> {
  return new Promise((resolve) => {
    execFile(process.execPath, args, { cwd, maxBuffer: 1e8 }, (_, output) => resolve(output));
  });
}
