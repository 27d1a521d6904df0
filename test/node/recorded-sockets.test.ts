import { once } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import * as z from "zod";
import { eventually } from "../helpers/eventually.ts";
import { startTestGateway } from "../helpers/gateway.ts";
import { replay } from "../helpers/command-io.ts";
import { scriptedEngine } from "../helpers/scripted-engine.ts";

const TOKEN = "token-of-the-sockets-test";
const FINAL = "<|channel|>final<|message|>Hello!<|return|>";

const turns = z.object({
  turns: z.array(z.looseObject({ number: z.int(), isComplete: z.boolean(), outcome: z.string() })),
});

const recorded = z.looseObject({
  answer: z.looseObject({ events: z.array(z.looseObject({ text: z.string() })) }),
});

/** A gateway with its inspector, and WebSockets to its Responses API. */
async function open() {
  const gateway = await startTestGateway({
    engine: scriptedEngine(() => FINAL),
    settings: { inspect: true, inspectKey: TOKEN },
  });
  onTestFinished(() => gateway.close());
  const inspect = async (path: string): Promise<string> => {
    const headers = { "x-inspect-token": TOKEN };
    return (await fetch(`${gateway.origin}/inspect/api/${path}`, { headers })).text();
  };
  const connect = async (headers: Readonly<Record<string, string>> = {}) => {
    const url = `${gateway.baseURL.replace("http", "ws")}/responses`;
    const socket = new WebSocket(url, { headers });
    onTestFinished(() => socket.close());
    await once(socket, "open");
    return socket;
  };
  return { gateway, inspect, connect };
}

test("turns of a WebSocket are recorded with the message and the events", async () => {
  const { inspect, connect } = await open();
  const socket = await connect();
  const message = { type: "response.create", model: "openai/gpt-oss-20b", input: "Hi" };
  socket.send(JSON.stringify(message));
  await eventually(async () => {
    const listed = turns.parse(JSON.parse(await inspect("turns")));
    expect(listed.turns).toMatchObject([{ isComplete: true, outcome: "stop" }]);
  });
  expect(JSON.parse(await inspect("turns/1/file?as=json"))).toMatchObject({
    api: "responses",
    request: { method: "WEBSOCKET", body: JSON.stringify(message) },
    answer: {
      status: 101,
      events: expect.arrayContaining([
        { ms: expect.any(Number), text: expect.stringContaining('"type":"response.completed"') },
      ]),
    },
  });
  const record = recorded.parse(JSON.parse(await inspect("turns/1/file?as=json")));
  const again = await replay(record);
  expect(again).toMatchObject({ differences: [], skipped: [] });
  expect(again.same).toContain("answer");
  const events = record.answer.events.map((event) => ({
    ...event,
    text: event.text.replace("Hello!", "Goodbye!"),
  }));
  const other = { ...record, answer: { ...record.answer, events } };
  const differs = await replay(other);
  expect(differs.differences.map(({ where }) => where)).toEqual([expect.stringMatching(/^event /)]);
  socket.send(JSON.stringify({ ...message, input: 7 }));
  await eventually(async () => {
    const listed = turns.parse(JSON.parse(await inspect("turns")));
    expect(listed.turns).toHaveLength(2);
    expect(listed.turns[1]).toMatchObject({ isComplete: true, outcome: "rejected", status: 400 });
  });
});

test("a WebSocket that is opened with x-harmony-record: off has no content in its records", async () => {
  const { inspect, connect } = await open();
  const socket = await connect({ "x-harmony-record": "off" });
  const message = { type: "response.create", model: "openai/gpt-oss-20b" };
  for (const input of ["My plover", [{ type: "plover" }]]) {
    socket.send(JSON.stringify({ ...message, input }));
  }
  await eventually(async () => {
    const listed = turns.parse(JSON.parse(await inspect("turns")));
    expect(listed.turns.map(({ isComplete }) => isComplete)).toEqual([true, true]);
  });
  for (const path of ["turns", "turns/1", "turns/2", "turns/1/file", "turns/1/file?as=json"]) {
    expect(await inspect(path)).not.toMatch(/plover|Hello!/);
  }
});

test("the reference of a WebSocket to a response that continues a private one is private, too", async () => {
  const { gateway, inspect, connect } = await open();
  const model = "openai/gpt-oss-20b";
  const first = await fetch(`${gateway.baseURL}/responses`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-harmony-record": "off" },
    body: JSON.stringify({ model, input: "My plover" }),
  });
  const { id } = z.object({ id: z.string() }).parse(await first.json());
  const socket = await connect();
  const ended = z.object({
    type: z.literal("response.completed"),
    response: z.object({ output: z.array(z.looseObject({ id: z.string(), type: z.string() })) }),
  });
  const ask = async (body: object) => {
    const { promise, resolve } = Promise.withResolvers<z.output<typeof ended>["response"]>();
    const read = (data: Buffer) => {
      const found = ended.safeParse(JSON.parse(data.toString("utf8")));
      if (found.success) resolve(found.data.response);
    };
    socket.on("message", read);
    socket.send(JSON.stringify({ type: "response.create", model, store: false, ...body }));
    const response = await promise;
    socket.off("message", read);
    return response;
  };
  const { output } = await ask({ previous_response_id: id, input: "Go on." });
  const item = output.find(({ type }) => type === "message");
  await ask({
    input: [
      { type: "item_reference", id: item?.id },
      { type: "message", role: "user", content: "And on." },
    ],
  });
  for (const number of [1, 2, 3]) {
    expect(await inspect(`turns/${number}`)).not.toMatch(/plover|Hello!/);
  }
});
