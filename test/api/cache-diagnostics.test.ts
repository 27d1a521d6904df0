/** Why a prompt could not use the prefix cache of an earlier one, as Responses and Messages report it. */
import type { ResponseInputItem } from "openai/resources/responses/responses";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { createMemoryStore, type Store } from "../../src/index.ts";
import { createBrowsingApp, MODEL } from "../helpers/browsing-app.ts";
import { scriptedEngine } from "../helpers/scripted-engine.ts";

const ANSWER = "<|channel|>final<|message|>Done.<|return|>";
const TOOLS = ["get_time", "get_date"].map((name) => ({
  name,
  description: "Tells the time.",
  schema: { type: "object" as const, properties: {} },
}));
const FORMAT = {
  type: "json_schema" as const,
  name: "answer",
  schema: { type: "object" as const, additionalProperties: false },
};

function start(cachedTokens = 0, store?: Store) {
  const engine = scriptedEngine((request) => {
    const promptTokens = request.prompt.ids.length;
    const isJson = request.prompt.text().includes("# Response Formats");
    const write = isJson ? ANSWER.replace("Done.", "{}") : ANSWER;
    return { write, usage: { promptTokens, completionTokens: 5, cachedTokens } };
  });
  const kept = store ?? createMemoryStore({ maxEntries: 100, maxBytes: 10_000_000, now: () => 0 });
  return { engine, ...createBrowsingApp({ engine, toolbox: {}, store: kept }) };
}

/** A store that fails at reads, once asked to. */
function failingStore() {
  const store = createMemoryStore({ maxEntries: 100, maxBytes: 10_000_000, now: () => 0 });
  const state = { fails: false };
  const failing: Store = {
    ...store,
    get: (key) => (state.fails ? Promise.reject(new Error("down")) : store.get(key)),
    set: (...entry) => store.set(...entry),
    delete: (key) => store.delete(key),
  };
  return { state, store: failing };
}

describe("Responses", () => {
  const tool = ({ name, description, schema }: (typeof TOOLS)[number]) =>
    ({ type: "function", name, description, parameters: schema, strict: false }) as const;
  const FIRST = {
    model: MODEL,
    instructions: "Be brief.",
    input: "Hello.",
    tools: TOOLS.slice(0, 1).map(tool),
  };

  test.each<[string, object, number, object]>([
    ["the same prompt, of which the engine has used a part", {}, 16, { type: "cache_hit" }],
    ["the same prompt, but the engine reports nothing", {}, 0, { type: "unavailable" }],
    [
      "other tools",
      { tools: TOOLS.slice(1).map(tool) },
      0,
      { type: "cache_miss", reason: "tools_changed" },
    ],
    [
      "another effort",
      { reasoning: { effort: "high" } },
      16,
      { type: "cache_miss", reason: "reasoning_effort_changed" },
    ],
    [
      "other instructions",
      { instructions: "Be long." },
      0,
      { type: "cache_miss", reason: "input_changed" },
    ],
    ["another message", { input: "Bye." }, 0, { type: "cache_miss", reason: "input_changed" }],
    [
      "a format",
      { text: { format: FORMAT } },
      0,
      { type: "cache_miss", reason: "text_format_changed" },
    ],
  ])("%s", async (_, change, cached, expected) => {
    const { client } = start(cached);
    const first = await client.responses.create(FIRST);
    expect(first).not.toHaveProperty("prompt_cache_diagnostics");
    const asked = { prompt_cache_options: { comparison_response_id: first.id } };
    const second = await client.responses.create({ ...FIRST, ...change, ...asked });
    expect(second.prompt_cache_diagnostics).toMatchObject(expected);
    expect(await client.responses.retrieve(second.id)).toMatchObject({
      prompt_cache_diagnostics: expected,
    });
  });

  test("the tokens of both prompts tell how many they share", async () => {
    const { client } = start();
    const first = await client.responses.create(FIRST);
    const { input_tokens: tokens = 0 } = first.usage ?? {};
    const asked = { prompt_cache_options: { comparison_response_id: first.id } };
    const compared = await client.responses.create({ ...FIRST, input: "Bye, now.", ...asked });
    const { prompt_cache_diagnostics: diagnosis } = compared;
    // <|start|>assistant is no part of the comparison.
    expect(diagnosis).toEqual({
      type: "cache_miss",
      reason: "input_changed",
      comparison_reusable_tokens: tokens - 2,
      // <|start|>user<|message|>Hello.<|end|>
      cache_missed_tokens: 6,
    });
  });

  test("a summary in place of the conversation", async () => {
    const { client } = start();
    const input = ["user", "assistant", "user"].map((role) => ({ role, content: "Hello." }));
    const body = { ...FIRST, input: z.array(z.custom<ResponseInputItem>()).parse(input) };
    const { id } = await client.responses.create(body);
    const second = await client.responses.create({
      ...body,
      context_management: [{ type: "compaction", compact_threshold: 1 }],
      prompt_cache_options: { comparison_response_id: id },
    });
    expect(second.output[0]).toMatchObject({ type: "compaction" });
    expect(second.prompt_cache_diagnostics).toMatchObject({
      type: "cache_miss",
      reason: "context_compacted",
    });
  });

  test("what is continued is no miss, streamed and over many turns", async () => {
    const { client, engine } = start(16);
    let before = await client.responses.create(FIRST);
    for (let turn = 0; turn < 40; turn++) {
      const stream = client.responses.stream({
        ...FIRST,
        previous_response_id: before.id,
        prompt_cache_options: { comparison_response_id: before.id },
      });
      before = await stream.finalResponse();
      expect(before.prompt_cache_diagnostics).toEqual({ type: "cache_hit" });
    }
    const [prompt = "", , last = ""] = engine.prompts.slice(-3);
    expect(last.length).toBeGreaterThan(prompt.length);
  });

  test.each([
    ["an id of nobody", (id: string) => `${id}x`],
    ["an id of any length", () => "x".repeat(100_000)],
  ])("%s: the response is made", async (_, toId) => {
    const { client } = start();
    const { id } = await client.responses.create(FIRST);
    const options = { prompt_cache_options: { comparison_response_id: toId(id) } };
    const second = await client.responses.create({ ...FIRST, ...options });
    expect(second).toMatchObject({
      status: "completed",
      prompt_cache_diagnostics: { type: "comparison_response_not_found" },
    });
  });

  test("a response that was not stored is not found", async () => {
    const { client } = start();
    const { id } = await client.responses.create({ ...FIRST, store: false });
    const asked = { prompt_cache_options: { comparison_response_id: id } };
    const second = await client.responses.create({ ...FIRST, ...asked });
    expect(second.prompt_cache_diagnostics).toEqual({ type: "comparison_response_not_found" });
  });

  test("a store that fails leaves it open", async () => {
    const { state, store } = failingStore();
    const { client } = start(0, store);
    const { id } = await client.responses.create(FIRST);
    state.fails = true;
    const asked = { prompt_cache_options: { comparison_response_id: id } };
    const second = await client.responses.create({ ...FIRST, store: false, ...asked });
    expect(second.prompt_cache_diagnostics).toEqual({ type: "unavailable" });
  });

  test("prewarm: nothing is sampled", async () => {
    const { client, engine } = start();
    const options = { prompt_cache_options: { prewarm: true } };
    const response = await client.responses.create({ ...FIRST, ...options });
    expect(response).toMatchObject({ status: "completed", output: [] });
    expect(engine.requests).toHaveLength(0);
  });
});

describe("Messages", () => {
  const tool = ({ name, description, schema }: (typeof TOOLS)[number]) => ({
    name,
    description,
    input_schema: schema,
  });
  const FIRST = {
    model: MODEL,
    max_tokens: 100,
    system: "Be brief.",
    messages: [{ role: "user" as const, content: "Hello." }],
    tools: TOOLS.slice(0, 1).map(tool),
    diagnostics: { previous_message_id: null },
  };
  const MISSED = expect.any(Number);
  const CHANGES: readonly [string, object, object | null][] = [
    ["the same prompt", {}, null],
    [
      "a conversation that goes on",
      {
        messages: [
          ...FIRST.messages,
          { role: "assistant", content: "Done." },
          { role: "user", content: "Bye." },
        ],
      },
      null,
    ],
    [
      "other tools",
      { tools: TOOLS.slice(1).map(tool) },
      { type: "tools_changed", cache_missed_input_tokens: MISSED },
    ],
    [
      "another system prompt",
      { system: "Be long." },
      { type: "system_changed", cache_missed_input_tokens: MISSED },
    ],
    [
      "another message",
      { messages: [{ role: "user", content: "Bye, now." }] },
      { type: "messages_changed", cache_missed_input_tokens: 6 },
    ],
    ["another effort", { output_config: { effort: "high" } }, { type: "unavailable" }],
  ];

  test.each(CHANGES)("%s", async (_, change, reason) => {
    const { anthropic } = start();
    const first = await anthropic.messages.create(FIRST);
    expect(first.diagnostics).toBeNull();
    const asked = { ...FIRST, ...change, diagnostics: { previous_message_id: first.id } };
    const expected = reason && { cache_miss_reason: reason };
    const second = await anthropic.messages.create(asked);
    expect(second.diagnostics).toEqual(expected);
    const streamed = await anthropic.messages.stream(asked).finalMessage();
    expect(streamed.diagnostics).toEqual(expected);
    // The streamed one was kept, too.
    const third = { ...asked, diagnostics: { previous_message_id: streamed.id } };
    expect((await anthropic.messages.create(third)).diagnostics).toBeNull();
  });

  test("nothing is kept of a message whose request has no diagnostics", async () => {
    const store = createMemoryStore({ maxEntries: 100, maxBytes: 10_000_000, now: () => 0 });
    const kinds: string[] = [];
    const watched: Store = {
      ...store,
      get: (key) => store.get(key),
      set: (...entry) => (kinds.push(entry[0].split(":")[0] ?? ""), store.set(...entry)),
      delete: (key) => store.delete(key),
    };
    const { anthropic } = start(0, watched);
    const { diagnostics: _diagnostics, ...body } = FIRST;
    const { id } = await anthropic.messages.create(body);
    expect(kinds).toEqual([]);
    const asked = { ...body, diagnostics: { previous_message_id: id } };
    expect((await anthropic.messages.create(asked)).diagnostics).toEqual({
      cache_miss_reason: { type: "previous_message_not_found" },
    });
    expect(kinds).toEqual(["prompt"]);
  });
});
