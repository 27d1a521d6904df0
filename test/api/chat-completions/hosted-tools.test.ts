/** Tools that the gateway runs, on Chat Completions, in the spellings of OpenAI, Groq and OpenRouter. */
import { describe, expect, test } from "vitest";
import * as z from "zod";
import {
  BROWSING_ANSWER,
  BROWSING_SCRIPT,
  createBrowsingApp,
  MODEL,
} from "../../helpers/browsing-app.ts";
import { createMemoryStore } from "../../../src/index.ts";
import { scriptedEngine } from "../../helpers/scripted-engine.ts";

const ANNOTATION = {
  type: "url_citation",
  url_citation: {
    start_index: 10,
    end_index: 60,
    title: "Policy rate",
    url: "https://files.example/rates.md",
  },
};
const FINAL = "<|channel|>final<|message|>ok<|return|>";
const request = { model: MODEL, messages: [{ role: "user" as const, content: "?" }] };

const reply = z.looseObject({
  choices: z.array(
    z.looseObject({ message: z.looseObject({}).optional(), delta: z.looseObject({}).optional() }),
  ),
  usage: z.looseObject({}).optional(),
});

async function readReply(response: Response) {
  expect(response.status).toBe(200);
  return reply.parse(await response.json());
}

const tools = [{ type: "browser_search" }, { type: "code_interpreter" }];

describe("a turn with two searches, an opened page, code and a cited answer", () => {
  test("as one reply", async () => {
    const { post } = createBrowsingApp({ engine: scriptedEngine(BROWSING_SCRIPT) });
    const { choices, usage } = await readReply(
      await post("/v1/chat/completions", { ...request, tools }),
    );
    expect(choices[0]).toMatchObject({
      finish_reason: "stop",
      message: {
        content: BROWSING_ANSWER,
        reasoning: "I need the rate.",
        annotations: [ANNOTATION],
        executed_tools: [
          {
            index: 0,
            type: "browser_search",
            arguments: '{"query":"policy rate"}',
            search_results: {
              results: [
                { title: "Policy rate", url: "https://files.example/rates.md", score: 1 },
                { title: "History of the rate", score: 0.5 },
              ],
            },
          },
          { index: 1, type: "browser_search" },
          { index: 2, type: "browser_open", arguments: '{"cursor":0,"id":0}' },
          {
            index: 3,
            type: "code_interpreter",
            arguments: '{"code":"print(0.5 - 0.25)"}',
            output: "1\n",
            code_results: [{ text: "1\n" }],
          },
        ],
      },
    });
    expect(choices[0]?.message).not.toHaveProperty("tool_calls");
    expect(usage).toMatchObject({
      server_tool_use_details: {
        web_search_requests: 2,
        tool_calls_requested: 4,
        tool_calls_executed: 4,
      },
    });
  });

  test("streamed, with the annotation behind the text that it is about", async () => {
    const { client } = createBrowsingApp({ engine: scriptedEngine(BROWSING_SCRIPT, { batch: 4 }) });
    const stream = await client.chat.completions.create({
      ...request,
      stream: true,
      web_search_options: {},
    });
    let text = "";
    const seen: unknown[] = [];
    const executed: unknown[] = [];
    for await (const { choices } of stream) {
      const delta = z.looseObject({}).parse(choices[0]?.delta ?? {});
      text += choices[0]?.delta.content ?? "";
      if (delta["annotations"] !== undefined) {
        seen.push({ annotations: delta["annotations"], covers: text.slice(10, 60) });
      }
      if (Array.isArray(delta["executed_tools"])) executed.push(...delta["executed_tools"]);
    }
    expect(text).toBe(BROWSING_ANSWER);
    expect(seen).toEqual([
      {
        annotations: [ANNOTATION],
        covers: " ([files.example](https://files.example/rates.md))",
      },
    ]);
    expect(executed).toMatchObject([{ index: 0 }, { index: 1 }, { index: 2 }]);
  });

  test("offsets count the preamble that stands before the answer", async () => {
    const engine = scriptedEngine([
      BROWSING_SCRIPT[1] ?? "",
      '<|channel|>analysis to=browser.open code<|message|>{"id":0}<|call|>',
      "<|channel|>commentary<|message|>Here it is.<|end|><|start|>assistant<|channel|>final<|message|>0.5%【1†L4】<|return|>",
    ]);
    const { post } = createBrowsingApp({ engine });
    const { choices } = await readReply(await post("/v1/chat/completions", { ...request, tools }));
    const message = z
      .object({
        content: z.string(),
        annotations: z.array(
          z.object({ url_citation: z.object({ start_index: z.number(), end_index: z.number() }) }),
        ),
      })
      .parse(choices[0]?.message);
    const [annotation] = message.annotations;
    const { start_index: start = 0, end_index: end = 0 } = annotation?.url_citation ?? {};
    expect(message.content.slice(start, end)).toMatch(/^ \(\[files\.example\]\(.*\)\)$/);
  });
});

test("after a call of the client's, the next request goes on with the pages, on another replica", async () => {
  const engine = scriptedEngine([
    "<|channel|>analysis<|message|>Search first.<|end|><|start|>assistant" +
      ' to=browser.search<|channel|>analysis code<|message|>{"query":"policy rate"}<|call|>',
    " to=functions.ask<|channel|>commentary <|constrain|>json<|message|>{}<|call|>",
    '<|channel|>analysis to=browser.open code<|message|>{"cursor":0,"id":0}<|call|>',
    "<|channel|>final<|message|>It is 0.5%【1†L4】.<|return|>",
  ]);
  const store = createMemoryStore({ maxEntries: 100, maxBytes: 1e7, now: Date.now });
  const body = {
    ...request,
    tools: [...tools, { type: "function", function: { name: "ask", parameters: {} } }],
  };
  const first = await readReply(
    await createBrowsingApp({ engine, store }).post("/v1/chat/completions", body),
  );
  const calls = z
    .array(z.looseObject({ id: z.string() }))
    .parse(first.choices[0]?.message?.["tool_calls"]);
  const messages = [
    ...request.messages,
    { role: "assistant", content: null, tool_calls: calls },
    { role: "tool", tool_call_id: calls[0]?.id, content: "yes" },
  ];
  const next = await readReply(
    await createBrowsingApp({ engine, store }).post("/v1/chat/completions", { ...body, messages }),
  );
  expect(next.choices[0]?.message).toMatchObject({
    content: "It is 0.5% ([files.example](https://files.example/rates.md)).",
  });
  // The text the model had read keeps its position, so that the engine's prefix cache is used.
  expect(engine.prompts[2]?.startsWith(engine.prompts[1] ?? "?")).toBe(true);
});

describe("spellings", () => {
  test.each([
    ["OpenAI's options", { web_search_options: { search_context_size: "low" } }],
    ["Groq's tool", { tools: [{ type: "browser_search" }] }],
    [
      "OpenRouter's tool",
      { tools: [{ type: "openrouter:web_search", parameters: { max_results: 3 } }] },
    ],
    ["OpenAI's tool", { tools: [{ type: "web_search_preview" }] }],
    ["OpenRouter's plugin", { plugins: [{ id: "web", max_results: 2 }] }],
  ])("%s", async (_, fields) => {
    const engine = scriptedEngine([FINAL]);
    const { post } = createBrowsingApp({ engine });
    await readReply(await post("/v1/chat/completions", { ...request, ...fields }));
    expect(engine.prompts[0]).toContain("namespace browser {");
    expect(engine.prompts[0]).not.toContain("## python");
  });

  test("tool_choice required with these tools alone forces the first call", async () => {
    const engine = scriptedEngine(['{"query":"rate"}<|call|>', FINAL]);
    const { post } = createBrowsingApp({ engine });
    await readReply(
      await post("/v1/chat/completions", { ...request, tools, tool_choice: "required" }),
    );
    expect(engine.prompts[0]).toMatch(/to=browser\.search<\|channel\|>analysis code<\|message\|>$/);
  });

  test("max_uses limits the calls", async () => {
    const search = BROWSING_SCRIPT[1] ?? "";
    const engine = scriptedEngine([search, search, "ok<|return|>"]);
    const { post } = createBrowsingApp({ engine });
    const { usage } = await readReply(
      await post("/v1/chat/completions", {
        ...request,
        tools: [{ type: "openrouter:web_search", parameters: { max_uses: 1 } }],
      }),
    );
    expect(usage).toMatchObject({ server_tool_use_details: { tool_calls_executed: 1 } });
  });
});

describe("a gateway that runs no tools", () => {
  test("refuses a tool and says which setting enables it", async () => {
    const { post } = createBrowsingApp({ engine: scriptedEngine([FINAL]), toolbox: {} });
    const response = await post("/v1/chat/completions", { ...request, tools });
    expect(response.status).toBe(400);
    expect(await response.text()).toContain(
      'tools[0].type: this gateway does not run \\"browser_search\\". Its operator can enable it with the setting builtinTools.',
    );
  });

  test("ignores options, as it does any field it does not know", async () => {
    const engine = scriptedEngine([FINAL]);
    const { post } = createBrowsingApp({ engine, toolbox: {} });
    const fields = { web_search_options: {}, plugins: [{ id: "web" }] };
    await readReply(await post("/v1/chat/completions", { ...request, ...fields }));
    expect(engine.prompts[0]).not.toContain("namespace browser");
  });
});

describe("OpenRouter's tools", () => {
  const messages = [{ role: "user", content: "Hello" }];
  const answer = "<|channel|>final<|message|>Hi.<|return|>";

  async function promptWith(offered: readonly object[]) {
    const engine = scriptedEngine([answer]);
    const { post } = createBrowsingApp({ engine });
    const response = await post("/v1/chat/completions", { model: MODEL, messages, tools: offered });
    return {
      status: response.status,
      body: await response.text(),
      prompt: engine.prompts[0] ?? "",
    };
  }

  test("openrouter:datetime tells the model the time at the end of the prompt", async () => {
    const zone = { timezone: "Europe/Paris" };
    const { prompt } = await promptWith([{ type: "openrouter:datetime", parameters: zone }]);
    expect(prompt).toMatch(
      /<\|message\|># Instructions\n\nThe current date and time is \d{4}-\d\d-\d\d \d\d:\d\d:\d\d \(Europe\/Paris\)\.<\|end\|><\|start\|>assistant$/,
    );
    expect((await promptWith([{ type: "openrouter:datetime" }])).prompt).toContain("(UTC)");
  });

  test("a time zone that does not exist is a 400", async () => {
    const parameters = { timezone: "Mars/Base" };
    const refused = await promptWith([{ type: "openrouter:datetime", parameters }]);
    expect(refused.status).toBe(400);
    expect(refused.body).toContain("tools[0].parameters.timezone");
  });

  test("openrouter:web_fetch is the browser without its search", async () => {
    const { prompt } = await promptWith([{ type: "openrouter:web_fetch" }]);
    expect(prompt).toContain("type open =");
    expect(prompt).not.toContain("type search =");
    const both = [{ type: "openrouter:web_fetch" }, { type: "openrouter:web_search" }];
    expect((await promptWith(both)).prompt).toContain("type search =");
  });
});
