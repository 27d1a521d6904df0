/** Calls of tools of the model's training, which the client runs: the model reads them as it wrote them. */
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { createBrowsingApp } from "../helpers/browsing-app.ts";
import { type Script, scriptedEngine } from "../helpers/scripted-engine.ts";
import { MODEL } from "./clients.ts";
import { responsesReply } from "../helpers/replies.ts";

const FINAL = "<|channel|>final<|message|>1024<|return|>";
const ARGS = '{"query":"x"}';

/** Header of a call, channel of its result. */
const WRITTEN: readonly (readonly [string, "analysis" | "commentary"])[] = [
  ["<|channel|>analysis to=browser.search code", "analysis"],
  [" to=browser.search<|channel|>analysis code", "analysis"],
  ["<|channel|>analysis to=browser.search", "analysis"],
  ["<|channel|>commentary to=browser.search <|constrain|>json", "commentary"],
  [" to=browser.search<|channel|>commentary <|constrain|>json", "commentary"],
  [" to=browser.search<|channel|>commentary json", "commentary"],
];

/** Broken headers, which are not repeated: the model would learn to write more of them. */
const BROKEN = [
  "<|channel|>browser.search<|channel|>analysis code",
  "<|channel|>analysis<|constrain|>code to=browser.search",
  " to=browser.search<|channel|>final code",
];

type Post = (path: string, body: unknown) => Promise<Response>;

const chatReply = z.looseObject({
  choices: z.tuple([
    z.looseObject({
      message: z.looseObject({ tool_calls: z.array(z.looseObject({ id: z.string() })) }),
    }),
  ]),
});

async function askChat(post: Post) {
  const request = { model: MODEL, builtin_tools: ["browser", "python"] };
  const question = { role: "user", content: "2**10?" };
  const path = "/v1/chat/completions";
  const first = await post(path, { ...request, messages: [question] });
  const { message } = chatReply.parse(await first.json()).choices[0];
  const results = message.tool_calls.map(({ id }) => ({
    role: "tool",
    tool_call_id: id,
    content: "ok",
  }));
  return post(path, { ...request, messages: [question, message, ...results] });
}

async function askResponses(post: Post, isStored: boolean) {
  const request = { model: MODEL, builtin_tools: ["browser", "python"] };
  const question = { role: "user", content: "2**10?" };
  const path = "/v1/responses";
  const first = await post(path, { ...request, input: [question] });
  const { id, output } = responsesReply.parse(await first.json());
  const results = output.flatMap(({ type, call_id: callId }) =>
    callId === undefined
      ? []
      : [{ type: type.replace(/_call$/, "_call_output"), call_id: callId, output: "ok" }],
  );
  return isStored
    ? post(path, { ...request, previous_response_id: id, input: results })
    : post(path, { ...request, input: [question, ...output, ...results] });
}

const APIS: readonly (readonly [string, (post: Post) => Promise<Response>])[] = [
  ["Chat Completions", askChat],
  ["Responses", (post) => askResponses(post, false)],
  ["Responses, by previous_response_id", (post) => askResponses(post, true)],
];

async function prompts(ask: (post: Post) => Promise<Response>, call: Script, layout: string) {
  const engine = scriptedEngine([call, FINAL]);
  const { post } = createBrowsingApp({ engine, toolbox: {}, settings: { layout } });
  const response = await ask(post);
  expect(response.status).toBe(200);
  const [before = "", after = ""] = engine.prompts;
  return { before, after };
}

describe.each(APIS)("%s", (_, ask) => {
  describe.each(["reference", "guide", "channel-first"])("layout %s", (layout) => {
    test.each(WRITTEN)("%s", async (header, channel) => {
      const call = `<|channel|>analysis<|message|>Look.<|end|><|start|>assistant${header}<|message|>${ARGS}<|call|>`;
      const { before, after } = await prompts(ask, call, layout);
      expect(after.startsWith(before + call)).toBe(true);
      expect(after.slice((before + call).length)).toContain(`<|channel|>${channel}`);
    });

    test("code, as the model wrote it", async () => {
      const call = "<|channel|>analysis to=python code<|message|>print(2 ** 10)\n<|call|>";
      const { before, after } = await prompts(ask, call, layout);
      expect(after.startsWith(before + call)).toBe(true);
    });
  });

  test.each(BROKEN)("%s is written in the form of training", async (header) => {
    const { before, after } = await prompts(
      ask,
      `${header}<|message|>${ARGS}<|call|>`,
      "reference",
    );
    expect(after.slice(before.length)).toMatch(
      /^ to=browser\.search<\|channel\|>analysis code<\|message\|>\{"query":"x"\}<\|call\|>/,
    );
  });
});

test("a call that the gateway has not made is written in the form of training", async () => {
  const engine = scriptedEngine([FINAL]);
  const { post } = createBrowsingApp({ engine, toolbox: {} });
  const call = { id: "c", type: "custom", custom: { name: "python", input: "1" } };
  await post("/v1/chat/completions", {
    model: MODEL,
    builtin_tools: ["python"],
    messages: [
      { role: "user", content: "1?" },
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "tool", tool_call_id: "c", content: "1" },
    ],
  });
  expect(engine.prompts[0]).toContain(" to=python<|channel|>analysis code<|message|>1<|call|>");
});
