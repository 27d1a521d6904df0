/** Requests that are refused after their fields have been read, and the exact message of each. */
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { createBrowsingApp, MODEL } from "../helpers/browsing-app.ts";
import { scriptedEngine } from "../helpers/scripted-engine.ts";

const ANSWER = "<|channel|>final<|message|>Hi.<|return|>";
const failure = z.object({ error: z.looseObject({ message: z.string() }) });

const identified = z.object({ id: z.string() });

type App = ReturnType<typeof createBrowsingApp>;

function createApp(settings: Readonly<Record<string, unknown>> = {}): App {
  return createBrowsingApp({ engine: scriptedEngine(() => ANSWER), toolbox: {}, settings });
}

async function messageOf(response: Response): Promise<string> {
  return failure.parse(await response.json()).error.message;
}

const user = { role: "user", content: "Hi" };
const f = { type: "function", function: { name: "f" } };
const AVAILABLE = 'Available: "openai/gpt-oss-20b".';

describe("Chat Completions", () => {
  test.each<[object, string]>([
    [{ model: "gpt-4o" }, `gpt-4o is not a valid model ID. ${AVAILABLE}`],
    [
      { messages: [{ role: "tool", tool_call_id: "c", content: "x" }] },
      'messages[0].tool_call_id: no assistant message before this one has a call with the id "c"',
    ],
    [
      { tools: [{ type: "code_interpreter_2" }] },
      'tools[0].type: this gateway does not run "code_interpreter_2". Its operator can enable it with the setting builtinTools.',
    ],
    [{ modalities: ["text", "audio"] }, "modalities[1]: the model supports text output only"],
    [{ audio: { voice: "x" } }, "audio: the model supports text output only"],
    [{ prompt: "x" }, "prompt: this route does not support text completion. Send messages instead"],
    [{ top_logprobs: 2 }, "top_logprobs: needs logprobs to be true"],
    [
      { tools: [f], tool_choice: { type: "web_search" } },
      'tool_choice.type: "web_search" is not among the tools of this request',
    ],
    [{ tool_choice: "required" }, "tool_choice: a call is required but no tools are given"],
    [
      { tools: [f], tool_choice: { type: "function", function: { name: "h" } } },
      'tool_choice.function.name: no tool with the name "h" is given',
    ],
    [{ tools: [f, f] }, 'tools: two tools have the name "f"'],
    [
      { reasoning: { effort: "low", max_tokens: 5 } },
      "reasoning.max_tokens: reasoning takes an effort or max_tokens, not both",
    ],
    [
      { reasoning: { effort: "low" }, reasoning_effort: "high" },
      "reasoning_effort: reasoning.effort and reasoning_effort differ",
    ],
    [
      { reasoning: { enabled: false, effort: "low" } },
      "reasoning.enabled: reasoning.enabled is false but an effort or budget is given",
    ],
    [
      { reasoning: { enabled: true, effort: "none" } },
      'reasoning.enabled: reasoning.enabled is true but the effort is "none"',
    ],
  ])("%j", async (fields, message) => {
    const { post } = createApp();
    const body = { messages: [user], ...fields };
    expect(await messageOf(await post("/v1/chat/completions", body))).toBe(message);
  });

  test("a body that is no object", async () => {
    const response = await createApp().post("/v1/chat/completions", []);
    expect(await messageOf(response)).toBe("The request body must be a JSON object.");
  });
});

describe("Responses", () => {
  const fn = { type: "function", name: "f", parameters: {} };
  const output = { type: "function_call_output", call_id: "c1", output: "x" };

  test.each<[object, string]>([
    [{ model: "gpt-4o" }, `The model "gpt-4o" does not exist. ${AVAILABLE}`],
    [{ input: null }, "input: is required"],
    [{ background: true, store: false }, "background: background responses must be stored"],
    [{ prompt: { id: "p" } }, "prompt: stored prompts are not supported"],
    [
      { previous_response_id: "resp_1" },
      'previous_response_id: there is no response with the id "resp_1"',
    ],
    [
      { previous_response_id: "resp_1", conversation: "conv_1" },
      "conversation: a request continues a response or a conversation, not both",
    ],
    [{ conversation: "conv_1" }, 'There is no conversation with the id "conv_1".'],
    [
      { input: [{ type: "item_reference", id: "rs_1" }] },
      'input[0].id: there is no item with the id "rs_1"',
    ],
    [
      { input: [output] },
      'input[0].call_id: no function call before this output has the call_id "c1"',
    ],
    [
      { input: [{ type: "reasoning", summary: [], encrypted_content: "x" }, user] },
      "input[0].encrypted_content: it was not encrypted by this gateway for this key, or it was altered",
    ],
    [
      { input: [{ type: "compaction_trigger" }, user] },
      "input[0]: a compaction_trigger must be the last item of the input",
    ],
    [
      {
        tools: [fn],
        tool_choice: { type: "allowed_tools", mode: "auto", tools: [{ type: "function" }] },
      },
      "tool_choice.tools[0].name: must be the name of a tool, but it is missing",
    ],
    [
      {
        tools: [{ type: "file_search" }],
        tool_choice: { type: "allowed_tools", mode: "required", tools: [{ type: "file_search" }] },
      },
      "tool_choice.tools: a call is required but none of these tools is supported",
    ],
    [
      { tools: [{ ...fn, strict: true, parameters: { $ref: "#/nowhere" } }] },
      'tools[0].parameters: the schema cannot be enforced: /$ref: "#/nowhere" leads nowhere',
    ],
    [
      { metadata: Object.fromEntries(Array.from({ length: 17 }, (_, at) => [`k${at}`, "v"])) },
      "metadata: must have at most 16 pairs, but it is an object",
    ],
  ])("%j", async (fields, message) => {
    const { post } = createApp();
    const body = { model: MODEL, input: "Hi", ...fields };
    expect(await messageOf(await post("/v1/responses", body))).toBe(message);
  });

  test.each<[string, object, object, string]>([
    [
      "unsupported items",
      { unsupportedTools: "refuse" },
      { input: [{ type: "file_search_call", id: "x" }, user] },
      'input[0].type: "file_search_call" items are not supported',
    ],
    [
      "more tools than allowed",
      { maxTools: 1 },
      { tools: [{ type: "namespace", name: "n", tools: [fn, { ...fn, name: "g" }] }] },
      "tools: has more than the 1 entries allowed, those of namespaces counted.",
    ],
  ])("%s", async (_, settings, fields, message) => {
    const { post } = createApp({ ...settings });
    const body = { model: MODEL, input: "Hi", ...fields };
    expect(await messageOf(await post("/v1/responses", body))).toBe(message);
  });

  test("requests about stored responses and conversations", async () => {
    const { post, get } = createApp();
    const { id } = identified.parse(await (await post("/v1/responses", { input: "Hi" })).json());
    expect(await messageOf(await post(`/v1/responses/${id}/cancel`, {}))).toBe(
      `The response ${id} is not a background response.`,
    );
    expect(await messageOf(await get(`/v1/responses/${id}?stream=true`))).toBe(
      "stream: only background responses can be streamed later. Read this one without stream",
    );
    const conversation = identified.parse(await (await post("/v1/conversations", {})).json());
    const at = `/v1/conversations/${conversation.id}/items`;
    expect(await messageOf(await get(`${at}/item_1`))).toBe(
      'There is no item with the id "item_1".',
    );
    expect(await messageOf(await post(at, { items: [] }))).toBe(
      "items: must contain at least one item, but it is an empty array",
    );
    const reference = { type: "item_reference", id: "x" };
    expect(await messageOf(await post(at, { items: [reference] }))).toBe(
      "items: a conversation cannot contain references to items. Send the items themselves",
    );
  });
});

describe("Messages", () => {
  const call = { type: "tool_use", id: "a", name: "f", input: {} };

  test.each<[object, string]>([
    [
      { model: "claude-opus" },
      `model: claude-opus. ${AVAILABLE} This gateway serves gpt-oss; its operator can set claudeAliases.`,
    ],
    [
      { thread: { id: "t" } },
      "thread: conversations are not stored by this gateway; send the whole conversation without thread",
    ],
    [
      { messages: [{ role: "user", content: 5 }] },
      "messages[0].content: must be a string or an array of content blocks, but it is 5",
    ],
    [{ system: 5 }, "system: must be a string or an array of text blocks, but it is 5"],
    [
      {
        messages: [
          user,
          { role: "user", content: [{ type: "tool_result", tool_use_id: "b", content: "" }] },
        ],
      },
      'messages[1].content[0].tool_use_id: no tool_use block before this tool_result has the id "b"',
    ],
    [
      {
        compaction: { type: "summarize" },
        messages: [user, { role: "assistant", content: [call] }],
      },
      "compaction: the last tool call has no result yet",
    ],
  ])("%j", async (fields, message) => {
    const { post } = createApp();
    const body = { model: MODEL, max_tokens: 100, messages: [user], ...fields };
    expect(await messageOf(await post("/v1/messages", body))).toBe(message);
  });

  test("unsupported tools, if they are refused", async () => {
    const { post } = createApp({ unsupportedTools: "refuse" });
    const tools = [{ type: "bash_20250124", name: "bash" }];
    const body = { model: MODEL, max_tokens: 100, messages: [user], tools };
    expect(await messageOf(await post("/v1/messages", body))).toBe(
      'tools[0].type: "bash_20250124" tools are not supported',
    );
  });

  test("other paths", async () => {
    const { post, send } = createApp();
    expect(await messageOf(await post("/v1/v1/messages", {}))).toBe(
      "The path contains /v1 twice. Anthropic's clients append /v1 themselves: configure the base URL without it.",
    );
    expect(await messageOf(await post("/v1/messages/batches", {}))).toBe(
      "This gateway does not support message batches.",
    );
    const headers = { "anthropic-version": "2023-06-01" };
    expect(await messageOf(await send("/v1/models?limit=0", { headers }))).toBe(
      "limit: must be a whole number from 1 to 1000",
    );
  });
});

describe("any path", () => {
  test("numbers, methods and paths that do not exist", async () => {
    const { get, send } = createApp();
    expect(await messageOf(await get("/v1/models?offset=x"))).toBe(
      "offset: must be a whole number, 0 or more.",
    );
    expect(await messageOf(await send("/v1/chat/completions"))).toBe(
      "This path supports POST only.",
    );
    expect(await messageOf(await get("/v1/files"))).toBe(
      "No files are kept here. There are /v1/chat/completions, /v1/responses, /v1/messages and /v1/models; /api lists all routes.",
    );
  });

  test("a wrong key, and a web page of another origin", async () => {
    const keyed = createApp({ keys: [`alice:${"0".repeat(64)}`] });
    const authorization = "Bearer wrong";
    expect(await messageOf(await keyed.send("/v1/models", { headers: { authorization } }))).toBe(
      "The API key is not valid for this gateway.",
    );
    const origin = "https://evil.example";
    expect(await messageOf(await createApp().send("/v1/models", { headers: { origin } }))).toBe(
      "Web pages from https://evil.example may not use this gateway. To allow them, add the origin to the setting corsOrigins.",
    );
  });
});
