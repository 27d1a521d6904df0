/** Replies name each demand of a request that is not met. */
import { describe, expect, test } from "vitest";
import { BROWSER, createBrowsingApp } from "../helpers/browsing-app.ts";
import { scriptedEngine } from "../helpers/scripted-engine.ts";
import { chat, type Client, CLIENTS, MODEL, responses } from "./clients.ts";

const ANSWER = "<|channel|>final<|message|>Done.<|return|>";
const WEB = { plugins: [{ id: "web", max_results: 3 }] };

async function skippedBy(client: Client, fields: object, toolbox = {}): Promise<string | null> {
  const { post } = createBrowsingApp({ engine: scriptedEngine([ANSWER]), toolbox });
  const body = client.toBody([{ type: "user", text: "Hello" }]);
  const response = await post(client.path, { ...body, ...fields });
  expect(response.status).toBe(200);
  return response.headers.get(
    client.name === "Messages" ? "x-harmony-skipped" : "x-harmony-skipped-tools",
  );
}

describe.each(CLIENTS)("$name: the headers name what is not served", (client) => {
  test.each<[string | null, object]>([
    ["web_search", WEB],
    ["web_search", { model: `${MODEL}:online` }],
    ["web_search", { model: `${MODEL}:online:high` }],
    ["web_search", { model: `${MODEL}:online`, ...WEB }],
    ["moderation, web_search", { plugins: [{ id: "moderation" }, { id: "web" }] }],
    // Files are read without it, and a sentence replaces one that cannot be read.
    [null, { plugins: [{ id: "file-parser", pdf: { engine: "cloudflare-ai" } }] }],
    [null, { plugins: [{ id: "web", enabled: false }] }],
    [null, { plugins: [] }],
    [null, {}],
  ])("%s: %j", async (names, fields) => {
    expect(await skippedBy(client, fields)).toBe(names);
  });

  test("of a request that wants no tool called, nothing is skipped", async () => {
    const none = client.name === "Messages" ? { type: "none" } : "none";
    expect(await skippedBy(client, { ...WEB, tool_choice: none })).toBe(null);
  });
});

describe.each(CLIENTS)("$name: an effort of the future", (client) => {
  test("counts as high, and a header says what was used", async () => {
    const engine = scriptedEngine([ANSWER]);
    const { post } = createBrowsingApp({ engine, toolbox: {} });
    const fields = {
      "Chat Completions": { reasoning_effort: "ultra" },
      Responses: { reasoning: { effort: "ultra", summary: "poem" }, text: { verbosity: "max" } },
      Messages: { output_config: { effort: "ultra" } },
    }[client.name];
    const body = client.toBody([{ type: "user", text: "Hello" }]);
    const response = await post(client.path, { ...body, ...fields });
    expect(response.headers.get("x-harmony-reasoning-effort")).toBe("high");
    expect(engine.prompts[0]).toContain("Reasoning: high");
  });
});

test("Chat Completions: a search is skipped where none is offered, and only there", async () => {
  expect(await skippedBy(chat, { web_search_options: {} })).toBe("web_search");
  expect(await skippedBy(chat, { web_search_options: {} }, { browser: BROWSER })).toBe(null);
  expect(await skippedBy(chat, WEB, { browser: BROWSER })).toBe(null);
});

test("Chat Completions: tools of OpenRouter that do not run here are skipped", async () => {
  const tools = ["datetime", "web_fetch", "of_next_year"].map((name) => ({
    type: `openrouter:${name}`,
  }));
  const alone = "openrouter:web_fetch, openrouter:of_next_year";
  expect(await skippedBy(chat, { tools })).toBe(alone);
  const beside = { tools: [...tools, { type: "openrouter:web_search" }] };
  expect(await skippedBy(chat, beside, { browser: BROWSER })).toBe("openrouter:of_next_year");
});

test("Chat Completions: a plugin that is switched off offers no search", async () => {
  const engine = scriptedEngine([ANSWER]);
  const { post } = createBrowsingApp({ engine });
  const plugins = [{ id: "web", enabled: false }];
  await post(chat.path, { ...chat.toBody([{ type: "user", text: "Hello" }]), plugins });
  expect(engine.prompts[0]).not.toContain("namespace browser");
});

test("Chat Completions: skipped tools are counted", async () => {
  const app = createBrowsingApp({ engine: scriptedEngine([ANSWER]), toolbox: {} });
  await app.post(chat.path, { ...chat.toBody([{ type: "user", text: "Hello" }]), ...WEB });
  expect(await (await app.get("/metrics")).text()).toContain(
    'harmony_gateway_tools_skipped_total{kind="web_search"} 1',
  );
});

test.each([
  [true, {}],
  [false, { parallel_tool_calls: false }],
  [false, { builtin_tools: ["python"] }],
  [false, { builtin_tools: ["python"], parallel_tool_calls: true }],
])("Responses: parallel_tool_calls is echoed as it will be: %s for %j", async (echoed, fields) => {
  const { post } = createBrowsingApp({ engine: scriptedEngine([ANSWER]), toolbox: {} });
  const body = { ...responses.toBody([{ type: "user", text: "Hello" }]), ...fields };
  expect(await (await post(responses.path, body)).json()).toMatchObject({
    parallel_tool_calls: echoed,
  });
});
