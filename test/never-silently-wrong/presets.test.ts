/** Presets: names of models that bring settings of a request along, over all APIs and through their clients. */
import { hash } from "node:crypto";
import Anthropic from "@anthropic-ai/sdk";
import { OpenRouter } from "@openrouter/sdk";
import { HTTPClient } from "@openrouter/sdk/lib/http.js";
import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { createBrowsingApp } from "../helpers/browsing-app.ts";
import { createRecordedApp } from "../helpers/recorded-app.ts";
import { scriptedEngine } from "../helpers/scripted-engine.ts";
import { chat, type Client, CLIENTS, messages, MODEL } from "./clients.ts";

const ANSWER = "<|channel|>final<|message|>Done.<|return|>";

const presets = {
  review: {
    model: "gpt-oss-20b",
    effort: "high",
    temperature: 0.25,
    topP: 0.5,
    topK: 7,
    maxOutputTokens: 64,
    instructions: "You review code.",
    description: "For reviews.",
  },
  strict: {
    model: MODEL,
    effort: "low",
    temperature: 0,
    maxOutputTokens: 32,
    lock: ["effort", "temperature", "maxOutputTokens"],
    unlisted: true,
  },
};

const SAMPLING = ["temperature", "topP", "topK"] as const;

async function ask({ path, toBody }: Client, fields: object) {
  const engine = scriptedEngine([ANSWER], { capabilities: { sampling: SAMPLING } });
  const { post } = createBrowsingApp({ engine, toolbox: {}, settings: { presets } });
  const body = toBody([
    { type: "system", text: "Answer in French." },
    { type: "user", text: "Hi" },
  ]);
  const response = await post(path, { ...body, ...fields });
  const reply = z.looseObject({ model: z.string().optional() }).parse(await response.json());
  const [request] = engine.requests;
  const { temperature, topP, topK } = request?.sampling ?? {};
  return {
    status: response.status,
    model: reply.model,
    reply,
    effort: response.headers.get("x-harmony-reasoning-effort"),
    prompt: engine.prompts[0] ?? "",
    sampling: [temperature, topP, topK],
    maxTokens: request?.maxTokens,
  };
}

/** The limit of output tokens in each API. Messages requires one. */
const LIMITS: Readonly<Record<Client["name"], string>> = {
  "Chat Completions": "max_tokens",
  Responses: "max_output_tokens",
  Messages: "max_tokens",
};

const toEffort = (client: Client, effort: string): object =>
  ({
    "Chat Completions": { reasoning_effort: effort },
    Responses: { reasoning: { effort } },
    Messages: { output_config: { effort } },
  })[client.name];

describe.each(CLIENTS)("$name", (client) => {
  test("a preset's values hold for what the request leaves out, and its instructions come first", async () => {
    const asked = await ask(client, { model: "review", temperature: null });
    expect(asked).toMatchObject({ status: 200, model: "review", effort: "high" });
    expect(asked.prompt).toContain("Reasoning: high\n");
    expect(asked.prompt).toMatch(/# Instructions\n\nYou review code\.[^]*Answer in French\./);
    expect(asked.sampling).toEqual([0.25, 0.5, 7]);
  });

  test("what the request says prevails", async () => {
    const limit = { [LIMITS[client.name]]: 200 };
    const fields = { ...toEffort(client, "low"), temperature: 0.75, ...limit };
    const asked = await ask(client, { ...fields, model: "review" });
    expect(asked).toMatchObject({ effort: "low", sampling: [0.75, 0.5, 7], maxTokens: 200 });
  });

  test("unless it is locked, and then a limit of tokens is the most", async () => {
    for (const [limit, expected] of [
      [200, 32],
      [20, 20],
    ] as const) {
      const fields = { temperature: 0.75, [LIMITS[client.name]]: limit };
      const asked = await ask(client, { ...toEffort(client, "xhigh"), ...fields, model: "strict" });
      expect(asked).toMatchObject({ effort: "low", maxTokens: expected });
      expect(asked.sampling).toEqual([0, 1, 0]);
    }
    expect(await ask(client, { model: "strict:high" })).toMatchObject({ effort: "low" });
  });

  test("a suffix of the name prevails over the preset", async () => {
    expect(await ask(client, { model: "review-low" })).toMatchObject({ effort: "low" });
    expect(await ask(client, { model: "review:none" })).toMatchObject({ effort: "none" });
  });

  test("OpenRouter's forms find the same presets", async () => {
    for (const fields of [
      { model: "@preset/review" },
      { model: `${MODEL}@preset/review` },
      { model: MODEL, preset: "review" },
      { model: "", preset: "@preset/review" },
    ]) {
      const asked = await ask(client, fields);
      expect(asked).toMatchObject({ status: 200, sampling: [0.25, 0.5, 7], effort: "high" });
      expect(asked.model).toBe(fields.model || "@preset/review");
    }
  });

  test.each([
    { model: "@preset/nope" },
    { model: "@preset/" },
    { model: `@preset/${MODEL}` },
    { model: "review@preset/review" },
    { model: "gpt-4o@preset/review" },
    { model: MODEL, preset: "nope" },
  ])("%j is unknown", async (fields) => {
    const { status, prompt } = await ask(client, fields);
    expect([status, prompt]).toEqual([client.name === "Chat Completions" ? 400 : 404, ""]);
  });
});

describe("a summary of the conversation", () => {
  const text = "Hello. ".repeat(500);
  const body = { messages: [{ role: "user", content: text }], max_tokens: 200, temperature: 1 };
  const story = { trigger: { type: "input_tokens", value: 1 }, instructions: "Tell a story." };
  const asked = (model: string, path: string, fields: object) => {
    const engine = scriptedEngine(() => ANSWER, { capabilities: { sampling: SAMPLING } });
    const { post } = createBrowsingApp({ engine, settings: { presets } });
    return post(path, { ...fields, model }).then(({ status }) => {
      expect(status).toBe(200);
      expect(engine.prompts[0]).toMatch(/user<\|message\|>(?:Summarize this|Tell a story)/);
      return engine.requests[0];
    });
  };

  test.each([
    ["/v1/messages", { ...body, compaction: { type: "summarize" } }],
    [
      "/v1/messages",
      { ...body, context_management: { edits: [{ type: "compact_20260112", ...story }] } },
    ],
    ["/v1/responses", { input: [{ type: "compaction_trigger" }], instructions: text }],
    [
      "/v1/responses",
      { input: text, context_management: [{ type: "compaction", compact_threshold: 1000 }] },
    ],
    ["/v1/responses/compact", { input: text }],
  ])("has a preset's sampling, and at most its locked tokens: %s", async (path, fields) => {
    expect(await asked("strict", path, fields)).toMatchObject({
      maxTokens: 32,
      sampling: { temperature: 0 },
    });
    const unlocked = await asked("review", path, { ...fields, temperature: undefined });
    expect(unlocked?.maxTokens).toBeGreaterThan(1000);
    expect(unlocked?.sampling).toMatchObject({ temperature: 0.25, topK: 7 });
  });
});

test("the error of an unknown name lists presets too, and leaves out the unlisted ones", async () => {
  const { reply } = await ask(chat, { model: "nope" });
  expect(reply).toMatchObject({
    error: {
      message: 'nope is not a valid model ID. Available: "openai/gpt-oss-20b", "review".',
    },
  });
});

test("the error of an unknown name lists ten names, and says where the others are", async () => {
  const names = Array.from({ length: 10 }, (_, at) => `preset-${at}`);
  const many = Object.fromEntries(names.map((name) => [name, { model: MODEL }]));
  const { post } = createBrowsingApp({ engine: scriptedEngine([]), settings: { presets: many } });
  const listed = [MODEL, ...names.slice(0, 9)].map((name) => JSON.stringify(name)).join(", ");
  const response = await post("/v1/responses", { model: "nope", input: "Hi" });
  expect(await response.json()).toMatchObject({
    error: {
      message: `The model "nope" does not exist. Available: ${listed} and more, see GET /v1/models.`,
    },
  });
});

test("a budget of thinking limits the effort of a preset, and switched-off thinking prevails", async () => {
  const thinking = (config: object) => ask(messages, { model: "review", thinking: config });
  expect(await thinking({ type: "enabled", budget_tokens: 1024 })).toMatchObject({
    effort: "high",
  });
  expect(await thinking({ type: "adaptive" })).toMatchObject({ effort: "high" });
  expect(await thinking({ type: "disabled" })).toMatchObject({ effort: "none" });
});

test("reasoning.max_tokens and reasoning.enabled of Chat Completions prevail as well", async () => {
  for (const [reasoning, effort] of [
    [{ max_tokens: 100 }, "low"],
    [{ enabled: true }, "medium"],
    [{ enabled: false }, "none"],
    [{ exclude: true }, "high"],
  ] as const) {
    expect(await ask(chat, { model: "review", reasoning })).toMatchObject({ effort });
  }
});

describe("lists", () => {
  async function open() {
    const engine = scriptedEngine(() => ANSWER);
    const hashes = ["all", "few"].map((name) => hash("sha256", name));
    const [all = "", few = ""] = hashes;
    const keys = [
      { name: "all", sha256: all },
      { name: "few", sha256: few, models: ["review"] },
    ];
    return createBrowsingApp({ engine, toolbox: {}, settings: { presets, keys } });
  }

  test.each(CLIENTS)(
    "$name: a key that may use a preset alone need not name it",
    async (client) => {
      const { send } = await open();
      const { model: _model, ...body } = z
        .looseObject({})
        .parse(client.toBody([{ type: "user", text: "Hi" }]));
      const response = await send(`http://localhost${client.path}`, {
        method: "POST",
        headers: { "content-type": "application/json", authorization: "Bearer few" },
        body: JSON.stringify(body),
      });
      expect([response.status, response.headers.get("x-harmony-reasoning-effort")]).toEqual([
        200,
        "high",
      ]);
    },
  );

  test("have a preset as a model of its own, for each kind of client", async () => {
    const { send } = await open();
    const openai = new OpenAI({ baseURL: "http://localhost/v1", apiKey: "all", fetch: send });
    const { data } = await openai.models.list();
    expect(data.map(({ id }) => id)).toEqual([MODEL, "review"]);
    expect(data[1]).toMatchObject({
      canonical_slug: MODEL,
      description: "For reviews.",
      context_length: 131_072,
      max_output_tokens: 64,
      top_provider: { max_completion_tokens: 64 },
      default_parameters: { temperature: 0.25, top_p: 0.5, top_k: 7 },
      reasoning: { default_effort: "high", default_enabled: true },
    });
    expect(await openai.models.retrieve("review:low")).toMatchObject({
      id: "review:low",
      reasoning: { default_effort: "low" },
    });
    expect(await openai.models.retrieve("strict")).toMatchObject({ id: "strict" });

    const anthropic = new Anthropic({ baseURL: "http://localhost", apiKey: "all", fetch: send });
    const page = await anthropic.models.list();
    expect(page.data).toMatchObject([
      { id: MODEL, display_name: "gpt-oss-20b", max_tokens: 131_072 },
      { id: "review", display_name: "review", max_tokens: 64 },
    ]);

    const openRouter = new OpenRouter({
      serverURL: "http://localhost/api/v1",
      apiKey: "all",
      httpClient: new HTTPClient({
        fetcher(input) {
          const { url, headers } = new Request(input);
          return send(url, { headers });
        },
      }),
    });
    const { result } = await openRouter.models.list();
    expect(result.data.map(({ id }) => id)).toEqual([MODEL, "review"]);
    expect(await openRouter.models.count()).toMatchObject({ data: { count: 2 } });
  });

  test("show a key only its own models, and to it there are no others", async () => {
    const { send } = await open();
    const few = new OpenAI({
      baseURL: "http://localhost/v1",
      apiKey: "few",
      fetch: send,
      maxRetries: 0,
    });
    expect((await few.models.list()).data.map(({ id }) => id)).toEqual(["review"]);
    const anthropic = new Anthropic({ baseURL: "http://localhost", apiKey: "few", fetch: send });
    expect((await anthropic.models.list()).data.map(({ id }) => id)).toEqual(["review"]);
    const hello = [{ role: "user" as const, content: "Hi" }];
    expect(
      await few.chat.completions.create({ model: "review:low", messages: hello }),
    ).toMatchObject({
      model: "review:low",
    });
    for (const model of [MODEL, "gpt-oss-20b:high", "strict", "@preset/strict"]) {
      const refused = few.chat.completions.create({ model, messages: hello });
      await expect(refused).rejects.toMatchObject({
        status: 400,
        error: { message: `${model} is not a valid model ID. Available: "review".` },
      });
      await expect(few.models.retrieve(model)).rejects.toMatchObject({ status: 404 });
      await expect(few.responses.create({ model, input: "Hi" })).rejects.toMatchObject({
        status: 404,
      });
      await expect(
        anthropic.messages.create({ model, messages: hello, max_tokens: 10 }),
      ).rejects.toMatchObject({ status: 404 });
    }
  });

  test("of Codex have models only: it has a menu for the effort", async () => {
    const { send } = await open();
    const headers = { authorization: "Bearer all" };
    const list = await send("http://localhost/v1/models?client_version=0.169.0", { headers });
    const { models } = z
      .looseObject({ models: z.array(z.looseObject({})) })
      .parse(await list.json());
    expect(models).toMatchObject([{ slug: MODEL }]);
  });
});

test("the record of a turn has the preset, in the form that replay needs", async () => {
  const app = createRecordedApp({ engine: scriptedEngine([ANSWER]), settings: { presets } });
  await app.post("/v1/chat/completions", {
    model: "review",
    messages: [{ role: "user", content: "Hi" }],
  });
  const [record] = await app.records();
  expect(record?.model).toBe(MODEL);
  expect(record?.settings?.preset).toEqual({
    name: "review",
    values: { effort: "high", temperature: 0.25, topP: 0.5, topK: 7, maxOutputTokens: 64 },
    lock: [],
    instructions: "You review code.",
  });
});

test("a record without content has only the length of a preset's instructions", async () => {
  const app = createRecordedApp({
    engine: scriptedEngine([ANSWER]),
    settings: { presets },
    recorder: { keepsContent: false },
  });
  await app.post("/v1/chat/completions", {
    model: "review",
    messages: [{ role: "user", content: "Hi" }],
  });
  const [record] = await app.records();
  expect(record?.settings?.preset?.instructions).toEqual({ chars: 16 });
});

describe.each(CLIENTS)("$name: tools of a preset", ({ path, toBody }) => {
  const named = { helped: { model: MODEL, builtinTools: ["browser", "python"] } };
  const question = toBody([{ type: "user", text: "Hi" }]);

  async function prompted(fields: object) {
    const engine = scriptedEngine([ANSWER]);
    const settings = { presets: named, builtinTools: ["browser", "python"] };
    const { post } = createBrowsingApp({ engine, settings });
    const response = await post(path, { ...question, ...fields });
    return [response.status, engine.prompts[0]?.match(/## (?:browser|python)\n/g)];
  }

  test("are offered although the request does not ask for them", async () => {
    expect(await prompted({ model: "helped" })).toEqual([200, ["## browser\n", "## python\n"]]);
    expect(await prompted({ model: MODEL })).toEqual([200, null]);
  });

  test("are not offered where the request wants none", async () => {
    const none = path === "/v1/messages" ? { type: "none" } : "none";
    expect(await prompted({ model: "helped", tool_choice: none })).toEqual([200, null]);
  });

  test("are the client's where it runs one itself", async () => {
    if (path === "/v1/messages") return;
    const own = await prompted({ model: "helped", builtin_tools: ["python"] });
    expect(own).toEqual([200, ["## browser\n", "## python\n"]]);
  });
});
