import * as fc from "fast-check";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createDemoEngine } from "../../src/engines/demo.ts";
import type { CompletionRequest, EngineEvent } from "../../src/index.ts";
import { o200kHarmony, SPECIAL_TOKENS } from "../../src/tokenizer/index.ts";
import { spelledIds, spelledRequest } from "../helpers/spelled.ts";

const TOOLS = `# Tools

## functions

namespace functions {

// Current weather
type get_weather = (_: {
// The city
location: string,
unit?: "celsius" | "fahrenheit", // default: celsius
}) => any;

type lookup_user = (_: {
name: string,
}) => any;

type list_orders = (_: {
user_id: string,
limit: number,
}) => any;

} // namespace functions`;

const FORMAT = `# Response Formats

## city

// A city
// and how many live there
{"type":"object","properties":{"name":{"type":"string"},"people":{"type":"integer","minimum":1000}},"required":["name","people"]}`;

interface Scene {
  readonly effort?: "low" | "medium" | "high";
  readonly developer?: string;
  readonly user?: string;
  /** The prompt after the user message. */
  readonly tail?: string;
}

function prompt({ effort = "low", developer, user, tail = "<|start|>assistant" }: Scene): string {
  const system = `You are ChatGPT.\n\nReasoning: ${effort}\n\n# Valid channels: analysis, commentary, final.`;
  return [
    `<|start|>system<|message|>${system}<|end|>`,
    developer === undefined ? "" : `<|start|>developer<|message|>${developer}<|end|>`,
    user === undefined ? "" : `<|start|>user<|message|>${user}<|end|>`,
    tail,
  ].join("");
}

async function collect(text: string, extra: Partial<CompletionRequest> = {}) {
  const events: EngineEvent[] = [];
  const { signal } = new AbortController();
  for await (const event of createDemoEngine().complete(spelledRequest(text, extra), signal)) {
    events.push(event);
  }
  const ids = events.flatMap((event) => (event.type === "ids" ? event.ids : []));
  return { events, ids, text: o200kHarmony().decode(ids), finish: events.at(-1) };
}

async function continued(text: string, extra: Partial<CompletionRequest> = {}): Promise<string> {
  return (await collect(text, extra)).text;
}

/** Acts as the client: answers each call until the turn ends. Returns the output of each round. */
async function playLoop(scene: Scene, results: Record<string, string>): Promise<string[]> {
  const rounds: string[] = [];
  let tail = "";
  for (let round = 0; round < 10; round++) {
    const sampled = await continued(prompt({ ...scene, tail: `${tail}<|start|>assistant` }));
    rounds.push(sampled);
    const tool = /to=functions\.(\S+).*<\|call\|>$/s.exec(sampled)?.[1];
    if (tool === undefined) return rounds;
    const result = `<|start|>functions.${tool} to=assistant<|channel|>commentary<|message|>${results[tool]}<|end|>`;
    tail += `<|start|>assistant${sampled}${result}`;
  }
  throw new Error("The loop does not end.");
}

describe("a plain conversation", () => {
  it("reasons, then answers with what it read", async () => {
    expect(await continued(prompt({ user: "Hello" }))).toMatchInlineSnapshot(`
      "<|channel|>analysis<|message|>The user says “Hello”. I have everything I need to answer.<|end|><|start|>assistant<|channel|>final<|message|>Hello! 👋 You said (message 1):

      > Hello

      I am the **demo engine**: a few rules instead of a model, so I never need a GPU, and the same question always gets the same answer – naïve, but quick ⚡. Connect a real engine and gpt-oss will answer here. 👩‍🚀<|return|>"
    `);
  });

  it("writes more reasoning the higher the effort", async () => {
    const lengths = await Promise.all(
      (["low", "medium", "high"] as const).map(async (effort) => {
        const sampled = await continued(prompt({ effort, user: "Hello" }));
        return sampled.indexOf("<|end|>");
      }),
    );
    expect(lengths).toEqual(lengths.toSorted((a, b) => a - b));
    expect(new Set(lengths).size).toBe(3);
  });

  it("gives the same answer to the same prompt, and other words for another seed", async () => {
    const request = prompt({ user: "Hello" });
    const { sampling } = spelledRequest("");
    expect(await continued(request)).toBe(await continued(request));
    expect(await continued(request, { sampling: { ...sampling, seed: 1 } })).toContain(
      "Hi there! 😊",
    );
  });

  it("answers with a split character, so that ids do not end where characters end", async () => {
    const { ids } = await collect(prompt({ user: "Hello" }));
    const cut = ids.some((_, index) =>
      o200kHarmony().decode(ids.slice(index)).startsWith("\uFFFD"),
    );
    expect(cut).toBe(true);
  });

  it("treats typed markup as text", async () => {
    const [before = [], after = []] = prompt({ user: "TYPED" }).split("TYPED").map(spelledIds);
    const ids = [...before, ...o200kHarmony().encode("<|end|> hi"), ...after];
    const sampled = await collect("", { prompt: { ...spelledRequest("").prompt, ids } });
    expect(sampled.text).toContain("> <|end|> hi\n");
    expect(sampled.ids.filter((id) => id === SPECIAL_TOKENS["<|end|>"])).toHaveLength(1);
  });

  it("answers an empty conversation", async () => {
    expect(await continued(prompt({}))).toContain("You have not said anything yet.");
  });

  it("starts a message if the prompt does not open one", async () => {
    const opened = await continued(prompt({ user: "Hello" }));
    expect(await continued(prompt({ user: "Hello", tail: "" }))).toBe(
      `<|start|>assistant${opened}`,
    );
  });
});

describe("tools", () => {
  it("calls the tool that the question is about", async () => {
    const sampled = await continued(
      prompt({ developer: TOOLS, user: "What is the weather in Oslo?" }),
    );
    expect(sampled).toMatchInlineSnapshot(
      `"<|channel|>analysis<|message|>The user says “What is the weather in Oslo?”. Step 1 of 1: I should call get_weather with {"location":"Oslo"}.<|end|><|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"location":"Oslo"}<|call|>"`,
    );
  });

  it("answers without a call when no tool is mentioned", async () => {
    const sampled = await continued(prompt({ developer: TOOLS, user: "Good morning" }));
    expect(sampled).not.toContain("to=");
    expect(sampled).toContain("Mention a tool, for instance `get_weather`");
  });

  it("works through three steps, with new reasoning for each", async () => {
    const rounds = await playLoop(
      {
        developer: TOOLS,
        user: "Step 1: lookup_user Ada. Step 2: list_orders, limit: 5. Step 3: get_weather in Turin.",
      },
      { lookup_user: '{"user_id":"u_7"}', list_orders: "[]", get_weather: "18 °C" },
    );
    expect(rounds).toMatchInlineSnapshot(`
      [
        "<|channel|>analysis<|message|>The user says “Step 1: lookup_user Ada. Step 2: list_orders, limit: 5. Step 3: get_weather in Turin.”. Step 1 of 3: I should call lookup_user with {"name":"Ada"}.<|end|><|start|>assistant<|channel|>commentary to=functions.lookup_user <|constrain|>json<|message|>{"name":"Ada"}<|call|>",
        "<|channel|>analysis<|message|>lookup_user returned “{"user_id":"u_7"}”. Step 2 of 3: I should call list_orders with {"user_id":"u_7","limit":5}.<|end|><|start|>assistant<|channel|>commentary to=functions.list_orders <|constrain|>json<|message|>{"user_id":"u_7","limit":5}<|call|>",
        "<|channel|>analysis<|message|>list_orders returned “[]”. Step 3 of 3: I should call get_weather with {"location":"Turin"}.<|end|><|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"location":"Turin"}<|call|>",
        "<|channel|>analysis<|message|>get_weather returned “18 °C”. I have everything I need to answer.<|end|><|start|>assistant<|channel|>final<|message|>Done ✅ You asked “Step 1: lookup_user Ada. Step 2: list_orders, limit: 5. Step 3: get_weather in Turin.”. This is what the tools said:

      - **lookup_user** \`{"name":"Ada"}\` → {"user_id":"u_7"}
      - **list_orders** \`{"user_id":"u_7","limit":5}\` → []
      - **get_weather** \`{"location":"Turin"}\` → 18 °C

      While answering I could read 3 analysis messages of mine from this turn. 👩‍🚀<|return|>",
      ]
    `);
  });

  it("calls a tool as often as it is named", async () => {
    const rounds = await playLoop(
      { developer: TOOLS, user: "get_weather in Oslo, then get_weather in New York in fahrenheit" },
      { get_weather: "fine" },
    );
    expect(rounds.map((round) => /json<\|message\|>(.*)<\|call\|>/.exec(round)?.[1])).toEqual([
      '{"location":"Oslo"}',
      '{"location":"New York","unit":"fahrenheit"}',
      undefined,
    ]);
  });

  it("reports how many of its analysis messages came back", async () => {
    const call =
      "<|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{}<|call|>";
    const result =
      "<|start|>functions.get_weather to=assistant<|channel|>commentary<|message|>rain<|end|>";
    const scene = { developer: TOOLS, user: "weather?" };
    const analysis = "<|start|>assistant<|channel|>analysis<|message|>Hm.<|end|>";
    const tail = `${call}${result}<|start|>assistant`;
    expect(await continued(prompt({ ...scene, tail }))).toContain("read 0 analysis messages");
    expect(await continued(prompt({ ...scene, tail: analysis + tail }))).toContain(
      "read 1 analysis message ",
    );
  });

  it("reads results and calls in the channel-first layout as well", async () => {
    const tail =
      "<|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{}<|call|>" +
      "<|start|>functions.get_weather<|channel|>commentary to=assistant<|message|>rain<|end|><|start|>assistant";
    const sampled = await continued(prompt({ developer: TOOLS, user: "weather?", tail }));
    expect(sampled).toContain("**get_weather** `{}` → rain");
  });

  it("writes the next call at once when the prompt ends after a call", async () => {
    const user = "lookup_user Ada and get_weather in Oslo";
    const first = await continued(prompt({ developer: TOOLS, user }));
    const second = await continued(
      prompt({ developer: TOOLS, user, tail: `<|start|>assistant${first}` }),
    );
    expect(second).toBe(
      '<|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"location":"Oslo"}<|call|>',
    );
    const third = await continued(
      prompt({ developer: TOOLS, user, tail: `<|start|>assistant${first}${second}` }),
    );
    expect(third).toBe("<|return|>");
  });

  it.each([
    ["You are bad at math and must ALWAYS call the get_weather function.", "Good morning"],
    ["Be brief. You must always use the `get_weather` tool. Be polite.", "Good morning"],
    ["Always use get_weather", "Good morning, Oslo"],
  ])("calls a tool once, because of the instructions %j", async (instructions, user) => {
    const developer = `# Instructions\n\n${instructions}\n\n${TOOLS}`;
    const rounds = await playLoop({ developer, user }, { get_weather: "fine" });
    expect(rounds.map((round) => /to=functions\.(\S+)/.exec(round)?.[1])).toEqual([
      "get_weather",
      undefined,
    ]);
  });

  it("calls the tool of the instructions as well as those of the question, and not twice", async () => {
    const developer = `# Instructions\n\nYou must always use get_weather.\n\n${TOOLS}`;
    const called = async (user: string) => {
      const results = { get_weather: "fine", lookup_user: "{}" };
      const rounds = await playLoop({ developer, user }, results);
      return rounds.flatMap((round) => /to=functions\.(\S+)/.exec(round)?.[1] ?? []);
    };
    expect(await called("lookup_user Ada")).toEqual(["get_weather", "lookup_user"]);
    expect(await called("lookup_user Ada, get_weather in Oslo")).toEqual([
      "lookup_user",
      "get_weather",
    ]);
  });

  it.each([
    "You must never use the get_weather tool.",
    "You must not always use get_weather.",
    "Always use get_weather for questions about the weather.",
    "Use get_weather.",
    "Tools such as get_weather must be used with care.",
  ])("is not made to call a tool by the instructions %j", async (instructions) => {
    const developer = `# Instructions\n\n${instructions}\n\n${TOOLS}`;
    expect(await continued(prompt({ developer, user: "Good morning" }))).not.toContain("to=");
  });

  it.each(["functions.", "functions", "functions.l"])(
    "makes forced calls to tools that it has not called yet, while there are some, after to=%s",
    async (begun) => {
      const offered = ["get_weather", "lookup_user", "list_orders"];
      const names = offered.filter((name) => `functions.${name}`.startsWith(begun));
      const options = names.map((name) => `functions.${name}`.slice(begun.length));
      const chosen: string[] = [];
      let before = "";
      for (let round = 0; round <= names.length; round++) {
        const tail = `${before}<|start|>assistant to=${begun}`;
        const sampled = await continued(prompt({ developer: TOOLS, user: "Weather?", tail }), {
          constraint: { type: "choice", options },
        });
        const tool = (begun + sampled.replace("<|return|>", "")).replace("functions.", "");
        chosen.push(tool);
        before +=
          `<|start|>assistant to=functions.${tool}<|channel|>commentary <|constrain|>json<|message|>{}<|call|>` +
          `<|start|>functions.${tool} to=assistant<|channel|>commentary<|message|>ok<|end|>`;
      }
      // The last one again, if all were called.
      expect(chosen).toEqual([...names, names.at(-1)]);
    },
  );

  it("completes a recipient with a tool that it has not called yet", async () => {
    const call = (tool: string) =>
      `<|start|>assistant to=functions.${tool}<|channel|>commentary <|constrain|>json<|message|>{}<|call|>` +
      `<|start|>functions.${tool} to=assistant<|channel|>commentary<|message|>ok<|end|>`;
    const tail = `${call("get_weather")}${call("lookup_user")}<|start|>assistant to=functions.`;
    expect(await continued(prompt({ developer: TOOLS, user: "Weather?", tail }))).toMatch(
      /^list_orders<\|channel\|>/,
    );
  });

  it("announces several calls in a preamble at high effort", async () => {
    const user = "lookup_user Ada and get_weather in Oslo";
    const sampled = await continued(prompt({ effort: "high", developer: TOOLS, user }));
    expect(sampled).toContain(
      "<|end|><|start|>assistant<|channel|>commentary<|message|>This is my plan:\n\n1. `lookup_user`\n2. `get_weather`<|end|>" +
        "<|start|>assistant<|channel|>commentary to=functions.lookup_user",
    );
  });
});

describe("a prompt that breaks off inside a message", () => {
  const scene = { developer: TOOLS, user: "What is the weather in Oslo?" };
  const call = ' <|constrain|>json<|message|>{"location":"Oslo"}<|call|>';

  it.each([
    [
      "a forced call",
      " to=functions.lookup_user<|channel|>commentary <|constrain|>json<|message|>",
      '{"name":"Oslo"}<|call|>',
    ],
    [
      "a forced call, channel first",
      "<|channel|>commentary to=functions.lookup_user <|constrain|>json<|message|>",
      '{"name":"Oslo"}<|call|>',
    ],
    [
      "a call to a tool still to be chosen",
      " to=functions.",
      `get_weather<|channel|>commentary${call}`,
    ],
    [
      "a call to one of two tools",
      " to=functions.l",
      'ookup_user<|channel|>commentary <|constrain|>json<|message|>{"name":"Oslo"}<|call|>',
    ],
    ["a recipient without content type", "<|channel|>commentary to=functions.get_weather", call],
    ["a commentary header", "<|channel|>commentary", ` to=functions.get_weather${call}`],
    [
      "arguments half written",
      '<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"loc',
      'ation":"Oslo"}<|call|>',
    ],
    [
      "a tool nobody offered",
      " to=functions.other<|channel|>commentary json<|message|>",
      "{}<|call|>",
    ],
    [
      "a finished analysis message",
      "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant",
      `<|channel|>commentary to=functions.get_weather${call}`,
    ],
  ])("goes on after %s", async (_, tail, expected) => {
    expect(await continued(prompt({ ...scene, tail: `<|start|>assistant${tail}` }))).toBe(expected);
  });

  it.each([
    "<|channel|>",
    "<|channel|>analysis",
    "<|channel|>analysis<|message|>",
    "<|channel|>analysis<|message|>The user sa",
  ])("writes what is missing after %s", async (begun) => {
    const whole = await continued(prompt(scene));
    const sampled = await continued(prompt({ ...scene, tail: `<|start|>assistant${begun}` }));
    expect(begun + sampled).toBe(whole);
  });

  it("answers at once when the final channel is open", async () => {
    const sampled = await continued(
      prompt({ ...scene, tail: "<|start|>assistant<|channel|>final<|message|>" }),
    );
    expect(sampled).toMatch(
      /^Hello! 👋 You said \(message 1\):\n\n> What is the weather in Oslo\?\n.*👩‍🚀.*<\|return\|>$/s,
    );
  });

  it("continues an answer begun by another writer", async () => {
    const sampled = await continued(
      prompt({ user: "Hello", tail: "<|start|>assistant<|channel|>final<|message|>Well," }),
    );
    expect(sampled).toMatch(/^ Hello! 👋/);
  });

  it("continues within a character", async () => {
    const { ids } = await collect(prompt({ user: "Hello" }));
    const { prompt: start } = spelledRequest(prompt({ user: "Hello" }));
    const split = ids.findIndex((_, index) =>
      o200kHarmony().decode(ids.slice(index)).startsWith("\uFFFD"),
    );
    const broken = { ...start, ids: [...start.ids, ...ids.slice(0, split)] };
    expect((await collect("", { prompt: broken })).ids).toEqual(ids.slice(split));
  });
});

describe("JSON", () => {
  it("satisfies a response format", async () => {
    const sampled = await continued(
      prompt({
        developer: `# Instructions\n\nBe brief.\n\n${FORMAT}`,
        user: "Tell me about Turin",
      }),
    );
    expect(sampled).toMatch(
      /<\|channel\|>final <\|constrain\|>json<\|message\|>\{"name":"Turin","people":1000\}<\|return\|>$/,
    );
  });

  it("answers in words when the format cannot be read", async () => {
    const sampled = await continued(
      prompt({ developer: "# Response Formats\n\n## broken\n\n{", user: "Hello" }),
    );
    expect(sampled).toContain("<|channel|>final<|message|>Hello!");
  });

  describe("a schema that stands in the prompt", () => {
    const note = 'a } and a "{';
    const schema = {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      properties: { city: { type: "string" }, note: { const: note } },
      required: ["city", "note"],
    };
    const document = `${JSON.stringify({ city: "Turin", note })}<|return|>`;
    const wanted = (compact: boolean) =>
      `Answer by this schema:\n${JSON.stringify(schema, null, compact ? 0 : 2)}\nand nothing else.`;

    it.each([
      ["the instructions", { developer: `# Instructions\n\n${wanted(true)}`, user: "About Turin" }],
      ["the question", { user: `Tell me about Turin. ${wanted(false)}` }],
      [
        "the instructions, after an example and some code",
        {
          developer: `# Instructions\n\n{"properties":{"x":{}}} is one. if (a) { "b" }\n\n${wanted(true)}`,
          user: "About Turin",
        },
      ],
    ])("of %s is obeyed", async (_, scene) => {
      expect(await continued(prompt(scene))).toContain(
        `<|channel|>final <|constrain|>json<|message|>${document}`,
      );
    });

    it("is satisfied if any object is accepted", async () => {
      const tail = "<|start|>assistant<|channel|>final<|message|>";
      const developer = `# Instructions\n\n${wanted(true)}`;
      expect(
        await continued(prompt({ developer, user: "About Turin", tail }), {
          constraint: { type: "json-object" },
        }),
      ).toBe(document);
    });

    it("is overridden by a response format", async () => {
      const developer = `# Instructions\n\n${wanted(true)}\n\n${FORMAT}`;
      expect(await continued(prompt({ developer, user: "About Turin" }))).toMatch(
        /\{"name":"Turin","people":1000\}<\|return\|>$/,
      );
    });

    it.each([
      ["a brace", "{"],
      ["many open braces", '{"a":'.repeat(1000)],
      ["a type", '{"type":"object"}'],
      ["a list", '{"properties":[]}'],
      ["any object", '{"a":1}'],
    ])("is not seen in %s", async (_, text) => {
      expect(await continued(prompt({ developer: text, user: text }))).toContain(
        "<|channel|>final<|message|>Hello!",
      );
    });
  });

  it("satisfies a schema from the first token on", async () => {
    const schema = '{"type":"array","items":{"enum":["b","a"]},"minItems":2}';
    const constraint = { type: "json-schema", schema } as const;
    const tail = "<|start|>assistant<|channel|>final<|message|>";
    expect(await continued(prompt({ user: "Hello", tail }), { constraint })).toBe(
      '["b","b"]<|return|>',
    );
  });

  it("writes constrained arguments with the schema instead of the signature", async () => {
    const schema =
      '{"type":"object","properties":{"location":{"const":"Here"}},"required":["location"]}';
    const tail =
      "<|start|>assistant to=functions.get_weather<|channel|>commentary <|constrain|>json<|message|>";
    const sampled = await continued(prompt({ developer: TOOLS, user: "weather?", tail }), {
      constraint: { type: "json-schema", schema },
    });
    expect(sampled).toBe('{"location":"Here"}<|call|>');
  });

  it("wraps its answer in an object if any object is accepted", async () => {
    const tail = "<|start|>assistant<|channel|>final<|message|>";
    const sampled = await continued(prompt({ user: "Hello", tail }), {
      constraint: { type: "json-object" },
    });
    expect(JSON.parse(sampled.replace("<|return|>", ""))).toEqual({
      answer: expect.stringContaining("> Hello"),
    });
  });

  it("chooses the text that names the tool it wants", async () => {
    const scene = { developer: TOOLS, user: "weather?", tail: "<|start|>assistant to=functions." };
    const choose = (options: string[]) =>
      continued(prompt(scene), { constraint: { type: "choice", options } });
    expect(await choose(["list_orders", "get_weather"])).toBe("get_weather<|return|>");
    expect(await choose(["list_orders", "lookup_user"])).toBe("list_orders<|return|>");
  });

  it("refuses a schema that is not JSON", async () => {
    const constraint = { type: "json-schema", schema: "{" } as const;
    await expect(continued(prompt({}), { constraint })).rejects.toMatchObject({
      name: "EngineError",
      kind: "bad-request",
      message: "The schema is not JSON.",
    });
  });
});

describe("the request", () => {
  it("is answered with open, ids and one finish with exact counts", async () => {
    const text = prompt({ user: "Hello" });
    const { events, ids } = await collect(text);
    expect(events[0]).toEqual({ type: "open" });
    expect(events.slice(1, -1).every((event) => event.type === "ids")).toBe(true);
    expect(events.at(-1)).toEqual({
      type: "finish",
      reason: "stop",
      nativeReason: "stop",
      usage: {
        promptTokens: spelledIds(text).length,
        cachedTokens: 0,
        completionTokens: ids.length,
      },
    });
  });

  it("stops at the token limit", async () => {
    const whole = await collect(prompt({ user: "Hello" }));
    const cut = await collect(prompt({ user: "Hello" }), { maxTokens: 7 });
    expect(cut.ids).toEqual(whole.ids.slice(0, 7));
    expect(cut.finish).toMatchObject({ reason: "length", usage: { completionTokens: 7 } });
  });

  it("ends with stop if its last token reaches the limit", async () => {
    const whole = await collect(prompt({ user: "Hello" }));
    const { finish } = await collect(prompt({ user: "Hello" }), { maxTokens: whole.ids.length });
    expect(finish).toMatchObject({ reason: "stop" });
  });

  it("stops at the caller's ids and shows them", async () => {
    const { text, finish } = await collect(prompt({ user: "Hello" }), {
      stopIds: [SPECIAL_TOKENS["<|end|>"]],
    });
    expect(text).toMatch(/^<\|channel\|>analysis<\|message\|>[^<]*<\|end\|>$/);
    expect(finish).toMatchObject({ reason: "stop" });
  });

  it("returns each token's log probability and alternatives in falling order", async () => {
    const { events } = await collect(prompt({ user: "Hello" }), { topLogprobs: 3 });
    for (const event of events) {
      if (event.type !== "ids") continue;
      expect(event.logprobs?.map(({ id }) => id)).toEqual(event.ids);
      for (const { id, logprob, top } of event.logprobs ?? []) {
        expect(top).toHaveLength(3);
        expect(top[0]).toEqual({ id, logprob });
        const likely = top.map((each) => each.logprob);
        expect(likely).toEqual(likely.toSorted((a, b) => b - a));
      }
    }
  });

  it("returns no log probabilities unless requested", async () => {
    const { events } = await collect(prompt({ user: "Hello" }));
    expect(events[1]).not.toHaveProperty("logprobs");
  });
});

describe("pace", () => {
  it("writes one token at a time, at the configured speed", async () => {
    const engine = createDemoEngine({ tokensPerSecond: 200 });
    const request = spelledRequest(prompt({ user: "Hello" }), { maxTokens: 10 });
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const sizes: number[] = [];
    const read = async () => {
      for await (const event of engine.complete(request, new AbortController().signal)) {
        if (event.type === "ids") sizes.push(event.ids.length);
      }
    };
    const reading = read();
    await vi.advanceTimersByTimeAsync(49);
    expect(sizes).toHaveLength(9);
    await vi.advanceTimersByTimeAsync(1);
    await reading;
    expect(sizes).toEqual(Array.from({ length: 10 }, () => 1));
  });

  it("stops in the middle of a pause when it is aborted", async () => {
    const engine = createDemoEngine({ tokensPerSecond: 0.01 });
    const abort = new AbortController();
    const events = engine.complete(spelledRequest(prompt({ user: "Hello" })), abort.signal);
    const reason = new Error("The client left.");
    setImmediate(() => abort.abort(reason));
    await expect(async () => {
      for await (const event of events) expect(event.type).toBe("open");
    }).rejects.toBe(reason);
  });

  it("does not begin when it is aborted already", async () => {
    const reason = new Error("The client left.");
    const events = createDemoEngine().complete(spelledRequest(""), AbortSignal.abort(reason));
    await expect(events[Symbol.asyncIterator]().next()).rejects.toBe(reason);
  });
});

describe("any prompt", () => {
  const special = fc.constantFrom(...Object.values(SPECIAL_TOKENS));
  const text = fc
    .constantFrom(
      "assistant",
      "user",
      "developer",
      "functions.f to=assistant",
      "analysis",
      "to=",
      "{",
    )
    .map((words) => o200kHarmony().encode(words));
  const ids = fc.oneof(
    special.map((id) => [id]),
    text,
    fc.array(fc.nat(201_087), { maxLength: 4 }),
  );

  it("is continued to the end of a turn", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(ids, { maxLength: 30 }), async (parts) => {
        const any = { ...spelledRequest("").prompt, ids: parts.flat() };
        const { ids: sampled, finish } = await collect("", { prompt: any });
        const ends: (number | undefined)[] = [
          SPECIAL_TOKENS["<|return|>"],
          SPECIAL_TOKENS["<|call|>"],
        ];
        expect(ends).toContain(sampled.at(-1));
        expect(finish).toMatchObject({ reason: "stop" });
      }),
    );
  });
});

it("introduces itself", async () => {
  const engine = createDemoEngine();
  expect(await engine.probe(new AbortController().signal)).toEqual({
    description: "demo engine, built in",
    contextLength: 131_072,
    capabilities: engine.capabilities,
  });
});
