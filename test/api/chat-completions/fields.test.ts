import { describe, expect, test } from "vitest";
import { FIELDS, type Treatment } from "../../../scripts/chat-fields.ts";
import type { CompletionRequest } from "../../../src/index.ts";
import { o200kHarmony } from "../../../src/tokenizer/index.ts";
import { createTestApp } from "../../helpers/app.ts";
import { OPENAPI } from "../../helpers/openapi-check.ts";
import { fakeBrowser } from "../../helpers/fake-tool.ts";
import { scriptedEngine } from "../../helpers/scripted-engine.ts";

type Body = Record<string, unknown>;

/** The names of the fields that are read. */
const READ = Object.keys(
  Object(OPENAPI.components.schemas["ChatCompletionRequest"]?.["properties"]),
);

interface Probe {
  /** Fields that replace those of the body below. */
  readonly send: Body;
  /** Other fields that the field needs to have an effect. */
  readonly beside?: Body;
  /** For refused fields, the field named in the error. */
  readonly param?: string;
  /** Instead of `send`: an invalid type or value. */
  readonly wrong?: Body;
}

const HELLO = { role: "user", content: "Hello" };

const TOOL = { type: "function", function: { name: "f", parameters: { type: "object" } } };
const OTHER_TOOL = { type: "function", function: { name: "g" } };
const FUNCTION = { name: "f", parameters: { type: "object" } };
const CALL = { id: "c", type: "function", function: { name: "f", arguments: "{bad" } };

/** A loop of one step, with additional members in its assistant message. */
function step(fields: Body): Body {
  return {
    messages: [
      HELLO,
      { role: "assistant", content: "Wait.", tool_calls: [CALL], ...fields },
      { role: "tool", tool_call_id: "c", content: "ok" },
    ],
  };
}

const user = (content: unknown) => ({ messages: [{ role: "user", content }] });
const before = (message: Body) => ({ messages: [message, HELLO] });
const reasoning = (fields: Body) => ({ reasoning: fields });
const format = (type: string, more: Body = {}) => ({ response_format: { type, ...more } });
const SCHEMA = { json_schema: { name: "x", schema: { type: "object" } } };

const PROBES: Readonly<Record<string, Probe>> = {
  model: { send: { model: "gpt-oss-120b:free" }, wrong: { model: "gpt-4o" } },
  preset: { send: { preset: "short" }, wrong: { preset: 1 } },
  models: { send: { models: ["openai/gpt-4o", "openai/gpt-oss-120b"] }, wrong: { models: "x" } },
  return_progress: {
    beside: { stream: true },
    send: { return_progress: true },
    wrong: { return_progress: "yes" },
  },
  stream: { send: { stream: true }, wrong: { stream: "yes" } },
  "stream_options.include_usage": {
    beside: { stream: true },
    send: { stream_options: { include_usage: true } },
    wrong: { stream_options: { include_usage: "yes" } },
  },
  "stream_options.include_obfuscation": {
    beside: { stream: true },
    send: { stream_options: { include_obfuscation: true } },
  },
  usage: { send: { usage: { include: false } } },
  n: { send: { n: 2 }, wrong: { n: 0 } },
  session_id: { send: { session_id: "s" }, wrong: { session_id: "s".repeat(257) } },
  prompt_cache_key: {
    beside: { session_id: "s" },
    send: { prompt_cache_key: "k" },
    wrong: { prompt_cache_key: 1 },
  },
  prompt: { send: { prompt: "Once" }, param: "prompt" },

  messages: { send: user("Bye"), wrong: { messages: [] } },
  "messages[] role system, developer": {
    send: before({ role: "system", content: "Be brief." }),
    wrong: before({ role: "system", content: 1 }),
  },
  "messages[] role user": { send: before({ role: "user", content: "Hi" }), wrong: user(1) },
  "messages[] role assistant": {
    send: { messages: [HELLO, { role: "assistant", content: "It" }] },
    wrong: { messages: [HELLO, { role: "assistant", content: 1 }] },
  },
  "messages[] role tool": {
    send: before({ role: "tool", tool_call_id: "", name: "f", content: "ok" }),
    wrong: before({ role: "tool", tool_call_id: "c", content: "ok" }),
  },
  "messages[] role function": {
    send: before({ role: "function", name: "f", content: "ok" }),
    wrong: before({ role: "function", content: "ok" }),
  },
  "messages[].content parts text, refusal": {
    send: user([
      { type: "text", text: "Hel" },
      { type: "refusal", refusal: "p" },
    ]),
    wrong: user([{ type: "text", text: 1 }]),
  },
  "messages[].content parts of other types": {
    send: user([{ type: "image_url", image_url: { url: "data:" } }]),
    param: "messages[0].content[0].type",
  },
  "messages[].name": {
    send: { messages: [{ ...HELLO, name: "Ada" }] },
    wrong: { messages: [{ ...HELLO, name: 5 }] },
  },
  "messages[].cache_control": {
    beside: { ...user([{ type: "text", text: "Hello" }]), tools: [TOOL] },
    send: {
      ...user([{ type: "text", text: "Hello", cache_control: { type: "ephemeral" } }]),
      tools: [{ ...TOOL, cache_control: { type: "ephemeral" } }],
    },
  },
  "messages[].tool_calls": { send: step({}), wrong: step({ tool_calls: [{ id: "c" }] }) },
  "messages[].function_call": {
    send: { messages: [HELLO, { role: "assistant", function_call: FUNCTION }, HELLO] },
    wrong: { messages: [HELLO, { role: "assistant", function_call: "f" }, HELLO] },
  },
  "messages[].refusal": {
    send: { messages: [HELLO, { role: "assistant", refusal: "No." }, HELLO] },
    wrong: { messages: [HELLO, { role: "assistant", refusal: 1 }, HELLO] },
  },
  "messages[].reasoning_details": {
    beside: step({}),
    send: step({
      reasoning_details: [{ type: "reasoning.text", text: "Hm.", format: 7, id: 7, signature: 7 }],
    }),
    wrong: step({ reasoning_details: 1 }),
  },
  "messages[].reasoning": {
    beside: step({}),
    send: step({ reasoning: "Hm." }),
    wrong: step({ reasoning: 1 }),
  },
  "messages[].reasoning_content": {
    beside: step({}),
    send: step({ reasoning_content: "Hm." }),
    wrong: step({ reasoning_content: 1 }),
  },
  "messages[].reasoning_text": {
    beside: step({}),
    send: step({ reasoning_text: "Hm." }),
    wrong: step({ reasoning_text: 1 }),
  },
  "messages[].thinking": {
    beside: step({}),
    send: step({ thinking: "Hm." }),
    wrong: step({ thinking: 1 }),
  },
  "messages[].annotations": {
    beside: step({}),
    send: step({ annotations: [{ type: "url_citation" }] }),
  },
  "messages[].audio": { beside: step({}), send: step({ audio: { id: "a" } }) },
  "messages[].images": { beside: step({}), send: step({ images: [{}] }) },

  "reasoning.effort": {
    send: reasoning({ effort: "xhigh" }),
    wrong: reasoning({ effort: 1 }),
  },
  "reasoning.max_tokens": {
    send: reasoning({ max_tokens: 100 }),
    wrong: reasoning({ max_tokens: 100, effort: "low" }),
  },
  "reasoning.enabled": {
    send: reasoning({ enabled: false }),
    wrong: reasoning({ enabled: true, effort: "none" }),
  },
  "reasoning.exclude": { send: reasoning({ exclude: true }), wrong: reasoning({ exclude: "yes" }) },
  "reasoning.summary": { send: reasoning({ summary: "auto" }) },
  "reasoning.context": { send: reasoning({ context: "all_turns" }) },
  "reasoning.mode": { send: reasoning({ mode: "pro" }) },
  reasoning_effort: {
    send: { reasoning_effort: "minimal" },
    wrong: { reasoning_effort: "low", reasoning: { effort: "high" } },
  },
  include_reasoning: {
    send: { include_reasoning: false },
    wrong: { include_reasoning: "no" },
  },

  max_completion_tokens: {
    beside: { max_tokens: 50 },
    send: { max_completion_tokens: 100 },
    wrong: { max_completion_tokens: 0 },
  },
  max_tokens: { send: { max_tokens: 100 }, wrong: { max_tokens: 1.5 } },
  stop: { send: { stop: ["there"] }, wrong: { stop: ["1", "2", "3", "4", "5"] } },
  temperature: { send: { temperature: 0.5 }, wrong: { temperature: 2.1 } },
  top_p: { send: { top_p: 0.5 }, wrong: { top_p: 1.1 } },
  top_k: { send: { top_k: 10 }, wrong: { top_k: "10" } },
  min_p: { send: { min_p: 0.1 }, wrong: { min_p: -1 } },
  frequency_penalty: { send: { frequency_penalty: 1 }, wrong: { frequency_penalty: 3 } },
  presence_penalty: { send: { presence_penalty: 1 }, wrong: { presence_penalty: -3 } },
  repetition_penalty: { send: { repetition_penalty: 1.1 }, wrong: { repetition_penalty: 0 } },
  seed: { send: { seed: 7 }, wrong: { seed: 0.5 } },
  logit_bias: { send: { logit_bias: { "11": 5 } }, wrong: { logit_bias: { "200002": 5 } } },
  top_a: { send: { top_a: 0.5 } },
  logprobs: { send: { logprobs: true }, wrong: { logprobs: 3 } },
  top_logprobs: {
    beside: { logprobs: true },
    send: { top_logprobs: 2 },
    wrong: { top_logprobs: 21 },
  },

  "tools type function": {
    send: { tools: [TOOL] },
    wrong: { tools: [{ type: "function", function: { name: "not a name" } }] },
  },
  "tools type custom": {
    beside: { tool_choice: "required", tools: [TOOL] },
    send: { tools: [{ type: "custom", custom: { name: "f" } }] },
    wrong: { tools: [{ type: "custom", custom: {} }] },
  },
  max_tool_calls: {
    beside: { ...user("Search twice."), tools: [{ type: "browser_search" }] },
    send: { max_tool_calls: 1 },
    wrong: { max_tool_calls: 0 },
  },
  builtin_tools: {
    send: { builtin_tools: ["python"] },
    wrong: { builtin_tools: ["bash"] },
    param: "builtin_tools[0]",
  },
  web_search_options: { send: { web_search_options: {} }, wrong: { web_search_options: 1 } },
  plugins: { send: { plugins: [{ id: "web" }] }, wrong: { plugins: {} } },
  "tools of other types": {
    send: { tools: [{ type: "web_search_of_others" }] },
  },
  tool_choice: {
    beside: { tools: [TOOL, OTHER_TOOL] },
    send: { tool_choice: { type: "function", function: { name: "f" } } },
    wrong: { tool_choice: { type: "function", function: { name: "h" } } },
  },
  parallel_tool_calls: {
    beside: { ...user("Call f."), tools: [TOOL] },
    send: { parallel_tool_calls: false },
    wrong: { parallel_tool_calls: "no" },
  },
  functions: { send: { functions: [FUNCTION] }, wrong: { functions: FUNCTION } },
  function_call: {
    beside: { functions: [FUNCTION] },
    send: { function_call: { name: "f" } },
    wrong: { function_call: "required" },
  },
  "response_format json_schema": {
    send: format("json_schema", SCHEMA),
    wrong: format("json_schema"),
  },
  "response_format json_object": {
    send: format("json_object"),
    wrong: { response_format: "json" },
  },
  "response_format of other types": { send: format("grammar"), param: "response_format.type" },
  structured_outputs: { send: { structured_outputs: true } },
  verbosity: { send: { verbosity: "low" } },
  "modalities text": { send: { modalities: ["text"] } },
  "modalities of other kinds": { send: { modalities: ["text", "audio"] }, param: "modalities[1]" },
  audio: { send: { audio: { voice: "alloy", format: "wav" } }, param: "audio" },
};

/** The engine's request, as data. */
function toAsked(request: CompletionRequest) {
  const { prompt, sampling, constraint, maxTokens, topLogprobs, affinity } = request;
  const { logitBias, ...rest } = sampling;
  return {
    prompt: o200kHarmony().decode(prompt.ids),
    sampling: { ...rest, logitBias: [...(logitBias ?? [])] },
    constraint,
    maxTokens,
    topLogprobs,
    affinity,
  };
}

/** Reasons and answers, or calls a tool if forced; writes an object if an answer or arguments have been opened. */
function createApp() {
  const engine = scriptedEngine(
    (request) => {
      const prompt = o200kHarmony().decode(request.prompt.ids);
      if (/functions\.\w+(<\|[^<]*)*<\|message\|>$/.test(prompt)) return '{"input":"x"}<|call|>';
      if (prompt.endsWith("<|message|>")) return '{"a":1}<|return|>';
      if (prompt.endsWith("Call f.<|end|><|start|>assistant")) {
        return "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>";
      }
      if (prompt.includes("Search twice.") && prompt.split("to=browser.search").length < 3) {
        return '<|channel|>analysis to=browser.search code<|message|>{"query":"x"}<|call|>';
      }
      return (
        "<|channel|>analysis<|message|>They greet.<|end|><|start|>assistant" +
        "<|channel|>final<|message|>Hello there, friend.<|return|>"
      );
    },
    { progress: [{ total: 70, cached: 0, processed: 35, elapsedMs: 10 }] },
  );
  const others = ["openai/gpt-oss-120b"];
  const toolbox = { browser: () => fakeBrowser() };
  const app = createTestApp({
    engine,
    others,
    toolbox,
    settings: {
      sampleMoreCalls: true,
      presets: { short: { model: "openai/gpt-oss-20b", instructions: "Be short." } },
    },
  });
  return { app, engine };
}

/** All observable effects of a request: the engine's request and the response, with fixed ids and times. */
async function seen(body: Body) {
  const { app, engine } = createApp();
  const response = await app.post({ messages: [HELLO], ...body });
  const text = await response.text();
  return {
    status: response.status,
    effort: response.headers.get("x-harmony-reasoning-effort"),
    text: text.replaceAll(/(call_|gen-\d+-)[0-9a-f]{32}|"created":\d+/g, "…"),
    asked: engine.requests.map((request) => toAsked(request)),
  };
}

async function paramOf(body: Body): Promise<unknown> {
  const { status, text } = await seen(body);
  expect(status).toBe(400);
  return JSON.parse(text).error.param;
}

function probeOf(name: string): Probe {
  const probe = PROBES[name] ?? { send: { [name]: { enabled: true, key: "value" } } };
  return { ...probe, send: { ...probe.beside, ...probe.send } };
}

function namesOf(...treatments: Treatment[]): string[] {
  return FIELDS.filter(({ treatment }) => treatments.includes(treatment)).map(({ name }) => name);
}

describe("every field has the effect that the list documents", () => {
  test.each(namesOf("honoured", "converted", "engine"))("%s has an effect", async (name) => {
    const { send, beside = {} } = probeOf(name);
    const [without, withIt] = [await seen(beside), await seen(send)];
    expect([without.status, withIt.status]).toEqual([200, 200]);
    expect(withIt).not.toEqual(without);
  });

  test.each(namesOf("honoured", "converted", "engine"))("%s is checked", async (name) => {
    const { beside, wrong } = probeOf(name);
    const [, field = ""] = /^(\w+)/.exec(name) ?? [];
    expect(await paramOf({ ...beside, ...wrong })).toMatch(new RegExp(`^${field}`));
  });

  test.each(namesOf("ignored"))("%s has no effect", async (name) => {
    const { send, beside = {} } = probeOf(name);
    expect(await seen(send)).toEqual(await seen(beside));
  });

  test.each(namesOf("refused"))("%s is refused, by its name", async (name) => {
    const { send, param } = probeOf(name);
    expect(await paramOf(send)).toBe(param);
  });
});

describe("the list is complete", () => {
  const topLevel = (names: readonly string[]) =>
    new Set(names.map((name) => /^\w+/.exec(name)?.[0]));

  test("contains every field that is read", () => {
    expect([...topLevel(FIELDS.map(({ name }) => name))]).toEqual(expect.arrayContaining(READ));
  });

  test("contains no field that is neither read nor ignored", () => {
    const read = namesOf("honoured", "converted", "engine", "refused");
    expect(topLevel(read)).toEqual(new Set(READ));
  });

  test("contains each field once, and every probe tests one of them", () => {
    const names = FIELDS.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(names).toEqual(expect.arrayContaining(Object.keys(PROBES)));
  });
});

test.each(READ.filter((name) => name !== "messages"))(
  "%s: null is as good as nothing",
  async (name) => {
    expect(await seen({ [name]: null })).toEqual(await seen({}));
  },
);

test("an unknown field is ignored", async () => {
  expect(await seen({ frobnicate: { deeply: [1] } })).toEqual(await seen({}));
});

describe("the x-session-id header", () => {
  const affinity = async (body: Body, header: string) => {
    const { app, engine } = createApp();
    await app.post({ messages: [HELLO], ...body }, { "x-session-id": header });
    return engine.requests[0]?.affinity;
  };

  test("is used as session_id", async () => {
    expect(await affinity({}, "from-header")).toBe("from-header");
  });

  test("is overridden by the field", async () => {
    expect(await affinity({ session_id: "from-body" }, "from-header")).toBe("from-body");
  });
});
