import { describe, expect, test } from "vitest";
import { appOf, createTestApp } from "../../helpers/app.ts";
import { testSettings } from "../../helpers/gateway.ts";
import { scriptedEngine } from "../../helpers/scripted-engine.ts";
import { forgetful, loopScripts, runLoop, STEP_TOOL, analysisIn } from "../../helpers/tool-loop.ts";
import { type ChatMessage, chatReply, readChatMessage } from "../../helpers/replies.ts";

const SEALING = [Buffer.alloc(32, "k").toString("base64url")];

/** The analysis in each prompt of a loop when nothing is lost. */
const WHOLE = [[], ["one 1"], ["one 1", "one 2"], ["one 1", "one 2", "one 3"]];

function loopEngine(...names: string[]) {
  return scriptedEngine(names.flatMap((name) => loopScripts(name)));
}

describe("a three-step loop keeps its reasoning, whatever the client sends back", () => {
  const clients: [string, (reply: ChatMessage) => object, string][] = [
    [
      "empty reasoning_details",
      (reply) => ({ ...forgetful(reply), reasoning_details: [] }),
      "stored",
    ],
    [
      "null for all it does not know",
      (reply) => ({
        ...forgetful(reply),
        reasoning: null,
        reasoning_content: null,
        reasoning_details: null,
      }),
      "stored",
    ],
    [
      "empty strings",
      (reply) => ({
        ...forgetful(reply),
        reasoning: "",
        reasoning_content: "",
        reasoning_details: "",
      }),
      "stored",
    ],
    [
      "a detail without text",
      (reply) => ({
        ...forgetful(reply),
        reasoning_details: [{ type: "reasoning.text", text: "" }],
      }),
      "stored",
    ],
    ["reasoning", (reply) => ({ ...forgetful(reply), reasoning: reply.reasoning }), "sent"],
    [
      "reasoning_content",
      (reply) => ({ ...forgetful(reply), reasoning_content: reply.reasoning }),
      "sent",
    ],
    [
      "reasoning_text",
      (reply) => ({ ...forgetful(reply), reasoning_text: reply.reasoning }),
      "sent",
    ],
    ["thinking", (reply) => ({ ...forgetful(reply), thinking: reply.reasoning }), "sent"],
    [
      "reasoning_details as a string",
      (reply) => ({ ...forgetful(reply), reasoning_details: reply.reasoning }),
      "sent",
    ],
    [
      "a mangled format",
      (reply) => ({
        ...forgetful(reply),
        reasoning_details: (reply.reasoning_details ?? []).map((each) => ({
          ...each,
          format: "unknownunknown",
          id: 7,
          signature: "x",
        })),
      }),
      "sent",
    ],
    [
      "a summary in its place",
      (reply) => ({
        ...forgetful(reply),
        reasoning_details: [{ type: "reasoning.summary", summary: reply.reasoning }],
      }),
      "sent",
    ],
    [
      "the same reasoning under every name",
      (reply) => ({
        ...reply,
        reasoning_content: reply.reasoning,
        reasoning_text: reply.reasoning,
        thinking: reply.reasoning,
      }),
      "sent",
    ],
    [
      "somebody else's encrypted reasoning",
      (reply) => ({
        ...forgetful(reply),
        reasoning_details: [{ type: "reasoning.encrypted", data: "gAAAAA" }],
      }),
      "stored",
    ],
  ];

  for (const stream of [false, true]) {
    test.each(clients)(`%s, ${stream ? "streamed" : "plain"}`, async (_, remember, outcome) => {
      const engine = loopEngine("one");
      const app = createTestApp({ engine });
      const { outcomes } = await runLoop(app.post, { remember, body: { stream } });
      expect(engine.prompts.map((prompt) => analysisIn(prompt))).toEqual(WHOLE);
      expect(outcomes).toEqual([null, outcome, outcome, outcome]);
    });
  }
});

test("several calls of one message follow the encrypted reasoning that led to them", async () => {
  const call = (n: number) =>
    `<|channel|>commentary to=functions.step <|constrain|>json<|message|>{"n":${n}}<|call|>`;
  const engine = scriptedEngine([
    `<|channel|>analysis<|message|>Both.<|end|><|start|>assistant${call(1)}`,
    call(2),
    "<|channel|>final<|message|>Not asked for.<|return|>",
    "<|channel|>final<|message|>Done.<|return|>",
  ]);
  const app = createTestApp({
    engine,
    settings: { sampleMoreCalls: true, reasoningPolicy: "sealed", sealingKeys: SEALING },
  });
  const { outcomes } = await runLoop(app.post);
  expect(outcomes).toEqual([null, "sealed"]);
  expect(engine.prompts.at(-1)).toMatch(
    /analysis<\|message\|>Both\.<\|end\|>[^{]*\{"n":1\}<\|call\|>[^{]*\{"n":2\}<\|call\|>.*ok.*ok/s,
  );
});

describe("once a turn is finished", () => {
  test("its reasoning is not looked up", async () => {
    const asked: string[] = [];
    const engine = loopEngine("one", "two");
    const app = createTestApp({
      engine,
      store: {
        get: async (key) => void asked.push(key),
        set: async () => false,
        delete: async () => {},
      },
    });
    const { messages } = await runLoop(app.post, { remember: forgetful });
    expect(asked.length).toBe(1 + 2 + 3);
    asked.length = 0;
    await runLoop(app.post, { remember: forgetful, messages });
    expect(asked.length).toBe(1 + 2 + 3);
  });

  test("a prefill does not end the loop", async () => {
    const engine = scriptedEngine([...loopScripts("one").slice(0, 1), "<|return|>"]);
    const app = createTestApp({ engine });
    const first = await readChatMessage(
      await app.post({ messages: [{ role: "user", content: "Go." }], tools: [STEP_TOOL] }),
    );
    await app.post({
      messages: [
        { role: "user", content: "Go." },
        forgetful(first),
        { role: "tool", tool_call_id: first.tool_calls?.[0]?.id, content: "ok" },
        { role: "assistant", content: "It is" },
      ],
    });
    expect(analysisIn(engine.prompts[1])).toEqual(["one 1"]);
  });
});

describe("the policy of a key decides what is returned, never what is stored", () => {
  test.each([false, true])(
    "none: no reasoning is returned, none is lost (streamed: %s)",
    async (stream) => {
      const engine = loopEngine("one");
      const app = createTestApp({ engine, settings: { reasoningPolicy: "none" } });
      const { outcomes, replies } = await runLoop(app.post, { body: { stream } });
      expect(engine.prompts.map((prompt) => analysisIn(prompt))).toEqual(WHOLE);
      expect(outcomes).toEqual([null, "stored", "stored", "stored"]);
      for (const reply of replies) {
        expect(reply.reasoning).toBe(null);
        expect(reply.reasoning_details).toBe(undefined);
        expect(JSON.stringify(reply)).not.toMatch(/one [1-4]|reasoning_content/);
      }
    },
  );

  test.each([false, true])(
    "sealed: the client carries encrypted reasoning (streamed: %s)",
    async (stream) => {
      const engine = loopEngine("one", "two");
      const app = createTestApp({
        engine,
        settings: { reasoningPolicy: "sealed", sealingKeys: SEALING, reasoningContentMirror: true },
        // Nothing is stored: only the encrypted copies are available.
        store: { get: async () => undefined, set: async () => false, delete: async () => {} },
      });
      const { outcomes, replies, messages } = await runLoop(app.post, { body: { stream } });
      expect(engine.prompts.map((prompt) => analysisIn(prompt))).toEqual(WHOLE);
      expect(outcomes).toEqual([null, "sealed", "sealed", "sealed"]);
      for (const reply of replies) {
        expect({ ...reply, tool_calls: undefined, content: undefined, refusal: undefined }).toEqual(
          {
            role: "assistant",
            reasoning: null,
            reasoning_details: [
              {
                type: "reasoning.encrypted",
                data: expect.stringMatching(/^[\w-]{40,}$/),
                format: "unknown",
                index: 0,
              },
            ],
          },
        );
      }
      await runLoop(app.post, { body: { stream }, messages });
      expect(analysisIn(engine.prompts.at(-1))).toEqual(["two 1", "two 2", "two 3"]);
    },
  );

  test("sealed, for a client that sends nothing back: restored from the store", async () => {
    const engine = loopEngine("one");
    const app = createTestApp({
      engine,
      settings: { reasoningPolicy: "sealed", sealingKeys: SEALING },
    });
    const { outcomes } = await runLoop(app.post, { remember: forgetful });
    expect(engine.prompts.map((prompt) => analysisIn(prompt))).toEqual(WHOLE);
    expect(outcomes).toEqual([null, "stored", "stored", "stored"]);
  });

  test("an altered encrypted copy is ignored, and the store is used", async () => {
    const engine = loopEngine("one");
    const app = createTestApp({
      engine,
      settings: { reasoningPolicy: "sealed", sealingKeys: SEALING },
    });
    const { outcomes } = await runLoop(app.post, {
      remember: (reply) =>
        JSON.parse(JSON.stringify(reply).replace(/"data":"(.{30})./, '"data":"$1!')),
    });
    expect(engine.prompts.map((prompt) => analysisIn(prompt))).toEqual(WHOLE);
    expect(outcomes).toEqual([null, "stored", "stored", "stored"]);
    expect(await app.counter('seals_refused_total{reason="malformed"}')).toBe(1 + 2 + 3);
  });

  test.each([
    ["reasoning.exclude", { reasoning: { exclude: true } }],
    ["include_reasoning: false", { include_reasoning: false }],
  ])("%s hides it for a request, and it is kept", async (_, body) => {
    for (const reasoningPolicy of ["raw", "sealed"]) {
      for (const stream of [false, true]) {
        const engine = loopEngine("one");
        const app = createTestApp({ engine, settings: { reasoningPolicy, sealingKeys: SEALING } });
        const { outcomes, replies } = await runLoop(app.post, { body: { ...body, stream } });
        expect(engine.prompts.map((prompt) => analysisIn(prompt))).toEqual(WHOLE);
        expect(outcomes).toEqual([null, "stored", "stored", "stored"]);
        for (const { reasoning, reasoning_details } of replies) {
          expect({ reasoning, reasoning_details }).toEqual({
            reasoning: null,
            reasoning_details: undefined,
          });
        }
      }
    }
  });

  test.each([
    { mirror: true, path: "/v1", copies: ["reasoning", "reasoning_details", "reasoning_content"] },
    { mirror: false, path: "/v1", copies: ["reasoning"] },
    { mirror: false, path: "/api/v1", copies: ["reasoning", "reasoning_details"] },
  ])(
    "raw, mirrored: $mirror, below $path: the text is in $copies",
    async ({ mirror, path, copies }) => {
      const engine = scriptedEngine(
        () =>
          "<|channel|>analysis<|message|>one two<|end|><|start|>assistant<|channel|>final<|message|>Hi<|return|>",
      );
      const settings = testSettings({ reasoningContentMirror: mirror });
      const app = appOf(settings, [{ id: "openai/gpt-oss-20b", engine }], {});
      const send = async (body: object) =>
        app.request(`${path}/chat/completions`, {
          method: "POST",
          body: JSON.stringify(body),
          headers: { "content-type": "application/json" },
        });
      const request = { model: "openai/gpt-oss-20b", messages: [{ role: "user", content: "Hi" }] };
      const plain = chatReply.parse(await (await send(request)).json());
      const [{ message }] = plain.choices;
      expect(Object.keys(message).filter((name) => name.startsWith("reasoning"))).toEqual(copies);
      const streamed = await (await send({ ...request, stream: true })).text();
      for (const name of ["reasoning", "reasoning_details", "reasoning_content"]) {
        expect(streamed.includes(`"${name}":`)).toBe(copies.includes(name));
      }
      // OpenRouter's clients read what a request costs.
      for (const usage of [JSON.stringify(plain.usage), streamed]) {
        expect(usage.includes('"cost":0,"is_byok":false')).toBe(path === "/api/v1");
      }
    },
  );
});

describe("the effort used is reported", () => {
  test.each([
    [{}, "medium"],
    [{ reasoning_effort: "minimal" }, "low"],
    [{ reasoning: { effort: "max" } }, "high"],
    [{ reasoning: { max_tokens: 10_000 } }, "high"],
    [{ reasoning: { enabled: false } }, "none"],
    [{ reasoning_effort: "none" }, "none"],
  ])("%j: %s", async (body, effort) => {
    for (const stream of [false, true]) {
      const engine = scriptedEngine(["<|channel|>final<|message|>Done.<|return|>"]);
      const { post } = createTestApp({ engine });
      const response = await post({
        ...body,
        stream,
        messages: [{ role: "user", content: "Go." }],
      });
      expect(response.headers.get("x-harmony-reasoning-effort")).toBe(effort);
      await response.text();
      expect(engine.prompts[0]).toContain(`Reasoning: ${effort === "none" ? "low" : effort}\n`);
    }
  });
});

describe("several analysis messages of one reply are one text, streamed or not", () => {
  test.each(["raw", "sealed"])("%s", async (reasoningPolicy) => {
    const script =
      "<|channel|>analysis<|message|>First.<|end|><|start|>assistant" +
      "<|channel|>analysis<|message|>Second.<|end|><|start|>assistant" +
      "<|channel|>commentary<|message|>One moment.<|end|><|start|>assistant" +
      "<|channel|>analysis<|message|>Third.<|end|><|start|>assistant" +
      "<|channel|>final<|message|>Done.<|return|>";
    const sealed = (index: number) => {
      return { type: "reasoning.encrypted", data: expect.any(String), format: "unknown", index };
    };
    const text = "First.\n\nSecond.\n\nThird.";
    for (const stream of [false, true]) {
      const app = createTestApp({
        engine: scriptedEngine([script]),
        settings: { reasoningPolicy, sealingKeys: SEALING },
      });
      const response = await app.post({ stream, messages: [{ role: "user", content: "Go." }] });
      expect(await readChatMessage(response)).toMatchObject({
        content: "One moment.\n\nDone.",
        reasoning: reasoningPolicy === "raw" ? text : null,
        reasoning_details:
          reasoningPolicy === "raw"
            ? [{ type: "reasoning.text", text, format: "unknown", index: 0 }]
            : [sealed(0), sealed(1), sealed(2)],
      });
    }
  });
});
