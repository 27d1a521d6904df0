/** A call that the model announces and does not make: on each API it is offered the next message, and the client's loop goes on. */
import { expect, test } from "vitest";
import { type Api, APIS } from "../../proof/fuzz/turns/apis.ts";
import { createBrowsingApp } from "../helpers/browsing-app.ts";
import { scriptedEngine } from "../helpers/scripted-engine.ts";
import { CLIENTS, type Client } from "./clients.ts";

const TEXT = "I will look at the tests first.";
const PREAMBLE = `<|channel|>commentary<|message|>${TEXT}<|return|>`;
const CALL = ' to=functions.f<|channel|>commentary json<|message|>{"a":1}<|call|>';
const FINAL = "<|channel|>final<|message|>Done.<|return|>";

const FORMS = CLIENTS.flatMap((client) =>
  Object.values(APIS)
    .filter(({ path }) => path === client.path)
    .flatMap((api) => [
      { name: `${client.name}, plain`, client, api, stream: false },
      { name: `${client.name}, streamed`, client, api, stream: true },
    ]),
);

interface Form {
  readonly client: Client;
  readonly api: Api;
  readonly stream: boolean;
}

async function ask({ client, api, stream }: Form, scripts: readonly string[], settings = {}) {
  const engine = scriptedEngine(scripts);
  const { post, get } = createBrowsingApp({ engine, toolbox: {}, settings });
  const body = client.toBody([{ type: "user", text: "Fix it." }], ["f"]);
  const response = await post(client.path, { ...body, stream });
  const { choices } = stream
    ? api.readStream(await response.text())
    : api.readPlain(await response.json());
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

test("there are both forms of all APIs", () => {
  expect(FORMS.length).toBe(2 * CLIENTS.length);
});

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
