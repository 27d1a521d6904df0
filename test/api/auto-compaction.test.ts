/** Compaction within a reply: `compact_20260112` of Messages and a threshold of Responses. */
import type Anthropic from "@anthropic-ai/sdk";
import type OpenAI from "openai";
import { describe, expect, test } from "vitest";
import { createMemoryStore } from "../../src/index.ts";
import { createBrowsingApp, MODEL } from "../helpers/browsing-app.ts";
import { type Script, scriptedEngine } from "../helpers/scripted-engine.ts";

const SUMMARY = "<|channel|>final<|message|>They said hello.<|return|>";
const ANSWER = "<|channel|>final<|message|>Done.<|return|>";
const SUMMARIZED = "user<|message|>Summary of the conversation so far:\n\nThey said hello.<|end|>";
/** The user's words, which stay before the summary. */
const KEPT = ["user<|message|>Hello.<|end|>", "user<|message|>And now?<|end|>"];
const ASKED = /user<\|message\|>Summarize this conversation so that you could go on/;

function start(scripts: readonly Script[], contextLength?: number) {
  const engine = scriptedEngine(scripts);
  const store = createMemoryStore({ maxEntries: 100, maxBytes: 10_000_000, now: () => 0 });
  const app = createBrowsingApp({
    engine,
    toolbox: {},
    store,
    ...(contextLength !== undefined && { contextLength }),
  });
  /** The messages of a prompt after the system message. */
  const messagesOf = (call: number) => engine.prompts[call]?.split("<|start|>").slice(2, -1);
  return { ...app, engine, messagesOf };
}

describe("Messages", () => {
  const messages: Anthropic.Beta.BetaMessageParam[] = [
    { role: "user", content: "Hello." },
    { role: "assistant", content: "Hello to you." },
    { role: "user", content: "And now?" },
  ];
  const compact = (fields: object = {}): Anthropic.Beta.BetaContextManagementConfig => ({
    edits: [{ type: "compact_20260112", trigger: { type: "input_tokens", value: 1 }, ...fields }],
  });
  const body = (management = compact()) => ({
    model: MODEL,
    max_tokens: 1000,
    system: "Be brief.",
    messages,
    context_management: management,
  });

  test("the reply begins with the summary, and is made from it", async () => {
    const { anthropic, messagesOf, engine } = start([SUMMARY, ANSWER]);
    const message = await anthropic.beta.messages.create(body());
    expect(message.content).toMatchObject([
      { type: "compaction", content: "They said hello.", encrypted_content: null },
      { type: "text", text: "Done." },
    ]);
    expect(message).toMatchObject({
      stop_reason: "end_turn",
      context_management: { applied_edits: [] },
    });
    expect(messagesOf(0)?.slice(-1)).toEqual([expect.stringMatching(ASKED)]);
    expect(messagesOf(1)).toEqual([
      "developer<|message|># Instructions\n\nBe brief.<|end|>",
      ...KEPT,
      SUMMARIZED,
    ]);
    const [summary, answer] = engine.requests.map(({ prompt }) => prompt.ids.length);
    const counts = {
      cache_read_input_tokens: 0,
      cache_creation_input_tokens: 0,
      cache_creation: null,
    };
    expect(message.usage).toMatchObject({
      input_tokens: answer,
      iterations: [
        { type: "compaction", input_tokens: summary, output_tokens: 8, ...counts },
        { type: "message", model: MODEL, input_tokens: answer, ...counts },
      ],
    });
  });

  test("the SDK's stream has the same message", async () => {
    const plain = start([SUMMARY, ANSWER]);
    const whole = await plain.anthropic.beta.messages.create(body());
    const streamed = start([SUMMARY, ANSWER]);
    const stream = streamed.anthropic.beta.messages.stream(body());
    const deltas: string[] = [];
    for await (const event of stream) {
      if (event.type === "content_block_delta") deltas.push(event.delta.type);
    }
    expect(deltas.slice(0, 2)).toEqual(["compaction_delta", "text_delta"]);
    const {
      content,
      stop_reason: reason,
      usage,
      context_management: management,
    } = await stream.finalMessage();
    expect({ content, reason, management }).toEqual({
      content: whole.content,
      reason: whole.stop_reason,
      management: whole.context_management,
    });
    expect(usage.iterations).toEqual(whole.usage.iterations);
    expect(usage.input_tokens).toBe(whole.usage.input_tokens);
  });

  test("a client that appends the reply gets the rest of its conversation alone", async () => {
    const { anthropic, messagesOf } = start([SUMMARY, ANSWER, ANSWER]);
    const message = await anthropic.beta.messages.create(body());
    await anthropic.beta.messages.create({
      ...body({ edits: [] }),
      messages: [
        ...messages,
        { role: "assistant", content: message.content },
        { role: "user", content: "Thanks." },
      ],
    });
    expect(messagesOf(2)?.slice(1)).toEqual([
      ...KEPT,
      SUMMARIZED,
      "assistant<|channel|>final<|message|>Done.<|end|>",
      "user<|message|>Thanks.<|end|>",
    ]);
  });

  test("the request for the summary stands behind the very prompt of the conversation", async () => {
    const plain = start([ANSWER]);
    await plain.anthropic.beta.messages.create(body({ edits: [] }));
    const { anthropic, engine } = start([SUMMARY, ANSWER]);
    await anthropic.beta.messages.create(body());
    const whole = plain.engine.requests[0]?.prompt.ids ?? [];
    // Without the beginning of the answer.
    const history = whole.slice(0, whole.lastIndexOf(200_006));
    expect(engine.requests[0]?.prompt.ids.slice(0, history.length)).toEqual(history);
  });

  test.each([
    [0, true],
    [1, false],
  ])("a trigger %i tokens above the prompt's length compacts: %s", async (above, isCompacted) => {
    const { anthropic, engine } = start(isCompacted ? [SUMMARY, ANSWER] : [ANSWER]);
    const { input_tokens: length } = await anthropic.beta.messages.countTokens(body());
    const trigger = { type: "input_tokens", value: length + above } as const;
    const message = await anthropic.beta.messages.create(body(compact({ trigger })));
    expect(message.content.some(({ type }) => type === "compaction")).toBe(isCompacted);
    expect(engine.requests).toHaveLength(isCompacted ? 2 : 1);
    expect(message.usage.iterations === undefined).toBe(!isCompacted);
  });

  test("without a trigger, what the context has room for counts", async () => {
    const { anthropic, engine } = start([SUMMARY, ANSWER, ANSWER], 180);
    const long = body({ edits: [{ type: "compact_20260112" }] });
    expect((await anthropic.beta.messages.create(long)).content[0]?.type).toBe("compaction");
    const short = { ...long, system: "", messages: messages.slice(-1) };
    expect((await anthropic.beta.messages.create(short)).content[0]?.type).toBe("text");
    expect(engine.requests).toHaveLength(3);
  });

  test("a pause ends the reply with the summary", async () => {
    for (const stream of [false, true]) {
      const { anthropic, engine } = start([SUMMARY]);
      const asked = body(compact({ pause_after_compaction: true, instructions: "Sum up." }));
      const message = stream
        ? await anthropic.beta.messages.stream(asked).finalMessage()
        : await anthropic.beta.messages.create(asked);
      expect(message).toMatchObject({
        content: [{ type: "compaction", content: "They said hello." }],
        stop_reason: "compaction",
        usage: { input_tokens: 0, output_tokens: 0, iterations: [{ type: "compaction" }] },
      });
      expect(engine.prompts[0]).toMatch(/user<\|message\|>Sum up\.<\|end\|><\|start\|>assistant$/);
    }
  });

  test.each<[string, Script]>([
    ["is empty", "<|channel|>final<|message|> <|return|>"],
    ["was cut off", { write: "<|channel|>final<|message|>They", finish: "length" }],
  ])("a summary that %s is null, and the whole prompt is answered", async (_, script) => {
    // The engine gets a second request for an answer after an empty one.
    const { anthropic, messagesOf, engine } = start([script, ANSWER]);
    const message = await anthropic.beta.messages.create(body());
    expect(message.content).toMatchObject([
      { type: "compaction", content: null },
      { type: "text", text: "Done." },
    ]);
    expect(messagesOf(engine.requests.length - 1)?.at(-1)).toBe("user<|message|>And now?<|end|>");
  });

  test("a call in place of the summary is refused", async () => {
    const call = "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>";
    const { anthropic, messagesOf } = start([call, SUMMARY, ANSWER]);
    const tools = [{ name: "f", input_schema: { type: "object" as const } }];
    const message = await anthropic.beta.messages.create({ ...body(), tools });
    expect(message.content).toMatchObject([
      { type: "compaction", content: "They said hello." },
      { type: "text", text: "Done." },
    ]);
    expect(messagesOf(1)?.at(-1)).toContain("cannot be called now. Functions: none.");
  });

  test("in a running loop, the summary is made with its thinking, and the answer without", async () => {
    const call = `<|channel|>analysis<|message|>I need f.<|end|><|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>`;
    const { anthropic, messagesOf } = start([call, SUMMARY, ANSWER]);
    const tools = [{ name: "f", input_schema: { type: "object" as const } }];
    const first = await anthropic.beta.messages.create({ ...body({ edits: [] }), tools });
    const use = first.content.find(({ type }) => type === "tool_use");
    const id = use?.type === "tool_use" ? use.id : "";
    const second = await anthropic.beta.messages.create({
      ...body(),
      tools,
      messages: [
        ...messages,
        { role: "assistant", content: first.content },
        { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: "42" }] },
      ],
    });
    expect(messagesOf(1)).toContainEqual(expect.stringContaining("I need f."));
    expect(messagesOf(2)?.slice(1)).toEqual([...KEPT, SUMMARIZED]);
    expect(second.content.map(({ type }) => type)).toEqual(["compaction", "text"]);
  });

  test("results are cleared first, and what is left may not reach the trigger", async () => {
    const turns = Array.from({ length: 4 }, (_, at): Anthropic.Beta.BetaMessageParam[] => [
      { role: "assistant", content: [{ type: "tool_use", id: `c${at}`, name: "f", input: {} }] },
      {
        role: "user",
        content: [{ type: "tool_result", tool_use_id: `c${at}`, content: "long ".repeat(200) }],
      },
    ]);
    const { anthropic, engine } = start([ANSWER]);
    const message = await anthropic.beta.messages.create({
      ...body({
        edits: [
          {
            type: "clear_tool_uses_20250919",
            trigger: { type: "tool_uses", value: 1 },
            keep: { type: "tool_uses", value: 1 },
          },
          { type: "compact_20260112", trigger: { type: "input_tokens", value: 700 } },
        ],
      }),
      tools: [{ name: "f", input_schema: { type: "object" } }],
      messages: [{ role: "user", content: "Go." }, ...turns.flat()],
    });
    expect(message.context_management?.applied_edits).toHaveLength(1);
    expect(engine.requests).toHaveLength(1);
  });

  test.each([
    ["a negative trigger", { trigger: { type: "input_tokens", value: -1 } }],
    ["a trigger of tool uses", { trigger: { type: "tool_uses", value: 1 } }],
    ["a pause that is no boolean", { pause_after_compaction: "yes" }],
  ])("%s is a 400", async (_, fields) => {
    const { post, engine } = start([]);
    const response = await post("/v1/messages", body(compact(fields)));
    expect([response.status, engine.requests.length]).toEqual([400, 0]);
  });

  test("the beginning of an answer is continued, not compacted", async () => {
    const { anthropic, engine } = start(["And so on.<|return|>"]);
    await anthropic.beta.messages.create({
      ...body(),
      messages: [...messages, { role: "assistant", content: "Well:" }],
    });
    expect(engine.requests).toHaveLength(1);
  });

  test("an engine that is down is an error as ever", async () => {
    const { post } = start([{ refuse: new Error("down") }]);
    expect((await post("/v1/messages", body())).status).toBe(500);
  });

  test("the list of models says that it is supported", async () => {
    const { data } = await start([]).anthropic.models.list();
    expect(data[0]?.capabilities?.context_management).toMatchObject({
      supported: true,
      compact_20260112: { supported: true },
    });
  });
});

describe("Responses", () => {
  /** The items as a client appends them. */
  const sent = ({ output }: OpenAI.Responses.Response) =>
    output.filter((item) => item.type === "compaction" || item.type === "message");
  const input: OpenAI.Responses.ResponseInputItem[] = [
    { role: "user", content: "Hello." },
    { role: "assistant", content: "Hello to you." },
    { role: "user", content: "And now?" },
  ];
  const body = (threshold: number | undefined = 1) => ({
    model: MODEL,
    instructions: "Be brief.",
    input,
    context_management: [
      { type: "compaction", ...(threshold !== undefined && { compact_threshold: threshold }) },
    ],
  });

  test("the response begins with an item, and is made from its summary", async () => {
    const { client, messagesOf, engine } = start([SUMMARY, ANSWER]);
    const response = await client.responses.create(body());
    expect(response.output).toMatchObject([
      {
        id: expect.stringMatching(/^cmp_/),
        type: "compaction",
        encrypted_content: expect.any(String),
      },
      { type: "message" },
    ]);
    expect(response.output_text).toBe("Done.");
    expect(messagesOf(0)?.slice(-1)).toEqual([expect.stringMatching(ASKED)]);
    expect(messagesOf(1)).toEqual([
      "developer<|message|># Instructions\n\nBe brief.<|end|>",
      ...KEPT,
      SUMMARIZED,
    ]);
    expect(response.usage?.input_tokens).toBe(engine.requests[1]?.prompt.ids.length);
  });

  test("streamed, its events are those of OpenAI, in the SDK's order", async () => {
    const { client } = start([SUMMARY, ANSWER]);
    const stream = client.responses.stream(body());
    const types: string[] = [];
    for await (const { type } of stream) types.push(type);
    expect(types.slice(0, 6)).toEqual([
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.compaction.compacting",
      "response.output_item.done",
      "response.output_item.added",
    ]);
    const { output } = await stream.finalResponse();
    expect(output.map(({ type }) => type)).toEqual(["compaction", "message"]);
  });

  test("the next request goes on from the summary, with and without a store", async () => {
    const { client, messagesOf } = start([SUMMARY, ANSWER, ANSWER, ANSWER]);
    const first = await client.responses.create(body());
    const next = { role: "user", content: "Thanks." } as const;
    const request = { model: MODEL, instructions: "Be brief." };
    await client.responses.create({ ...request, previous_response_id: first.id, input: [next] });
    await client.responses.create({ ...request, input: [...input, ...sent(first), next] });
    const expected = [
      ...KEPT,
      SUMMARIZED,
      "assistant<|channel|>final<|message|>Done.<|end|>",
      "user<|message|>Thanks.<|end|>",
    ];
    expect(messagesOf(2)?.slice(1)).toEqual(expected);
    expect(messagesOf(3)?.slice(1)).toEqual(expected);
  });

  test.each([
    [0, true],
    [1, false],
  ])("a threshold %i tokens above the prompt's length compacts: %s", async (above, isCompacted) => {
    const { client, engine } = start(isCompacted ? [SUMMARY, ANSWER] : [ANSWER]);
    const { input_tokens: length } = await client.responses.inputTokens.count({
      model: MODEL,
      instructions: "Be brief.",
      input,
    });
    const response = await client.responses.create(body(length + above));
    expect(response.output.some(({ type }) => type === "compaction")).toBe(isCompacted);
    expect(engine.requests).toHaveLength(isCompacted ? 2 : 1);
  });

  test("without a threshold, what the context has room for counts", async () => {
    const { client } = start([SUMMARY, ANSWER, ANSWER], 180);
    const { context_management: rules, ...rest } = body();
    const open = { ...rest, context_management: rules.map(({ type }) => ({ type })) };
    expect((await client.responses.create(open)).output[0]?.type).toBe("compaction");
    const short = { ...open, instructions: "", input: "Hi." };
    expect((await client.responses.create(short)).output[0]?.type).toBe("message");
  });

  test("a threshold below the fixed part compacts once in each response", async () => {
    const { client, engine } = start([SUMMARY, ANSWER, SUMMARY, ANSWER]);
    const first = await client.responses.create(body());
    await client.responses.create({ ...body(), previous_response_id: first.id, input: "Go on." });
    expect(engine.requests).toHaveLength(4);
  });

  test("a summary that fails leaves the response as it would be", async () => {
    const { client, messagesOf } = start(["<|channel|>final<|message|> <|return|>", ANSWER]);
    const response = await client.responses.create(body());
    expect(response.output.map(({ type }) => type)).toEqual(["message"]);
    expect(messagesOf(1)?.at(-1)).toBe("user<|message|>And now?<|end|>");
  });

  test.each([
    ["null", null],
    ["an empty list", []],
    ["another type", [{ type: "other" }]],
  ])("%s changes nothing", async (_, rules) => {
    const { post, engine } = start([ANSWER]);
    const response = await post("/v1/responses", { ...body(), context_management: rules });
    expect([response.status, engine.requests.length]).toEqual([200, 1]);
  });

  test.each([
    ["a threshold of 0", [{ type: "compaction", compact_threshold: 0 }]],
    ["a rule without a type", [{ compact_threshold: 5 }]],
    ["no list", { type: "compaction" }],
  ])("%s is a 400", async (_, rules) => {
    const { post, engine } = start([]);
    const response = await post("/v1/responses", { ...body(), context_management: rules });
    expect([response.status, engine.requests.length]).toEqual([400, 0]);
  });
});

describe("the user's words before a summary", () => {
  const LONG = (name: string) => `${name} ${"word ".repeat(200)}`.trim();
  const said = ["one", "two", "three", "four"].map((name) => LONG(name));
  const compactions = (output: readonly OpenAI.Responses.ResponseOutputItem[]) =>
    output.filter((item) => item.type === "compaction");
  /** The first words of the user's messages in a prompt. */
  const namesIn = (messages: readonly string[] | undefined) =>
    (messages ?? []).flatMap((text) => /^user<\|message\|>(\w+) word/.exec(text)?.[1] ?? []);

  test("Responses: stay before a compaction item, also where the client sends what it summarizes", async () => {
    const { client, messagesOf } = start([SUMMARY, ANSWER], 131_072);
    const input: OpenAI.Responses.ResponseInput = [
      { role: "developer", content: "Use tabs." },
      { role: "user", content: LONG("one") },
      { role: "assistant", content: "Step one is done." },
      { type: "function_call", call_id: "c1", name: "f", arguments: "{}" },
      { type: "function_call_output", call_id: "c1", output: "secret result" },
      { role: "user", content: LONG("two") },
    ];
    const tools = [{ type: "function", name: "f", parameters: {}, strict: false } as const];
    const { output } = await client.responses.create({
      model: MODEL,
      tools,
      input: [...input, { type: "compaction_trigger" }],
    });
    await client.responses.create({
      model: MODEL,
      tools,
      input: [...input, ...compactions(output)],
    });
    const prompt = messagesOf(1) ?? [];
    expect(namesIn(prompt)).toEqual(["one", "two"]);
    expect(prompt.at(-1)).toBe(SUMMARIZED);
    expect(prompt.join("")).toContain("Use tabs.");
    expect(prompt.join("")).not.toMatch(/Step one|secret result/);
  });

  test("Responses: the oldest go where they do not fit into the context", async () => {
    const { client, messagesOf } = start([SUMMARY, ANSWER], 1000);
    const { output } = await client.responses.create({
      model: MODEL,
      input: [{ role: "user", content: "Hello." }, { type: "compaction_trigger" }],
    });
    const words = said.map((content) => ({ role: "user", content }) as const);
    await client.responses.create({ model: MODEL, input: [...words, ...compactions(output)] });
    expect(namesIn(messagesOf(1))).toEqual(["two", "three", "four"]);
    expect(messagesOf(1)?.at(-1)).toBe(SUMMARIZED);
  });

  test("Messages: the oldest go where they do not fit into the context", async () => {
    const { anthropic, messagesOf } = start([ANSWER], 1000);
    await anthropic.beta.messages.create({
      model: MODEL,
      max_tokens: 100,
      messages: [
        ...said.map((content) => ({ role: "user", content }) as const),
        { role: "assistant", content: [{ type: "compaction", content: "They said hello." }] },
        { role: "user", content: "Go on." },
      ],
    });
    expect(namesIn(messagesOf(0))).toEqual(["two", "three", "four"]);
    expect(messagesOf(0)?.slice(-2)).toEqual([SUMMARIZED, "user<|message|>Go on.<|end|>"]);
  });

  test("Messages: words that reach the trigger by themselves are not summarized again", async () => {
    const { anthropic, engine } = start([SUMMARY, ANSWER, ANSWER], 131_072);
    const request = {
      model: MODEL,
      max_tokens: 100,
      context_management: {
        edits: [{ type: "compact_20260112", trigger: { type: "input_tokens", value: 400 } }],
      } satisfies Anthropic.Beta.BetaContextManagementConfig,
    };
    const messages = said.map((content) => ({ role: "user", content }) as const);
    const { content } = await anthropic.beta.messages.create({ ...request, messages });
    const next = [
      ...messages,
      { role: "assistant", content } as const,
      { role: "user", content: "Thanks." } as const,
    ];
    await anthropic.beta.messages.create({ ...request, messages: next });
    expect(engine.requests).toHaveLength(3);
  });

  test("Responses: words that reach the threshold by themselves are not summarized again", async () => {
    const { client, engine } = start([SUMMARY, ANSWER, ANSWER], 131_072);
    const rules = [{ type: "compaction", compact_threshold: 400 }];
    const request = { model: MODEL, context_management: rules };
    const input = said.map((content) => ({ role: "user", content }) as const);
    const { id } = await client.responses.create({ ...request, input });
    await client.responses.create({ ...request, previous_response_id: id, input: "Thanks." });
    expect(engine.requests).toHaveLength(3);
  });
});
