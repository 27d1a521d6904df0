/** Members that the types of clients require. `test/api/pages/answers.test.ts` checks whole replies against the types. */
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { createBrowsingApp } from "../helpers/browsing-app.ts";
import { type Script, scriptedEngine } from "../helpers/scripted-engine.ts";
import { chat, CLIENTS, messages, MODEL, responses } from "./clients.ts";
import { parseEvents } from "../helpers/replies.ts";

const ANALYSIS = "<|channel|>analysis<|message|>Let me think.<|end|><|start|>assistant";
const ANSWER = "<|channel|>final<|message|>Done.<|return|>";
const CALL = ' to=functions.f<|channel|>commentary <|constrain|>json<|message|>{"a":1}<|call|>';

const HELLO = [{ type: "user", text: "Hi" }] as const;

async function ask(path: string, body: object, script: Script = ANALYSIS + ANSWER) {
  const { post } = createBrowsingApp({ engine: scriptedEngine([script]), toolbox: {} });
  return post(path, body);
}

/** The data of the events of a reply, parsed. */
async function eventsOf(response: Response) {
  return parseEvents(await response.text(), z.looseObject({}));
}

describe.each(CLIENTS)("$name", ({ path, toBody }) => {
  test("a request without a model is served by the first one", async () => {
    const response = await ask(path, { ...toBody(HELLO), model: undefined });
    expect(await response.json()).toMatchObject({ model: MODEL });
  });
});

test.each([
  ["/v1/responses/input_tokens", { input: "Hello" }],
  ["/v1/messages/count_tokens", { messages: [{ role: "user", content: "Hello" }] }],
])("%s counts for the first model if the request names none", async (path, body) => {
  expect((await ask(path, body)).status).toBe(200);
});

// Open Responses' suite wants it so: a summary is made by the model that reads it.
test("only a compaction has to name its model", async () => {
  const response = await ask("/v1/responses/compact", { input: "Hello" });
  expect([response.status, await response.json()]).toEqual([
    400,
    {
      error: {
        message: "model: must be a string, but it is missing",
        type: "invalid_request_error",
        param: "model",
        code: null,
      },
    },
  ]);
});

describe("Chat Completions", () => {
  test("`system_fingerprint` is a constant string, in each chunk too", async () => {
    const body = chat.toBody(HELLO);
    const fingerprint = "fp_harmony_gateway";
    expect(await (await ask(chat.path, body)).json()).toMatchObject({
      system_fingerprint: fingerprint,
    });
    const chunks = await eventsOf(await ask(chat.path, { ...body, stream: true }));
    expect(new Set(chunks.map((chunk) => chunk["system_fingerprint"]))).toEqual(
      new Set([fingerprint]),
    );
  });

  test.each([
    ["/v1", "model_not_found"],
    ["/api/v1", 400],
  ])("below %s, `error.code` is %j for an unknown model", async (prefix, code) => {
    const body = { ...chat.toBody(HELLO), model: "gpt-4o" };
    expect(await (await ask(`${prefix}/chat/completions`, body)).json()).toMatchObject({
      error: { code },
    });
  });
});

describe("Responses", () => {
  test("`response.function_call_arguments.done` names the function", async () => {
    const body = { ...responses.toBody(HELLO, ["f"]), stream: true };
    const events = await eventsOf(await ask(responses.path, body, CALL));
    const done = events.find(({ type }) => type === "response.function_call_arguments.done");
    expect(done).toMatchObject({ name: "f", arguments: '{"a":1}' });
  });

  test("usage counts tokens written to a cache", async () => {
    expect(await (await ask(responses.path, responses.toBody(HELLO))).json()).toMatchObject({
      usage: { input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 } },
    });
  });
});

describe("response headers", () => {
  test("web pages may read each one that a reply has", async () => {
    const { send } = createBrowsingApp({ engine: scriptedEngine([ANSWER]), toolbox: {} });
    const tools = [{ type: "acme:tool" }];
    const response = await send("/v1/responses", {
      method: "POST",
      headers: { origin: "http://localhost:3000" },
      body: JSON.stringify({ ...responses.toBody(HELLO), tools }),
    });
    const exposed = response.headers.get("access-control-expose-headers")?.split(",");
    const own = [...response.headers.keys()].filter((name) => name.startsWith("x-"));
    expect(own).toContain("x-harmony-skipped-tools");
    expect(exposed).toEqual(expect.arrayContaining(own));
  });

  test("skipped items are named as the vendor spells them", async () => {
    const input = [{ type: "acme:search_result/v1" }, { role: "user", content: "Hi" }];
    const { headers } = await ask(responses.path, { input });
    expect(headers.get("x-harmony-skipped-items")).toBe("acme:search_result/v1");
    const content = [{ type: "acme:note" }, { type: "text", text: "Hi" }];
    const body = { ...messages.toBody([]), messages: [{ role: "user", content }] };
    expect((await ask(messages.path, body)).headers.get("x-harmony-skipped")).toBe("acme:note");
  });
});

describe("Messages", () => {
  test("text blocks without citations have no such member", async () => {
    const body = messages.toBody(HELLO);
    const reply = await (await ask(messages.path, body)).text();
    const stream = await (await ask(messages.path, { ...body, stream: true })).text();
    expect(reply).toContain('{"type":"text","text":"Done."}');
    expect(stream).toContain('"content_block":{"type":"text","text":""}');
  });
});
