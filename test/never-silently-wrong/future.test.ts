/** A member of a later version is skipped, unless the answer would not be the one it asks for: that is a 400. */
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { createBrowsingApp, MODEL } from "../helpers/browsing-app.ts";
import { startTestGateway } from "../helpers/gateway.ts";
import { scriptedEngine } from "../helpers/scripted-engine.ts";

const NEW = "of_2027";
const HELLO = { role: "user", content: "Hello" };
const F = { name: "f", description: "", parameters: { type: "object", properties: {} } };
const CALL = { id: "1", type: NEW, function: { name: "f", arguments: "{}" } };
const FUNCTION = { type: "function", ...F };
const CUSTOM = { name: "f", input_schema: { type: "object" } };

const APIS = {
  "/v1/chat/completions": { messages: [HELLO] },
  "/v1/responses": { input: "Hello" },
  "/v1/messages": { messages: [HELLO], max_tokens: 10 },
};

type Row = readonly [path: keyof typeof APIS, what: string, fields: object];

async function ask(path: keyof typeof APIS, fields: object): Promise<Response> {
  const engine = scriptedEngine(["<|channel|>final<|message|>Done.<|return|>"]);
  const { post } = createBrowsingApp({ engine, toolbox: {} });
  const response = await post(path, { model: MODEL, ...APIS[path], ...fields });
  await response.text();
  return response;
}

function assistant(...content: object[]) {
  return [HELLO, { role: "assistant", content }];
}

const SKIPPED: readonly Row[] = [
  ["/v1/chat/completions", "member", { [NEW]: { a: [1] } }],
  ["/v1/chat/completions", "member of a message", { messages: [{ ...HELLO, [NEW]: 1 }] }],
  ["/v1/chat/completions", "tool", { tools: [{ type: NEW }] }],
  [
    "/v1/chat/completions",
    "member of a tool",
    { tools: [{ type: "function", [NEW]: 1, function: { ...F, [NEW]: 1 } }] },
  ],
  [
    "/v1/chat/completions",
    "type of call",
    {
      messages: [
        HELLO,
        { role: "assistant", tool_calls: [CALL] },
        { role: "tool", tool_call_id: "1", content: "x" },
      ],
    },
  ],
  [
    "/v1/chat/completions",
    "detail of reasoning",
    {
      messages: [
        HELLO,
        { role: "assistant", content: "a", reasoning_details: [{ type: NEW }] },
        HELLO,
      ],
    },
  ],
  ["/v1/chat/completions", "effort", { reasoning_effort: NEW }],
  [
    "/v1/chat/completions",
    "option of reasoning",
    { reasoning: { effort: NEW, summary: NEW, [NEW]: 1 } },
  ],
  ["/v1/chat/completions", "verbosity and tier", { verbosity: NEW, service_tier: NEW }],
  ["/v1/chat/completions", "option of a stream", { stream: true, stream_options: { [NEW]: true } }],
  ["/v1/chat/completions", "plugin", { plugins: [{ id: NEW }] }],
  [
    "/v1/responses",
    "member",
    { [NEW]: { a: [1] }, prompt_cache_options: { [NEW]: 1 }, background_options: { [NEW]: 1 } },
  ],
  ["/v1/responses", "item", { input: [HELLO, { type: NEW, [NEW]: {} }] }],
  [
    "/v1/responses",
    "member and phase of a message",
    { input: [{ ...HELLO, [NEW]: 1, phase: NEW, status: NEW }] },
  ],
  [
    "/v1/responses",
    "part of reasoning",
    { input: [HELLO, { type: "reasoning", summary: [{ type: NEW }], content: [{ type: NEW }] }] },
  ],
  [
    "/v1/responses",
    "part of an output",
    {
      input: [
        HELLO,
        { type: "function_call", call_id: "1", name: "f", arguments: "{}" },
        { type: "function_call_output", call_id: "1", output: [{ type: NEW }] },
      ],
    },
  ],
  [
    "/v1/responses",
    "tool, also of a namespace",
    { tools: [{ type: NEW }, { type: "namespace", name: "n", tools: [{ type: NEW }] }] },
  ],
  ["/v1/responses", "member of a tool", { tools: [{ ...FUNCTION, [NEW]: 1 }] }],
  [
    "/v1/responses",
    "allowed tool",
    {
      tools: [FUNCTION],
      tool_choice: {
        type: "allowed_tools",
        tools: [{ type: "function", name: "f" }, { type: NEW }],
      },
    },
  ],
  [
    "/v1/responses",
    "option of reasoning",
    { reasoning: { effort: NEW, summary: NEW, context: NEW, mode: NEW } },
  ],
  [
    "/v1/responses",
    "verbosity and tier",
    { text: { verbosity: NEW, [NEW]: 1 }, service_tier: NEW },
  ],
  ["/v1/responses", "include", { include: [NEW, "reasoning.encrypted_content"] }],
  ["/v1/responses", "option of a stream", { stream: true, stream_options: { [NEW]: true } }],
  ["/v1/responses", "rule for the context", { context_management: [{ type: NEW }] }],
  ["/v1/responses", "executor of a search", { tools: [{ type: "tool_search", execution: NEW }] }],
  ["/v1/messages", "member", { [NEW]: { a: [1] }, container: { [NEW]: 1 } }],
  ["/v1/messages", "member of a message", { messages: [{ ...HELLO, [NEW]: 1 }] }],
  [
    "/v1/messages",
    "block of the user",
    { messages: [{ role: "user", content: [{ type: "text", text: "a" }, { type: NEW }] }] },
  ],
  [
    "/v1/messages",
    "block of the assistant",
    { messages: [...assistant({ type: NEW }, { type: "text", text: "a" }), HELLO] },
  ],
  [
    "/v1/messages",
    "block of the system",
    {
      system: [{ type: "text", text: "a" }, { type: NEW }],
      messages: [HELLO, { role: "system", content: [{ type: NEW }] }],
    },
  ],
  [
    "/v1/messages",
    "block of a result",
    {
      messages: [
        ...assistant({ type: "tool_use", id: "1", name: "f", input: {} }),
        {
          role: "user",
          content: [{ type: "tool_result", tool_use_id: "1", content: [{ type: NEW }] }],
        },
      ],
    },
  ],
  [
    "/v1/messages",
    "source of an image",
    { messages: [{ role: "user", content: [{ type: "image", source: { type: NEW } }] }] },
  ],
  ["/v1/messages", "tool", { tools: [{ type: `${NEW}_20270101`, name: "n" }] }],
  [
    "/v1/messages",
    "member of a tool",
    { tools: [{ ...CUSTOM, allowed_callers: [NEW], [NEW]: 1 }] },
  ],
  [
    "/v1/messages",
    "member of a choice",
    { tools: [CUSTOM], tool_choice: { type: "auto", [NEW]: 1 } },
  ],
  ["/v1/messages", "effort", { output_config: { effort: NEW, [NEW]: 1 } }],
  [
    "/v1/messages",
    "thinking, and its display",
    { thinking: { type: NEW, display: NEW, [NEW]: 1 } },
  ],
  [
    "/v1/messages",
    "marks of caching, and tier",
    { cache_control: { type: NEW, ttl: NEW }, service_tier: NEW, speed: NEW },
  ],
  [
    "/v1/messages",
    "end of a reminder",
    { messages: [{ role: "system", content: "x", clear_at: NEW }, HELLO] },
  ],
];

test.each(SKIPPED)("%s: a new %s is skipped", async (path, _, fields) => {
  expect((await ask(path, fields)).status).toBe(200);
});

test.each(["/v1/chat/completions", "/v1/responses", "/v1/messages"] as const)(
  "%s: a header names new members, plain and streamed",
  async (path) => {
    const named = async (fields: object) =>
      (await ask(path, fields)).headers.get("x-harmony-skipped-fields");
    const members = { [NEW]: { a: [1] }, "b\n": 1 };
    expect(await named({})).toBe(null);
    expect(await named(members)).toBe(`${NEW}, b_`);
    expect(await named({ ...members, stream: true })).toBe(`${NEW}, b_`);
    const many = Array.from({ length: 5000 }, (_, index) => [`m${index}`, 1]);
    expect((await named(Object.fromEntries(many)))?.length).toBeLessThan(1000);
  },
);

const REFUSED: readonly Row[] = [
  [
    "/v1/chat/completions",
    "part, which the model would not read",
    { messages: [{ role: "user", content: [{ type: NEW }] }] },
  ],
  [
    "/v1/chat/completions",
    "format, which the answer would not have",
    { response_format: { type: NEW } },
  ],
  [
    "/v1/chat/completions",
    "choice, which would not hold",
    { tools: [{ type: "function", function: F }], tool_choice: NEW },
  ],
  [
    "/v1/chat/completions",
    "modality, which the answer would not have",
    { modalities: ["text", NEW] },
  ],
  [
    "/v1/chat/completions",
    "role, whose rank is not known",
    { messages: [{ role: NEW, content: "a" }] },
  ],
  [
    "/v1/responses",
    "part, which the model would not read",
    { input: [{ role: "user", content: [{ type: NEW }] }] },
  ],
  ["/v1/responses", "format, which the answer would not have", { text: { format: { type: NEW } } }],
  [
    "/v1/responses",
    "choice, which would not hold",
    { tools: [FUNCTION], tool_choice: { type: NEW } },
  ],
  ["/v1/responses", "role, whose rank is not known", { input: [{ role: NEW, content: "a" }] }],
  ["/v1/responses", "truncation, which would not be done", { truncation: NEW }],
  [
    "/v1/messages",
    "format, which the answer would not have",
    { output_config: { format: { type: NEW } } },
  ],
  ["/v1/messages", "choice, which would not hold", { tools: [CUSTOM], tool_choice: { type: NEW } }],
  [
    "/v1/messages",
    "edit, which would not be made",
    { context_management: { edits: [{ type: NEW }] } },
  ],
  ["/v1/messages", "role, whose rank is not known", { messages: [{ role: NEW, content: "a" }] }],
];

test.each(REFUSED)("%s: a new %s, is a 400", async (path, _, fields) => {
  expect((await ask(path, fields)).status).toBe(400);
});

/** The types of the replies to a message on a WebSocket, up to the last one of a known request behind it. */
async function repliesTo(message: object, lane?: string): Promise<string[]> {
  const engine = scriptedEngine(() => "<|channel|>final<|message|>Done.<|return|>");
  const gateway = await startTestGateway({ engine });
  onTestFinished(() => gateway.close());
  const socket = new WebSocket(`${gateway.baseURL.replace("http", "ws")}/responses`);
  const types: string[] = [];
  const last = Promise.withResolvers<void>();
  socket.addEventListener("message", ({ data }) => {
    const { type, response } = reply.parse(JSON.parse(String(data)));
    types.push(type);
    if (type === "response.completed" && response?.metadata["is"] === "last") last.resolve();
  });
  socket.addEventListener("close", () => last.reject(new Error("the connection was closed")));
  socket.addEventListener("open", () => {
    const known = { ...CREATE, stream_id: lane, metadata: { is: "last" } };
    for (const each of [message, known]) socket.send(JSON.stringify(each));
  });
  await last.promise;
  socket.close();
  return types;
}

const reply = z.looseObject({
  type: z.string(),
  response: z.looseObject({ metadata: z.record(z.string(), z.string()) }).optional(),
});
const CREATE = { type: "response.create", model: MODEL, input: "Hello" };
const STEER = { type: "response.steer", previous_response_id: "resp_0", input: "More" };

test.each<[string, object]>([
  ["member of a request", { ...CREATE, [NEW]: { a: [1] }, event_id: "e", client_event_id: NEW }],
  ["member beside a lane", { ...CREATE, stream_id: "a", lane: { id: NEW } }],
  ["value of an enumeration", { ...CREATE, service_tier: NEW, text: { verbosity: NEW } }],
  ["option of the cache", { ...CREATE, prompt_cache_options: { mode: NEW, ttl: NEW, [NEW]: 1 } }],
  ["item", { ...CREATE, input: [HELLO, { type: NEW, [NEW]: 1 }] }],
  ["tool", { ...CREATE, tools: [{ type: NEW, [NEW]: 1 }] }],
  ["include", { ...CREATE, include: [NEW] }],
])("on a WebSocket: a new %s is skipped", async (_, message) => {
  const types = await repliesTo(message, "stream_id" in message ? "a" : undefined);
  expect(types.filter((type) => type === "response.completed")).toHaveLength(2);
  expect(types).not.toContain("error");
});

test.each<[string, object, string[]]>([
  ["type of message", { type: `response.${NEW}`, [NEW]: { a: [1] } }, []],
  ["type of any length", { type: NEW.repeat(10_000), stream_id: "a" }, []],
  [
    "member of input for a response",
    { ...STEER, [NEW]: 1, mode: NEW, stream_id: "a" },
    ["response.steer.failed"],
  ],
  ["name of a lane, which no event could have", { ...CREATE, stream_id: "a b" }, ["error"]],
  ["kind of lane, likewise", { ...CREATE, stream_id: { id: NEW } }, ["error"]],
  ["kind of type", { type: { name: NEW } }, ["error"]],
])("on a WebSocket: a new %s, ends nothing", async (_, message, expected) => {
  const types = await repliesTo(message);
  expect(types.filter((type) => type === "error" || type.includes("steer"))).toEqual(expected);
  expect(types.filter((type) => type === "response.completed")).toHaveLength(1);
});
