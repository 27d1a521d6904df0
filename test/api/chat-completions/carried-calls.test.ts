/** Calls that the gateway ran, sent back by a client without a shared store, with OpenAI's own client. */
import type OpenAI from "openai";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { type BrowsingApp, createBrowsingApp, MODEL } from "../../helpers/browsing-app.ts";
import { type ScriptedEngine, scriptedEngine } from "../../helpers/scripted-engine.ts";

const SEALING_KEY = Buffer.alloc(32, "k").toString("base64url");

const SCRIPT = [
  "<|channel|>analysis<|message|>Search first.<|end|><|start|>assistant" +
    ' to=browser.search<|channel|>analysis code<|message|>{"query":"policy rate"}<|call|>',
  ' to=browser.open<|channel|>analysis code<|message|>{"cursor":0,"id":0}<|call|>',
  "<|channel|>analysis<|message|>Compute.\n\nThen ask.<|end|><|start|>assistant" +
    " to=python<|channel|>analysis code<|message|>print(1)<|call|>",
  "<|channel|>analysis<|message|>Now ask.<|end|><|start|>assistant" +
    " to=functions.ask<|channel|>commentary <|constrain|>json<|message|>{}<|call|>",
  ' to=browser.find<|channel|>analysis code<|message|>{"pattern":"rate"}<|call|>',
  "<|channel|>final<|message|>It is 0.5%【1†L4】.<|return|>",
];

const tools = [
  { type: "browser_search" },
  { type: "code_interpreter" },
  { type: "function", function: { name: "ask", parameters: { type: "object" } } },
];
const HELLO = { role: "user", content: "?" };

const message = z.looseObject({
  content: z.string().nullish(),
  reasoning: z.string().nullish(),
  reasoning_details: z.array(z.looseObject({ type: z.string(), index: z.int() })).optional(),
  tool_calls: z.array(z.looseObject({ id: z.string().optional() })).optional(),
});
type Message = z.infer<typeof message>;

/** OpenAI's client has no types for other vendors' tools and fields. */
function toParams(fields: object): OpenAI.ChatCompletionCreateParamsNonStreaming {
  return JSON.parse(JSON.stringify({ model: MODEL, tools, ...fields }));
}

const WAYS: readonly {
  name: string;
  send: (app: BrowsingApp, fields: object) => Promise<Message>;
}[] = [
  {
    name: "plain",
    async send({ client }, fields) {
      const { choices } = await client.chat.completions.create(toParams(fields));
      return message.parse(choices[0]?.message);
    },
  },
  {
    name: "streamed, with the details of all chunks in one list",
    async send({ client }, fields) {
      const chunks = await client.chat.completions.create({ ...toParams(fields), stream: true });
      const whole: Message = { role: "assistant" };
      for await (const { choices } of chunks) {
        const delta = message.partial().parse(JSON.parse(JSON.stringify(choices[0]?.delta ?? {})));
        whole.content = (whole.content ?? "") + (delta.content ?? "");
        whole.reasoning_details = [
          ...(whole.reasoning_details ?? []),
          ...(delta.reasoning_details ?? []),
        ];
        const [call] = delta.tool_calls ?? [];
        if (call?.id) whole.tool_calls = [{ ...call, function: { name: "ask", arguments: "{}" } }];
      }
      return whole;
    },
  },
];

function start(engine: ScriptedEngine, settings: object): BrowsingApp {
  return createBrowsingApp({
    engine,
    settings: { sealingKeys: [SEALING_KEY], storeMaxBytes: 1, ...settings },
  });
}

/** The loop's second request, on another gateway. */
function follow(first: Message): object[] {
  const [call] = first.tool_calls ?? [];
  return [
    HELLO,
    { role: "assistant", ...first },
    { role: "tool", tool_call_id: call?.id, content: "yes" },
  ];
}

const POLICIES = ["raw", "sealed"] as const;

describe.each(WAYS)("$name", ({ send }) => {
  test.each(POLICIES)(
    "with %s reasoning, a loop goes on with exactly what the model saw",
    async (reasoningPolicy) => {
      const engine = scriptedEngine(SCRIPT, { batch: 3 });
      const first = await send(start(engine, { reasoningPolicy }), { messages: [HELLO] });
      const details = first.reasoning_details ?? [];
      const indexes = details.flatMap(({ type, index }) =>
        type === "reasoning.encrypted" ? [index] : [],
      );
      expect(new Set(indexes).size).toBe(indexes.length);
      const next = await send(start(engine, { reasoningPolicy }), { messages: follow(first) });
      const [, , , before = "", after = ""] = engine.prompts;
      expect(after.startsWith(before)).toBe(true);
      expect(after).toContain("<|message|>Now ask.<|end|>");
      expect(next.content).toBe("It is 0.5% ([files.example](https://files.example/rates.md)).");
    },
  );

  test("after an answer nothing is carried", async () => {
    const engine = scriptedEngine([...SCRIPT.slice(0, 3), SCRIPT[5] ?? ""]);
    const first = await send(start(engine, {}), { messages: [HELLO] });
    const details = first.reasoning_details ?? [];
    expect(details.map(({ type }) => type)).not.toContain("reasoning.encrypted");
  });
});

test("OpenAI's stream helper, which keeps the last value of fields it does not know", async () => {
  const engine = scriptedEngine(SCRIPT, { batch: 3 });
  const stream = start(engine, {}).client.chat.completions.stream({
    ...toParams({ messages: [HELLO] }),
    stream: true,
  });
  const { choices } = await stream.finalChatCompletion();
  const first = message.parse(JSON.parse(JSON.stringify(choices[0]?.message)));
  await WAYS[0]?.send(start(engine, {}), { messages: follow(first) });
  const [, , , before = "", after = ""] = engine.prompts;
  expect(after.startsWith(before)).toBe(true);
});

describe("what the client altered", () => {
  async function second(alter: (first: Message) => Message): Promise<string> {
    const engine = scriptedEngine(SCRIPT);
    const [way] = WAYS;
    const first = await way?.send(start(engine, {}), { messages: [HELLO] });
    if (first === undefined) throw new Error("no first message");
    await way?.send(start(engine, {}), { messages: follow(alter(first)) });
    return engine.prompts[4] ?? "";
  }

  test("its own reasoning counts, behind the calls that the gateway ran", async () => {
    const prompt = await second((first) => ({
      ...first,
      reasoning_details: (first.reasoning_details ?? []).map((detail) =>
        detail.type === "reasoning.text" ? { ...detail, text: "Something else." } : detail,
      ),
    }));
    expect(prompt).toMatch(
      /<\|start\|>python to=assistant.*<\|message\|>Something else\.<\|end\|><\|start\|>assistant to=functions\.ask/s,
    );
  });

  test("without one of the calls, none of them is put in", async () => {
    const prompt = await second((first) => {
      const details = first.reasoning_details ?? [];
      const lost = details.findIndex(({ type }) => type === "reasoning.encrypted");
      return { ...first, reasoning_details: details.filter((_, at) => at !== lost) };
    });
    expect(prompt).not.toContain("to=browser");
    expect(prompt).toContain("<|message|>Now ask.<|end|>");
  });
});
