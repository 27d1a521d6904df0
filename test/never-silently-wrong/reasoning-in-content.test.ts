/** Clients that show reasoning as `<think>…</think>` send it back within the content of assistant messages. */
import { describe, expect, test } from "vitest";
import { createBrowsingApp } from "../helpers/browsing-app.ts";
import { scriptedEngine } from "../helpers/scripted-engine.ts";
import { type Client, CLIENTS, type Entry } from "./clients.ts";

const ANSWER = "<|channel|>final<|message|>Done.<|return|>";
const QUESTION: Entry = { type: "user", text: "Weather?" };
const CALL = { id: "c1", name: "get_weather", args: '{"city":"Paris"}' };
const RESULT: Entry = { type: "result", id: "c1", text: "18 C" };

/** The prompt from the first user message on: channel and text of each message. */
async function told({ path, toBody }: Client, entries: readonly Entry[]): Promise<string[]> {
  const engine = scriptedEngine([ANSWER]);
  const { post } = createBrowsingApp({ engine, toolbox: {} });
  const response = await post(path, toBody(entries, ["get_weather"]));
  expect(response.status).toBe(200);
  const messages = (engine.prompts[0] ?? "").split("<|start|>").slice(1, -1);
  return messages
    .slice(messages.findIndex((message) => message.startsWith("user")))
    .map((message) => /(\w+)(?: ?<\|constrain\|>json| json)?<\|message\|>(.*)<\|/s.exec(message))
    .map((found) => `${found?.[1]}: ${found?.[2]}`);
}

const USER = "user: Weather?";
const LOOP = ['commentary: {"city":"Paris"}', "commentary: 18 C"];

describe.each(CLIENTS)("$name", (client) => {
  test("within a tool loop, it is reasoning", async () => {
    const sent: Entry[] = [
      QUESTION,
      { type: "assistant", text: "<think>\nI look it up.\n</think>\n\n", calls: [CALL] },
      RESULT,
    ];
    expect(await told(client, sent)).toEqual([USER, "analysis: I look it up.", ...LOOP]);
  });

  test("the text behind it stays what it is", async () => {
    const sent: Entry[] = [
      QUESTION,
      { type: "assistant", text: "<think>I look it up.</think>One moment.", calls: [CALL] },
      RESULT,
    ];
    expect(await told(client, sent)).toEqual([
      USER,
      "analysis: I look it up.",
      "commentary: One moment.",
      ...LOOP,
    ]);
  });

  test("it does not stand twice beside reasoning that is sent as such", async () => {
    const sent: Entry[] = [
      QUESTION,
      {
        type: "assistant",
        reasoning: "I look it up.",
        text: "<think>I look it up.</think>",
        calls: [CALL],
      },
      RESULT,
    ];
    expect(await told(client, sent)).toEqual([USER, "analysis: I look it up.", ...LOOP]);
  });

  test("after an answer, it is dropped", async () => {
    const sent: Entry[] = [
      QUESTION,
      { type: "assistant", text: "<think>It is warm.</think>\n\n18 C." },
      { type: "user", text: "And tomorrow?" },
    ];
    expect(await told(client, sent)).toEqual([USER, "final: 18 C.", "user: And tomorrow?"]);
  });

  test("without an answer behind it, it is the reasoning of a turn that goes on", async () => {
    const sent: Entry[] = [
      QUESTION,
      { type: "assistant", text: "<think>It is warm.</think>" },
      { type: "user", text: "Well?" },
    ];
    expect(await told(client, sent)).toEqual([USER, "analysis: It is warm.", "user: Well?"]);
  });

  test.each([
    ['<think signature="abc" summary="x">Warm.</think>18 C.', "Warm."],
    ["<think>Warm.</think>\n<think>Very.</think>18 C.", "Warm.\n\nVery."],
    ["\n <think>\nWarm < 30.\n</think>\n18 C.", "Warm < 30."],
    ['<think redacted="true">gAAAA</think>18 C.', undefined],
    ["<think>\n\n</think>\n\n18 C.", undefined],
  ])("%j is reasoning and an answer", async (text, reasoning) => {
    const sent: Entry[] = [QUESTION, { type: "assistant", text, calls: [CALL] }, RESULT];
    expect(await told(client, sent)).toEqual([
      USER,
      ...(reasoning === undefined ? [] : [`analysis: ${reasoning}`]),
      "commentary: 18 C.",
      ...LOOP,
    ]);
  });

  test.each([
    "<think>I was cut off",
    "Write <think>x</think> yourself.",
    "<thinking>x</thinking>",
    "<think",
  ])("%j is text", async (text) => {
    const sent: Entry[] = [QUESTION, { type: "assistant", text }, { type: "user", text: "Go on." }];
    expect(await told(client, sent)).toEqual([USER, `final: ${text}`, "user: Go on."]);
  });

  test("a text of the user is untouched", async () => {
    const text = "<think>x</think>Say that.";
    expect(await told(client, [{ type: "user", text }])).toEqual([`user: ${text}`]);
  });

  test("a hundred thousand of them cost one pass", async () => {
    const text = `${"<think>a</think>".repeat(100_000)}18 C.`;
    const sent: Entry[] = [QUESTION, { type: "assistant", text }, { type: "user", text: "Go on." }];
    expect(await told(client, sent)).toEqual([USER, "final: 18 C.", "user: Go on."]);
  });
});

test("Chat Completions: the stored reasoning of a call is used where it is the same", async () => {
  const [chat] = CLIENTS;
  if (chat === undefined) throw new Error("there are no clients");
  const call =
    "<|channel|>analysis<|message|>First.<|end|><|start|>assistant<|channel|>analysis<|message|>Second.<|end|>" +
    '<|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city":"Paris"}<|call|>';
  const engine = scriptedEngine([call, ANSWER]);
  const { post } = createBrowsingApp({ engine, toolbox: {} });
  const first = await post(chat.path, chat.toBody([QUESTION], ["get_weather"]));
  const { reasoning, calls } = chat.readReply(await first.json());
  const [made] = calls;
  const sent: Entry[] = [
    QUESTION,
    { type: "assistant", text: `<think>\n${reasoning}\n</think>\n\n`, calls },
    { type: "result", id: made?.id ?? "", text: "18 C" },
  ];
  const second = await post(chat.path, chat.toBody(sent, ["get_weather"]));
  expect(second.headers.get("x-harmony-cot")).toBe("sent");
  expect(engine.prompts[1]).toContain(
    "<|channel|>analysis<|message|>First.<|end|><|start|>assistant<|channel|>analysis<|message|>Second.<|end|>",
  );
});
