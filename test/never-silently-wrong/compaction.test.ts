/** A compaction block or item replaces all of the prompt but the instructions and the user's words. */
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { createBrowsingApp } from "../helpers/browsing-app.ts";
import { scriptedEngine } from "../helpers/scripted-engine.ts";
import { MODEL } from "./clients.ts";
import { responsesReply } from "../helpers/replies.ts";

const ANSWER = "<|channel|>final<|message|>Done.<|return|>";
const SUMMARY = "Summary of the conversation so far:\n\nThe sum is 5.";
const LONG = "Something long. ".repeat(500);

function start(scripts: readonly string[], contextLength = 131_072) {
  const engine = scriptedEngine(scripts);
  const { post } = createBrowsingApp({ engine, toolbox: {}, contextLength });
  const send = async (path: string, body: object) => {
    const response = await post(path, { model: MODEL, ...body });
    return { status: response.status, body: await response.json() };
  };
  /** The messages of the last prompt after the system message. */
  const prompted = () => engine.prompts.at(-1)?.split("<|start|>").slice(2, -1);
  return { send, prompted };
}

describe("Responses", () => {
  const path = "/v1/responses";
  const f = { type: "function", name: "f", parameters: { type: "object" } };

  async function startCompacted() {
    const app = start(["<|channel|>final<|message|>The sum is 5.<|return|>", ANSWER, ANSWER]);
    const { body } = await app.send(`${path}/compact`, { input: LONG });
    const { output } = responsesReply.parse(body);
    return { ...app, item: output.at(-1) ?? {} };
  }

  test("instructions and the user's messages stay before the summary", async () => {
    const { send, prompted, item } = await startCompacted();
    const { status } = await send(path, {
      input: [
        { role: "developer", content: "Be brief." },
        { role: "user", content: "Add 2 and 3." },
        { role: "assistant", content: LONG },
        { role: "developer", content: "Be kind." },
        { type: "reasoning", summary: [], content: [{ type: "reasoning_text", text: LONG }] },
        { type: "function_call", call_id: "c", name: "f", arguments: "{}" },
        { type: "function_call_output", call_id: "c", output: LONG },
        { role: "user", content: [{ type: "input_text", text: "  Word for\nword. " }] },
        item,
        { role: "user", content: "And twice that?" },
      ],
      tools: [f],
    });
    expect(status).toBe(200);
    expect(prompted()).toEqual([
      expect.stringMatching(/^developer<\|message\|># Instructions\n\nBe brief\.\n\n# Tools/),
      "user<|message|>Add 2 and 3.<|end|>",
      "developer<|message|># Instructions\n\nBe kind.<|end|>",
      "user<|message|>  Word for\nword. <|end|>",
      `user<|message|>${SUMMARY}<|end|>`,
      "user<|message|>And twice that?<|end|>",
    ]);
  });

  test("the last summary counts, and a response that is continued is cut as well", async () => {
    const { send, prompted, item } = await startCompacted();
    const first = await send(path, {
      input: [
        item,
        { role: "user", content: "Well?" },
        { role: "assistant", content: LONG },
        item,
        { role: "user", content: "More?" },
      ],
    });
    expect(prompted()).toEqual([
      "user<|message|>Well?<|end|>",
      `user<|message|>${SUMMARY}<|end|>`,
      "user<|message|>More?<|end|>",
    ]);
    const { id } = z.looseObject({ id: z.string() }).parse(first.body);
    await send(path, { previous_response_id: id, input: "Again?" });
    expect(prompted()).toEqual([
      "user<|message|>Well?<|end|>",
      `user<|message|>${SUMMARY}<|end|>`,
      "user<|message|>More?<|end|>",
      "assistant<|channel|>final<|message|>Done.<|end|>",
      "user<|message|>Again?<|end|>",
    ]);
  });

  describe.each([
    ["compact", `${path}/compact`, []],
    ["a trigger", path, [{ type: "compaction_trigger" }]],
  ])("of a conversation that is too long for its summary, by %s", (_, route, trigger) => {
    const question = { role: "user", content: "Mend the parser." };
    const call = { type: "function_call", call_id: "c", name: "f", arguments: "{}" };

    test("the question stays, and what followed it is left out", async () => {
      const { send, prompted } = start([ANSWER], 1000);
      const output = { type: "function_call_output", call_id: "c", output: LONG };
      const { status } = await send(route, { input: [question, call, output, ...trigger] });
      expect(status).toBe(200);
      expect(prompted()).toEqual([
        "user<|message|>Mend the parser.<|end|>",
        expect.stringMatching(/^user<\|message\|>Summarize this conversation/),
      ]);
    });

    test("a question that does not fit is refused: nothing would be left to summarize", async () => {
      const { send, prompted } = start([ANSWER], 1000);
      const input = [{ role: "user", content: LONG }, ...trigger];
      expect((await send(route, { input })).status).toBe(400);
      expect(prompted()).toBeUndefined();
    });
  });

  test("a call stays whose result comes after the summary", async () => {
    const { send, prompted, item } = await startCompacted();
    const { status } = await send(path, {
      input: [
        { role: "assistant", content: LONG },
        { type: "function_call", call_id: "c", name: "f", arguments: "{}" },
        item,
        { type: "function_call_output", call_id: "c", output: "r" },
      ],
      tools: [f],
    });
    expect(status).toBe(200);
    expect(prompted()?.slice(1)).toEqual([
      expect.stringContaining("to=functions.f"),
      `user<|message|>${SUMMARY}<|end|>`,
      expect.stringMatching(/^functions\.f to=assistant.*<\|message\|>r<\|end\|>$/),
    ]);
  });
});

/** Texts of about 100 tokens each. */
const told = (count: number) =>
  Array.from({ length: count }, (_, at) => `Wish ${at}. ${"More and more. ".repeat(25)}`);
/** Numbers of the wishes in a prompt. */
const wishesIn = (messages: readonly string[] | undefined) =>
  (messages ?? []).flatMap((message) => /Wish (\d+)/.exec(message)?.[1] ?? []).map(Number);

describe("over the context, the oldest user's messages before the summary go first", () => {
  const contextLength = 1000;
  const question = { role: "user", content: "And twice that?" };

  test("Responses", async () => {
    const summarized = ["<|channel|>final<|message|>The sum is 5.<|return|>", ANSWER];
    const { send, prompted } = start(summarized, contextLength);
    const { body } = await send("/v1/responses/compact", { input: "Hi." });
    const item = responsesReply.parse(body).output.at(-1);
    const wishes = told(12).map((content) => ({ role: "user", content }));
    const input = [{ role: "developer", content: "Be brief." }, ...wishes, item, question];
    const { status } = await send("/v1/responses", { input, max_output_tokens: 200 });
    expect(status).toBe(200);
    expect(prompted()?.[0]).toContain("Be brief.");
    expect(wishesIn(prompted())).toEqual([6, 7, 8, 9, 10, 11]);
    expect(prompted()?.slice(-2)).toEqual([
      `user<|message|>${SUMMARY}<|end|>`,
      "user<|message|>And twice that?<|end|>",
    ]);
    // Without a summary, nothing is left out unless the request asks for it.
    const plain = await send("/v1/responses", { input: [...wishes, question] });
    expect(plain.status).toBe(400);
  });

  test("Messages", async () => {
    const { send, prompted } = start([ANSWER, ANSWER], contextLength);
    const wishes = told(12).map((content) => ({ role: "user", content }));
    const block = { type: "compaction", content: "The sum is 5.", encrypted_content: null };
    const messages = [...wishes, { role: "assistant", content: [block] }, question];
    const request = { max_tokens: 200, system: "Be brief.", messages };
    const { status } = await send("/v1/messages", request);
    expect(status).toBe(200);
    expect(prompted()?.[0]).toContain("Be brief.");
    expect(wishesIn(prompted())).toEqual([6, 7, 8, 9, 10, 11]);
    expect(prompted()?.slice(-2)).toEqual([
      `user<|message|>${SUMMARY}<|end|>`,
      "user<|message|>And twice that?<|end|>",
    ]);
    const counted = await send("/v1/messages/count_tokens", request);
    expect(counted.status).toBe(200);
    const plain = await send("/v1/messages", { ...request, messages: [...wishes, question] });
    expect(plain.status).toBe(400);
  });
});

describe("Messages", () => {
  const path = "/v1/messages";
  const block = { type: "compaction", content: "The sum is 5.", encrypted_content: null };
  const f = { name: "f", input_schema: { type: "object" } };

  test("instructions and the user's messages stay before the summary", async () => {
    const { send, prompted } = start([ANSWER]);
    const { status } = await send(path, {
      max_tokens: 100,
      system: "Be brief.",
      messages: [
        { role: "user", content: "Add 2 and 3." },
        { role: "system", content: "Be kind." },
        {
          role: "assistant",
          content: [
            { type: "text", text: LONG },
            { type: "tool_use", id: "c", name: "f", input: {} },
          ],
        },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "c", content: LONG },
            { type: "text", text: "  Word for\nword. " },
          ],
        },
        {
          role: "assistant",
          content: [{ type: "text", text: LONG }, block, { type: "text", text: "Five." }],
        },
        { role: "user", content: "And twice that?" },
      ],
    });
    expect(status).toBe(200);
    expect(prompted()).toEqual([
      "developer<|message|># Instructions\n\nBe brief.<|end|>",
      "user<|message|>Add 2 and 3.<|end|>",
      "developer<|message|># Instructions\n\nBe kind.<|end|>",
      "user<|message|>  Word for\nword. <|end|>",
      `user<|message|>${SUMMARY}<|end|>`,
      "assistant<|channel|>final<|message|>Five.<|end|>",
      "user<|message|>And twice that?<|end|>",
    ]);
  });

  test.each(["user", "assistant"])("a summary in a message of the %s counts", async (role) => {
    const { send, prompted } = start([ANSWER]);
    const { status } = await send(path, {
      max_tokens: 100,
      messages: [
        { role: "assistant", content: LONG },
        { role, content: [block] },
        { role: "user", content: "And twice that?" },
      ],
    });
    expect(status).toBe(200);
    expect(prompted()).toEqual([
      `user<|message|>${SUMMARY}<|end|>`,
      "user<|message|>And twice that?<|end|>",
    ]);
  });

  test("a block without a summary changes nothing", async () => {
    const { send, prompted } = start([ANSWER]);
    await send(path, {
      max_tokens: 100,
      messages: [
        { role: "user", content: "Hi." },
        {
          role: "assistant",
          content: [
            { ...block, content: null },
            { type: "text", text: "Ho." },
          ],
        },
        { role: "user", content: "Well?" },
      ],
    });
    expect(prompted()).toEqual([
      "user<|message|>Hi.<|end|>",
      "assistant<|channel|>final<|message|>Ho.<|end|>",
      "user<|message|>Well?<|end|>",
    ]);
  });

  test("a call stays whose result comes after the summary, and so does a tool it has loaded", async () => {
    const { send, prompted } = start([ANSWER]);
    const call = { type: "tool_use", id: "c", name: "f", input: {} };
    const { status } = await send(path, {
      max_tokens: 100,
      messages: [
        { role: "assistant", content: [{ type: "text", text: LONG }, call, block] },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "c", content: "r" }] },
      ],
      tools: [{ ...f, defer_loading: true }],
    });
    expect(status).toBe(200);
    expect(prompted()).toEqual([
      expect.stringContaining("type f = "),
      expect.stringContaining("to=functions.f"),
      `user<|message|>${SUMMARY}<|end|>`,
      expect.stringMatching(/^functions\.f to=assistant.*<\|message\|>r<\|end\|>$/),
    ]);
  });
});

describe("Messages, compaction: summarize", () => {
  const SUM =
    "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>It is 5.<|return|>";
  const request = {
    model: MODEL,
    max_tokens: 1,
    messages: [
      { role: "user" as const, content: "What is 2 + 3?" },
      { role: "assistant" as const, content: "5." },
    ],
    tools: [{ name: "f", input_schema: { type: "object" as const } }],
  };
  const compaction = { type: "summarize" as const };

  function startSdk(script: string) {
    const engine = scriptedEngine([script, ANSWER]);
    const { anthropic, post } = createBrowsingApp({ engine, toolbox: {} });
    return { engine, post, beta: anthropic.beta.messages };
  }

  test.each(["create", "stream"] as const)(
    "gives exactly one block with the summary: %s",
    async (how) => {
      const { engine, beta } = startSdk(SUM);
      const message =
        how === "create"
          ? await beta.create({ ...request, compaction })
          : await beta.stream({ ...request, compaction }).finalMessage();
      expect(message).toMatchObject({
        content: [{ type: "compaction", content: "It is 5.", encrypted_content: null }],
        stop_reason: "compaction",
        usage: { output_tokens: expect.any(Number) },
      });
      const prompt = engine.prompts[0] ?? "";
      expect(prompt).toContain("Reasoning: low");
      expect(prompt).not.toContain("type f =");
      expect(prompt.split("<|start|>").slice(-3, -1)).toEqual([
        "assistant<|channel|>final<|message|>5.<|end|>",
        expect.stringMatching(/^user<\|message\|>Summarize this conversation /),
      ]);

      const [block] = message.content;
      if (block?.type !== "compaction") throw new Error("there is no summary");
      await beta.create({
        ...request,
        messages: [
          { role: "assistant", content: [block] },
          { role: "user", content: "And twice that?" },
        ],
      });
      expect(engine.prompts[1]?.split("<|start|>").slice(-3, -1)).toEqual([
        "user<|message|>Summary of the conversation so far:\n\nIt is 5.<|end|>",
        "user<|message|>And twice that?<|end|>",
      ]);
    },
  );

  test("takes the client's instructions, unless they are blank", async () => {
    const { engine, beta } = startSdk(SUM);
    const custom = { ...compaction, instructions: "List the numbers." };
    await beta.create({ ...request, compaction: custom });
    expect(engine.prompts[0]).toContain("<|start|>user<|message|>List the numbers.<|end|>");
    const blank = startSdk(SUM);
    await blank.beta.create({ ...request, compaction: { ...compaction, instructions: " \n" } });
    expect(blank.engine.prompts[0]).toContain("Summarize this conversation ");
  });

  test("is not counted: the count is that of the conversation", async () => {
    const { beta } = startSdk(SUM);
    const conversation = { model: MODEL, messages: request.messages };
    expect(await beta.countTokens({ ...conversation, compaction })).toEqual(
      await beta.countTokens(conversation),
    );
  });

  test.each([
    ["that was cut off", "<|channel|>final<|message|>It is"],
    ["without a text", "<|channel|>analysis<|message|>Hm.<|end|>"],
  ])("fails for a summary %s", async (_, script) => {
    const message = "The model did not finish a summary of the conversation.";
    const cut = { write: script, finish: "length" as const };
    const engine = scriptedEngine([cut, cut]);
    const { post, anthropic } = createBrowsingApp({ engine, toolbox: {} });
    const plain = await post("/v1/messages", { ...request, compaction });
    expect([plain.status, await plain.json()]).toEqual([
      502,
      expect.objectContaining({ error: { type: "api_error", message } }),
    ]);
    const stream = anthropic.beta.messages.stream({ ...request, compaction });
    await expect(stream.finalMessage()).rejects.toThrow(message);
  });

  test.each([
    [
      "compaction_nothing_to_summarize",
      "compaction: there is nothing to summarize",
      [{ role: "system", content: "Be brief." }],
    ],
    [
      "compaction_incomplete_turn",
      "compaction: the last tool call has no result yet",
      [
        { role: "user", content: "Go." },
        { role: "assistant", content: [{ type: "tool_use", id: "c", name: "f", input: {} }] },
      ],
    ],
  ])("refuses with the code that the SDK knows: %s", async (code, message, conversation) => {
    const { post } = startSdk(SUM);
    const response = await post("/v1/messages", { ...request, messages: conversation, compaction });
    expect([response.status, await response.json()]).toEqual([
      400,
      expect.objectContaining({
        error: expect.objectContaining({
          type: "invalid_request_error",
          message,
          details: { error_code: code },
        }),
      }),
    ]);
  });
});
