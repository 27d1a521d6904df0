/** MCP servers on the Messages API, read by Anthropic's client. */
import type {
  BetaMessageParam,
  MessageCreateParamsNonStreaming,
} from "@anthropic-ai/sdk/resources/beta/messages";
import { describe, expect, test } from "vitest";
import { MODEL } from "../../helpers/browsing-app.ts";
import { createMcpApp } from "../../helpers/mcp-app.ts";
import { ERASE, LOOKUP, startMcpServer } from "../../helpers/mcp-server.ts";
import { scriptedEngine } from "../../helpers/scripted-engine.ts";

const LOOK =
  ' to=words.look_up<|channel|>commentary <|constrain|>json<|message|>{"word":"cat"}<|call|>';
const FINAL = "<|channel|>final<|message|>An animal.<|return|>";
const ASK = { role: "user" as const, content: "cat?" };

type Fields = Partial<MessageCreateParamsNonStreaming>;

function toBody(url: string, fields: Fields = {}): MessageCreateParamsNonStreaming {
  const servers = [{ type: "url" as const, name: "words", url }];
  return { model: MODEL, max_tokens: 500, messages: [ASK], mcp_servers: servers, ...fields };
}

const toolset = (fields: object = {}): Fields => ({
  tools: [{ type: "mcp_toolset", mcp_server_name: "words", ...fields }],
});

const allowed = { mcpFromRequests: ["any"] };

describe("a server of the request", () => {
  test.each([true, false])(
    "is called, and the next request has its blocks (streamed: %s)",
    async (streamed) => {
      const { url, calls } = await startMcpServer();
      const engine = scriptedEngine([LOOK, FINAL, FINAL, FINAL]);
      const { anthropic } = createMcpApp({ engine, settings: allowed });
      const body = toBody(url, toolset());
      const { messages } = anthropic.beta;
      const first = streamed
        ? await messages.stream(body).finalMessage()
        : await messages.create(body);
      const use = first.content.find((block) => block.type === "mcp_tool_use");
      expect(use).toMatchObject({ name: "look.up", server_name: "words", input: { word: "cat" } });
      expect(first.content.find((block) => block.type === "mcp_tool_result")).toMatchObject({
        tool_use_id: use?.id,
        is_error: false,
        content: [{ type: "text", text: "found" }],
      });
      expect(first.content.at(-1)).toMatchObject({ type: "text", text: "An animal." });
      expect(calls).toHaveLength(1);

      const content = first.content as Extract<BetaMessageParam["content"], unknown[]>;
      const next = [
        ASK,
        { role: "assistant" as const, content },
        { role: "user" as const, content: "And?" },
      ];
      await messages.create({ ...body, messages: next });
      // Clients also drop blocks of thinking, which have what the model saw.
      const bare = content.filter(({ type }) => type !== "thinking");
      next[1] = { role: "assistant", content: bare };
      await messages.create({ ...body, messages: next });
      const [, second = "", third, fourth] = engine.prompts;
      expect(third?.startsWith(second)).toBe(true);
      expect(fourth).toBe(third);
    },
  );

  test("without a toolset, as in the first version of the beta", async () => {
    const { url } = await startMcpServer();
    const engine = scriptedEngine([FINAL]);
    const { anthropic } = createMcpApp({ engine, settings: allowed });
    await anthropic.beta.messages.create(toBody(url));
    expect(engine.prompts[0]).toContain(LOOKUP.description);
  });

  test.each<[string, Fields, boolean, boolean]>([
    ["all tools", toolset(), true, true],
    ["but for one", toolset({ configs: { erase: { enabled: false } } }), true, false],
    [
      "one alone",
      toolset({ default_config: { enabled: false }, configs: { erase: { enabled: true } } }),
      false,
      true,
    ],
    ["none", toolset({ default_config: { enabled: false } }), false, false],
    ["a choice of none", { ...toolset(), tool_choice: { type: "none" } }, false, false],
  ])("offers %s", async (_, fields, hasLookUp, hasErase) => {
    const { url } = await startMcpServer();
    const engine = scriptedEngine([FINAL]);
    const { anthropic } = createMcpApp({ engine, settings: allowed });
    await anthropic.beta.messages.create(toBody(url, fields));
    expect(engine.prompts[0]?.includes("look_up")).toBe(hasLookUp);
    expect(engine.prompts[0]?.includes("erase")).toBe(hasErase);
  });

  test("deferred, its tools are shown once a search has found them", async () => {
    const { url } = await startMcpServer();
    const search =
      ' to=functions.tool_search<|channel|>commentary <|constrain|>json<|message|>{"query":"look up"}<|call|>';
    const engine = scriptedEngine([search, LOOK, FINAL]);
    const { post } = createMcpApp({ engine, settings: allowed });
    const tools = [
      { type: "tool_search_tool_bm25", name: "tool_search_tool_bm25" },
      { type: "mcp_toolset", mcp_server_name: "words", default_config: { defer_loading: true } },
    ];
    const reply = await post("/v1/messages", { ...toBody(url), tools });
    expect(await reply.text()).toContain("mcp_tool_result");
    expect(engine.prompts[0]).not.toContain(LOOKUP.description);
    expect(engine.prompts[1]).toContain(LOOKUP.description);
  });
});

test.each<[string, object, boolean]>([
  ["deferred, and the others shown", { configs: { "look.up": { defer_loading: true } } }, false],
  [
    "shown, and the others deferred",
    { default_config: { defer_loading: true }, configs: { "look.up": { defer_loading: false } } },
    true,
  ],
  [
    "shown where the request has no search",
    { configs: { "look.up": { defer_loading: true } } },
    true,
  ],
])("a single tool is %s", async (what, fields, isShown) => {
  const { url } = await startMcpServer();
  const engine = scriptedEngine([FINAL]);
  const { post } = createMcpApp({ engine, settings: allowed });
  const hasSearch = !what.endsWith("no search");
  const tools = [
    ...(hasSearch ? [{ type: "tool_search_tool_bm25", name: "tool_search_tool_bm25" }] : []),
    { type: "mcp_toolset", mcp_server_name: "words", ...fields },
  ];
  expect((await post("/v1/messages", { ...toBody(url), tools })).status).toBe(200);
  expect(engine.prompts[0]?.includes(LOOKUP.description)).toBe(isShown);
  expect(engine.prompts[0]?.includes(ERASE.description)).toBe(!isShown || !hasSearch);
});

test("a server of the operator's, by its name, with or without its address", async () => {
  const { url } = await startMcpServer();
  const engine = scriptedEngine([FINAL, FINAL]);
  const { post } = createMcpApp({ engine, settings: { mcpServers: { words: { url } } } });
  for (const server of [{ name: "words", url }, { name: "words" }]) {
    const body = { ...toBody(url, toolset()), mcp_servers: [{ type: "url", ...server }] };
    expect((await post("/v1/messages", body)).status).toBe(200);
    expect(engine.prompts.at(-1)).toContain(LOOKUP.description);
  }
});

describe("is refused with the field", () => {
  test.each<[string, Record<string, unknown>, Fields, string]>([
    ["where the gateway runs none", {}, {}, "mcp_servers: this gateway runs no MCP servers"],
    [
      "for a toolset without its server",
      allowed,
      { mcp_servers: [], ...toolset() },
      'mcp_servers: has no server with the name "words"',
    ],
    [
      "for more names than a declaration may have",
      allowed,
      toolset({
        configs: Object.fromEntries(Array.from({ length: 257 }, (_, at) => [`t${at}`, {}])),
      }),
      "tools[0].configs: has more than 256 entries",
    ],
    [
      "for a server that does not answer",
      allowed,
      { mcp_servers: [{ type: "url", name: "words", url: "http://127.0.0.1:1/" }] },
      "mcp_servers[0]",
    ],
    [
      "for an address that is none",
      allowed,
      { mcp_servers: [{ type: "url", name: "words", url: "ftp://words" }] },
      "mcp_servers[0].url",
    ],
  ])("%s", async (_, settings, fields, message) => {
    const { url } = await startMcpServer();
    const { post } = createMcpApp({ engine: scriptedEngine([]), settings });
    const response = await post("/v1/messages", toBody(url, fields));
    expect(response.status).toBe(400);
    expect(await response.text()).toContain(JSON.stringify(message).slice(1, -1));
  });
});
