/** A call that the model announces and does not make: on each API it is offered the next message, and the client's loop goes on. */
import { expect, test } from "vitest";
import { createBrowsingApp } from "../helpers/browsing-app.ts";
import { scriptedEngine } from "../helpers/scripted-engine.ts";
import { type Form, FORMS } from "./clients.ts";

const TEXT = "I will look at the tests first.";
const PREAMBLE = `<|channel|>commentary<|message|>${TEXT}<|return|>`;
const CALL = ' to=functions.f<|channel|>commentary json<|message|>{"a":1}<|call|>';
const FINAL = "<|channel|>final<|message|>Done.<|return|>";

async function ask({ client, stream, read }: Form, scripts: readonly string[], settings = {}) {
  const engine = scriptedEngine(scripts);
  const { post, get } = createBrowsingApp({ engine, toolbox: {}, settings });
  const body = client.toBody([{ type: "user", text: "Fix it." }], ["f"]);
  const response = await post(client.path, { ...body, stream });
  const { choices } = read(await response.text());
  const metrics = await (await get("/metrics")).text();
  return {
    reply: choices.map(({ content, calls, finish }) => ({
      content,
      calls: calls.map(({ name, args }) => `${name} ${args}`),
      finish,
    })),
    counted: /^harmony_gateway_recoveries_total\{.*announced-call.*\} (\d+)$/m.exec(metrics)?.[1],
    engineCalls: engine.requests.length,
  };
}

test.each(FORMS)("$name: the announced call comes, and the preamble stays", async (form) => {
  expect(await ask(form, [PREAMBLE, CALL])).toEqual({
    reply: [{ content: TEXT, calls: ['f {"a":1}'], finish: "tool-calls" }],
    counted: "1",
    engineCalls: 2,
  });
});

test.each(FORMS)("$name: off, the answer is opened in its place", async (form) => {
  const { reply, counted } = await ask(form, [PREAMBLE, "Done.<|return|>"], {
    continueAnnouncedCalls: false,
  });
  expect(reply).toMatchObject([{ calls: [], finish: "stop" }]);
  expect(reply[0]?.content.replaceAll("\n", "")).toBe(`${TEXT}Done.`);
  expect(counted).toBeUndefined();
});

test.each(FORMS)("$name: a model that had nothing to call answers", async (form) => {
  const { reply, counted, engineCalls } = await ask(form, [PREAMBLE, FINAL]);
  expect(reply[0]?.content.replaceAll("\n", "")).toBe(`${TEXT}Done.`);
  expect([reply[0]?.finish, counted, engineCalls]).toEqual(["stop", "1", 2]);
});
