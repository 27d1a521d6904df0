/** Results of tool calls in the prompt: Harmony matches them to calls by tool and order alone. */
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { createBrowsingApp } from "../helpers/browsing-app.ts";
import { type Script, scriptedEngine } from "../helpers/scripted-engine.ts";
import { type Call, chat, type Client, CLIENTS, type Entry, responses } from "./clients.ts";

const ANSWER = "<|channel|>final<|message|>Done.<|return|>";
const NOTICE = "No result was returned for this call.";

function weather(id: string, city: string): Call {
  return { id, name: "get_weather", args: JSON.stringify({ city }) };
}

const PARIS = weather("c1", "Paris");
const TOKYO = weather("c2", "Tokyo");
const QUESTION: Entry = { type: "user", text: "Weather?" };
const result = (id: string, text: string): Entry => ({ type: "result", id, text });

/** The prompt after the first user message, without markers: author, recipient and text. */
function told(prompt: string | undefined): string[] {
  const messages = (prompt ?? "").split("<|start|>").slice(1, -1);
  return messages
    .slice(messages.findIndex((message) => message.startsWith("user")))
    .map((message) => message.replaceAll(/<\|channel\|>\w+|<\|(?:end|call)\|>/g, ""))
    .map((message) =>
      message.replace(/ ?(?:<\|constrain\|>)?json<\|message\|>|<\|message\|>/, ": "),
    );
}

async function promptOf({ path, toBody }: Client, entries: readonly Entry[]) {
  const engine = scriptedEngine([ANSWER]);
  const { post } = createBrowsingApp({ engine, toolbox: {} });
  const response = await post(path, toBody(entries, ["get_weather", "get_time"]));
  expect(response.status).toBe(200);
  return told(engine.prompts[0]);
}

const ASKED = "user: Weather?";
const CALL_PARIS = 'assistant to=functions.get_weather: {"city":"Paris"}';
const CALL_TOKYO = 'assistant to=functions.get_weather: {"city":"Tokyo"}';
const RESULT = "functions.get_weather to=assistant: ";

describe("results stand in the order of their calls", () => {
  test.each(CLIENTS)("$name: of one function, sent in another order", async (client) => {
    const sent = [
      QUESTION,
      { type: "assistant", calls: [PARIS, TOKYO] } as const,
      result("c2", "9 C"),
      result("c1", "18 C"),
    ];
    expect(await promptOf(client, sent)).toEqual([
      ASKED,
      CALL_PARIS,
      CALL_TOKYO,
      `${RESULT}18 C`,
      `${RESULT}9 C`,
    ]);
  });

  test.each(CLIENTS)("$name: with texts of the user between them", async (client) => {
    const sent = [
      QUESTION,
      { type: "assistant", calls: [PARIS, TOKYO] } as const,
      result("c2", "9 C"),
      { type: "user", text: "Hurry." } as const,
      result("c1", "18 C"),
    ];
    expect(await promptOf(client, sent)).toEqual([
      ASKED,
      CALL_PARIS,
      CALL_TOKYO,
      `${RESULT}18 C`,
      "user: Hurry.",
      `${RESULT}9 C`,
    ]);
  });

  test.each(CLIENTS)("$name: a result that comes after the next answer", async (client) => {
    const sent = [
      QUESTION,
      { type: "assistant", calls: [PARIS, TOKYO] } as const,
      result("c1", "18 C"),
      { type: "assistant", text: "Tokyo takes longer." } as const,
      { type: "user", text: "And?" } as const,
      result("c2", "9 C"),
    ];
    expect(await promptOf(client, sent)).toEqual([
      ASKED,
      CALL_PARIS,
      CALL_TOKYO,
      `${RESULT}18 C`,
      `${RESULT}9 C`,
      "assistant: Tokyo takes longer.",
      "user: And?",
    ]);
  });

  test.each(CLIENTS)(
    "$name: after calls of two steps, both answered at the end",
    async (client) => {
      const sent = [
        QUESTION,
        { type: "assistant", calls: [PARIS] } as const,
        { type: "user", text: "Tokyo too." } as const,
        { type: "assistant", calls: [TOKYO] } as const,
        result("c2", "9 C"),
        result("c1", "18 C"),
      ];
      const prompt = await promptOf(client, sent);
      expect(prompt.slice(-2)).toEqual([`${RESULT}18 C`, `${RESULT}9 C`]);
    },
  );

  test.each(CLIENTS)("$name: two calls with one id", async (client) => {
    const sent = [
      QUESTION,
      { type: "assistant", calls: [PARIS, { ...TOKYO, id: "c1" }] } as const,
      result("c1", "18 C"),
      result("c1", "9 C"),
    ];
    expect((await promptOf(client, sent)).slice(-2)).toEqual([`${RESULT}18 C`, `${RESULT}9 C`]);
  });

  test.each(CLIENTS)("$name: two results of one call are one", async (client) => {
    const sent = [
      QUESTION,
      { type: "assistant", calls: [PARIS, TOKYO] } as const,
      result("c1", "18 C"),
      result("c1", "sunny"),
      result("c2", "9 C"),
    ];
    const prompt = await promptOf(client, sent);
    expect(prompt.slice(-2)).toEqual([`${RESULT}18 C\n\nsunny`, `${RESULT}9 C`]);
  });

  test("Responses: sent with previous_response_id, after calls that were sampled together", async () => {
    const call = (city: string) =>
      `<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city":"${city}"}<|call|>`;
    const scripts: Script[] = [call("Paris"), call("Tokyo"), ANSWER, ANSWER];
    const engine = scriptedEngine(scripts);
    const settings = { sampleMoreCalls: true };
    const { post } = createBrowsingApp({ engine, toolbox: {}, settings });
    const body = { ...responses.toBody([QUESTION], ["get_weather"]), store: true };
    const first = z
      .looseObject({ id: z.string() })
      .parse(await (await post(responses.path, body)).json());
    const { calls } = responses.readReply(first);
    expect(calls.map(({ args }) => args)).toEqual(['{"city":"Paris"}', '{"city":"Tokyo"}']);
    const [paris = PARIS, tokyo = TOKYO] = calls;
    const second = await post(responses.path, {
      ...responses.toBody([result(tokyo.id, "9 C"), result(paris.id, "18 C")], ["get_weather"]),
      previous_response_id: first.id,
    });
    expect(second.status).toBe(200);
    expect(told(engine.prompts.at(-1)).slice(-4)).toEqual([
      CALL_PARIS,
      CALL_TOKYO,
      `${RESULT}18 C`,
      `${RESULT}9 C`,
    ]);
  });
});

test("Responses: a conversation takes the results in the order of its calls", async () => {
  const call = (city: string) =>
    `<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city":"${city}"}<|call|>`;
  const engine = scriptedEngine([call("Paris"), call("Tokyo"), ANSWER, ANSWER]);
  const { post } = createBrowsingApp({ engine, toolbox: {}, settings: { sampleMoreCalls: true } });
  const created = await post("/v1/conversations", {});
  const { id: conversation } = z.looseObject({ id: z.string() }).parse(await created.json());
  const ask = async (sent: readonly Entry[]) =>
    responses.readReply(
      await (
        await post(responses.path, { ...responses.toBody(sent, ["get_weather"]), conversation })
      ).json(),
    );
  const { calls } = await ask([QUESTION]);
  const [paris = PARIS, tokyo = TOKYO] = calls;
  await ask([result(tokyo.id, "9 C"), result(paris.id, "18 C")]);
  expect(told(engine.prompts.at(-1)).slice(-4)).toEqual([
    CALL_PARIS,
    CALL_TOKYO,
    `${RESULT}18 C`,
    `${RESULT}9 C`,
  ]);
});

test("Chat Completions: each choice has calls of its own, and gets back its own reasoning", async () => {
  const choice = (city: string) =>
    `<|channel|>analysis<|message|>I choose ${city}.<|end|><|start|>assistant` +
    `<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city":"${city}"}<|call|>`;
  const engine = scriptedEngine([choice("Paris"), choice("Tokyo"), ANSWER, ANSWER]);
  const { post } = createBrowsingApp({ engine, toolbox: {} });
  const body = { ...chat.toBody([QUESTION], ["get_weather"]), n: 2 };
  const { choices } = z
    .looseObject({ choices: z.array(z.unknown()) })
    .parse(await (await post(chat.path, body)).json());
  for (const [index, city] of ["Paris", "Tokyo"].entries()) {
    const { calls } = chat.readReply({ choices: [choices[index]] });
    const sent: Entry[] = [
      QUESTION,
      { type: "assistant", calls },
      result(calls[0]?.id ?? "", "18 C"),
    ];
    const answered = await post(chat.path, chat.toBody(sent, ["get_weather"]));
    expect(answered.headers.get("x-harmony-cot")).toBe("stored");
    expect(told(engine.prompts.at(-1))).toEqual([
      ASKED,
      `assistant: I choose ${city}.`,
      `assistant to=functions.get_weather: {"city":"${city}"}`,
      `${RESULT}18 C`,
    ]);
  }
});

describe("a call without a result beside answered ones gets a notice", () => {
  test.each(CLIENTS)("$name: the first of two calls of one function", async (client) => {
    const sent = [
      QUESTION,
      { type: "assistant", calls: [PARIS, TOKYO] } as const,
      result("c2", "9 C"),
    ];
    expect(await promptOf(client, sent)).toEqual([
      ASKED,
      CALL_PARIS,
      CALL_TOKYO,
      RESULT + NOTICE,
      `${RESULT}9 C`,
    ]);
  });

  test.each(CLIENTS)("$name: the last of three, and of another function", async (client) => {
    const time = { id: "c3", name: "get_time", args: "{}" };
    const sent = [
      QUESTION,
      { type: "assistant", calls: [PARIS, TOKYO, time] } as const,
      result("c2", "9 C"),
      result("c1", "18 C"),
      { type: "user", text: "Go on." } as const,
    ];
    expect((await promptOf(client, sent)).slice(-4)).toEqual([
      `${RESULT}18 C`,
      `${RESULT}9 C`,
      `functions.get_time to=assistant: ${NOTICE}`,
      "user: Go on.",
    ]);
  });

  test.each(CLIENTS)("$name: but not calls of which none was answered", async (client) => {
    const sent = [
      QUESTION,
      { type: "assistant", calls: [PARIS, TOKYO] } as const,
      { type: "user", text: "Stop." } as const,
    ];
    expect(await promptOf(client, sent)).toEqual([ASKED, CALL_PARIS, CALL_TOKYO, "user: Stop."]);
  });
});

test("Chat Completions: results of the legacy form, and results that only name their tool, keep their order", async () => {
  const engine = scriptedEngine([ANSWER]);
  const { post } = createBrowsingApp({ engine, toolbox: {} });
  const call = ({ id, name, args }: Call) => ({
    id,
    type: "function",
    function: { name, arguments: args },
  });
  const response = await post("/v1/chat/completions", {
    messages: [
      { role: "user", content: "Weather?" },
      { role: "assistant", content: null, tool_calls: [call(PARIS), call(TOKYO)] },
      { role: "tool", tool_call_id: "c2", content: "9 C" },
      { role: "tool", tool_call_id: "unknown", name: "get_weather", content: "18 C" },
      { role: "assistant", content: null, function_call: { name: "f", arguments: "{}" } },
      { role: "function", name: "f", content: "ok" },
      { role: "function", name: "f", content: "once more" },
    ],
  });
  expect(response.status).toBe(200);
  expect(told(engine.prompts[0]).slice(-5)).toEqual([
    `${RESULT}18 C`,
    `${RESULT}9 C`,
    "assistant to=functions.f: {}",
    "functions.f to=assistant: ok",
    "functions.f to=assistant: once more",
  ]);
});
