/** Where calls are forbidden, the arguments of one are no answer and no summary. */
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { createBrowsingApp } from "../helpers/browsing-app.ts";
import { scriptedEngine } from "../helpers/scripted-engine.ts";
import { chat, CLIENTS, type Client, type Entry, messages, MODEL, responses } from "./clients.ts";
import { responsesReply } from "../helpers/replies.ts";

const CALL =
  '<|channel|>analysis<|message|>Rome, too.<|end|><|start|>assistant<|channel|>commentary to=functions.weather <|constrain|>json<|message|>{"city":"Rome"}<|call|>';
const NAMED_ONLY = ' to=browser.search<|channel|>commentary<|message|>{"query":"Rome"}<|call|>';
const ANSWER = "<|channel|>final<|message|>It is cold.<|return|>";
const LOOP: readonly Entry[] = [
  { type: "user", text: "Compare Oslo and Rome." },
  { type: "assistant", calls: [{ id: "call_1", name: "weather", args: '{"city":"Oslo"}' }] },
  { type: "result", id: "call_1", text: "4 degrees" },
];

function start(scripts: readonly string[]) {
  const engine = scriptedEngine(scripts);
  return { engine, ...createBrowsingApp({ engine, toolbox: {} }) };
}

function none({ name }: Client) {
  return { tool_choice: name === "Messages" ? { type: "none" } : "none" };
}

describe.each(CLIENTS)("$name: tool_choice none", (client) => {
  test.each([
    ["with tools", ["weather"]],
    ["without tools", []],
  ])("%s, a call is refused, and the model answers", async (_, tools) => {
    const { engine, post } = start([CALL, ANSWER]);
    const body = { ...client.toBody(LOOP, tools), ...none(client) };
    const reply = client.readReply(await (await post(client.path, body)).json());
    expect(reply).toEqual({ reasoning: "Rome, too.", text: "It is cold.", calls: [] });
    expect(engine.prompts[1]).toContain(
      "json<|message|><|call|><|start|>functions.weather to=assistant<|channel|>commentary<|message|>" +
        'Error: the function "weather" cannot be called now. Functions: none.<|end|>',
    );
  });

  test("the answer is opened for a model that goes on making calls", async () => {
    const { engine, post } = start([CALL, NAMED_ONLY, "It is cold.<|return|>"]);
    const body = { ...client.toBody(LOOP, ["weather"]), ...none(client) };
    const reply = client.readReply(await (await post(client.path, body)).json());
    expect(reply).toMatchObject({ text: "It is cold.", calls: [] });
    expect(engine.prompts[2]).toMatch(/<\|channel\|>final<\|message\|>$/);
  });
});

test("the arguments of a forbidden call are not returned as the JSON answer", async () => {
  const { post } = start([CALL, '<|channel|>final<|message|>{"colder":"Oslo"}<|return|>']);
  const format = { response_format: { type: "json_object" } };
  const body = { ...chat.toBody(LOOP, ["weather"]), ...none(chat), ...format };
  const reply = chat.readReply(await (await post(chat.path, body)).json());
  expect(reply.text).toBe('{"colder":"Oslo"}');
});

describe("a summary", () => {
  const content = z.object({
    content: z.array(z.object({ type: z.string(), content: z.string() })),
  });

  /** The text that the model reads in place of the conversation. */
  async function continueFrom(
    post: (path: string, body: object) => Response | Promise<Response>,
    body: unknown,
  ) {
    const { output } = responsesReply.parse(body);
    const input = [...output, { role: "user", content: "Go on." }];
    await post(responses.path, { model: MODEL, input });
  }

  test("that a compaction_trigger asks for", async () => {
    const { engine, post } = start([CALL, ANSWER, ANSWER]);
    const { input, ...rest } = z
      .looseObject({ input: z.array(z.unknown()) })
      .parse(responses.toBody(LOOP, ["weather"]));
    const body = { ...rest, input: [...input, { type: "compaction_trigger" }] };
    await continueFrom(post, await (await post(responses.path, body)).json());
    expect(engine.prompts[2]).toContain("so far:\n\nIt is cold.<|end|>");
  });

  test("of /responses/compact", async () => {
    const { engine, post } = start([CALL, ANSWER, ANSWER]);
    const reply = await post("/v1/responses/compact", responses.toBody(LOOP));
    await continueFrom(post, await reply.json());
    expect(engine.prompts[2]).toContain("so far:\n\nIt is cold.<|end|>");
  });

  test("of Messages", async () => {
    const { post } = start([CALL, ANSWER]);
    const body = { ...messages.toBody(LOOP, ["weather"]), compaction: { type: "summarize" } };
    const reply = content.parse(await (await post(messages.path, body)).json());
    expect(reply.content).toMatchObject([{ type: "compaction", content: "It is cold." }]);
  });
});
