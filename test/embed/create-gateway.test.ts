import { describe, expect, test } from "vitest";
import {
  createGateway,
  createMemoryStore,
  type GatewayOptions,
  SettingsError,
} from "../../src/index.ts";
import { scriptedEngine } from "../helpers/scripted-engine.ts";

const ANSWER = "<|channel|>final<|message|>Fine.<|return|>";
const HELLO = { messages: [{ role: "user", content: "Hello!" }] };

function post(path: string, body: object = HELLO): Request {
  return new Request(`http://localhost${path}`, { method: "POST", body: JSON.stringify(body) });
}

test("an engine of one's own answers through all three APIs", async () => {
  const gateway = createGateway({ engine: scriptedEngine([ANSWER, ANSWER, ANSWER]) });
  const { fetch } = gateway;
  for (const [path, body] of [
    ["/v1/chat/completions", HELLO],
    ["/v1/responses", { input: "Hello!" }],
    ["/v1/messages", { ...HELLO, model: "openai/gpt-oss-20b", max_tokens: 100 }],
  ] as const) {
    const response = await fetch(post(path, body));
    expect([path, response.status]).toEqual([path, 200]);
    expect(await response.text()).toContain("Fine.");
  }
});

test("settings have their own names, and the given store is used", async () => {
  const stored: string[] = [];
  const memory = createMemoryStore({ maxEntries: 10, maxBytes: 10_000_000, now: Date.now });
  const store = {
    ...memory,
    set: (...args: Parameters<typeof memory.set>) => {
      stored.push(args[0]);
      return memory.set(...args);
    },
  };
  const engine = scriptedEngine([ANSWER]);
  const gateway = createGateway({ engine, store, servedName: "house", aliases: ["mine"] });
  expect(gateway.models.all.map(({ id }) => id)).toEqual(["house"]);
  const response = await gateway.fetch(post("/v1/responses", { model: "mine", input: "Hello!" }));
  expect(response.status).toBe(200);
  await response.text();
  expect(stored.length).toBeGreaterThan(0);
});

test("nothing is sent before the first request; ready probes", async () => {
  const asked: string[] = [];
  const gateway = createGateway({
    url: "http://gpu:8000",
    fetch: async (input) => {
      asked.push(String(input instanceof Request ? input.url : input));
      return new Response("", { status: 503 });
    },
  });
  expect(asked).toEqual([]);
  const [status] = await gateway.ready();
  expect(status?.state).toBe("unavailable");
  expect(new Set(asked)).toEqual(new Set(["http://gpu:8000/v1/models"]));
});

describe("where the options name no model", () => {
  const LIST = { data: [{ id: "openai/gpt-oss-120b", owned_by: "vllm" }] };

  /** A vLLM that offers another model than the default one, and is down at first. */
  function open(options: GatewayOptions) {
    let isUp = false;
    const asked: unknown[] = [];
    const gateway = createGateway({
      ...options,
      url: "http://gpu:8000",
      fetch: async (input, init) => {
        if (!isUp) throw new TypeError("fetch failed");
        const { pathname } = new URL(input instanceof Request ? input.url : input);
        if (pathname === "/v1/models") return Response.json(LIST);
        if (pathname !== "/v1/completions") return new Response("", { status: 404 });
        asked.push(JSON.parse(await new Response(init?.body).text()).model);
        const finish = { choices: [{ index: 0, text: "", token_ids: [], finish_reason: "stop" }] };
        return new Response(`data: ${JSON.stringify(finish)}\n\ndata: [DONE]\n\n`, {
          headers: { "content-type": "text/event-stream" },
        });
      },
    });
    return { gateway, asked, start: () => (isUp = true) };
  }

  test.each([{ engine: "vllm" }, { engine: "auto" }, {}] as const)(
    "%j: the server's model is served under its own name, as soon as the server answers",
    async (options) => {
      const { gateway, asked, start } = open(options);
      const names = () => gateway.models.all.map(({ id }) => id);
      expect((await gateway.fetch(post("/v1/chat/completions"))).status).toBe(503);
      expect(names()).toEqual(["openai/gpt-oss-20b"]);
      start();
      expect(await gateway.ready()).toMatchObject([{ state: "ready" }]);
      expect(names()).toEqual(["openai/gpt-oss-120b"]);
      const list = await gateway.fetch(new Request("http://localhost/v1/models"));
      expect(await list.json()).toMatchObject({ data: [{ id: "openai/gpt-oss-120b" }] });
      // The name of the docs finds the only model.
      await gateway.fetch(post("/v1/chat/completions", { ...HELLO, model: "openai/gpt-oss-20b" }));
      expect(asked).toContain("openai/gpt-oss-120b");
      expect(asked).not.toContain("openai/gpt-oss-20b");
    },
  );

  test("the first request waits for it", async () => {
    const { gateway, start } = open({ engine: "vllm" });
    start();
    const list = await gateway.fetch(new Request("http://localhost/v1/models"));
    expect(await list.json()).toMatchObject({ data: [{ id: "openai/gpt-oss-120b" }] });
  });

  test("a model that is named is not looked for", async () => {
    const { gateway, start } = open({ engine: "vllm", model: "openai/gpt-oss-20b" });
    start();
    expect(await gateway.ready()).toMatchObject([{ state: "unavailable" }]);
    expect(gateway.models.all.map(({ id }) => id)).toEqual(["openai/gpt-oss-20b"]);
  });
});

test("a base path is cut off; other paths stay", async () => {
  const gateway = createGateway({
    engine: scriptedEngine([ANSWER]),
    basePath: "/api/llm/",
  });
  expect((await gateway.fetch(post("/api/llm/v1/chat/completions"))).status).toBe(200);
  expect((await gateway.fetch(post("/api/llmv1/chat/completions"))).status).toBe(404);
});

test.each([
  [undefined, 404],
  [true, 200],
])("the pages are served if asked for: %s", async (pages, status) => {
  const gateway = createGateway({ engine: "demo", ...(pages !== undefined && { pages }) });
  const request = new Request("http://localhost/api", { headers: { accept: "text/html" } });
  expect((await gateway.fetch(request)).status).toBe(status);
});

test("a log function gets each entry", async () => {
  const events: string[] = [];
  const gateway = createGateway({
    engine: scriptedEngine([ANSWER]),
    log: ({ event }) => events.push(event),
  });
  await (await gateway.fetch(post("/v1/chat/completions"))).text();
  expect(events.filter((event) => !event.startsWith("engine"))).toEqual(["turn", "request"]);
});

test("settings of the command are named, and have no effect", () => {
  const messages: unknown[] = [];
  createGateway({
    mcpServers: { docs: { url: "https://mcp.example" } },
    inspect: true,
    log: ({ fields }) => messages.push(fields["message"]),
  });
  expect(messages).toEqual([
    "createGateway: mcpServers: is available on Node only, and has no effect here.",
    "createGateway: inspect: is available on Node only, and has no effect here.",
  ]);
});

test("work that outlasts a request is handed to the context of a Worker", async () => {
  const gateway = createGateway({ engine: "demo" });
  const waiting: Promise<unknown>[] = [];
  const context = { waitUntil: (work: Promise<unknown>) => void waiting.push(work) };
  await gateway.fetch(post("/v1/chat/completions"), {}, context);
  expect(waiting.length).toBeGreaterThan(0);
  await Promise.all(waiting);
});

test("closing waits for an answer, and refuses later requests", async () => {
  const gateway = createGateway({ engine: "demo" });
  const response = await gateway.fetch(post("/v1/chat/completions", { ...HELLO, stream: true }));
  const text = response.text();
  await gateway.close();
  expect(await text).toContain("[DONE]");
  expect((await gateway.fetch(post("/v1/chat/completions"))).status).toBe(503);
});

describe("a wrong option is named, with the nearest name", () => {
  test.each<[object, readonly string[]]>([
    [{ ulr: "http://gpu" }, ["createGateway: there is no option ulr. Did you mean url?"]],
    [
      { port: 8080, auditFile: "audit.jsonl" },
      [
        "createGateway: port is an option of startGateway (harmony-gateway/node) only.",
        "createGateway: auditFile is an option of startGateway (harmony-gateway/node) only.",
      ],
    ],
    [
      { engin: "vllm", modle: "m" },
      [
        "createGateway: there is no option engin. Did you mean engine?",
        "createGateway: there is no option modle. Did you mean model?",
      ],
    ],
    [
      { url: "gpu:8000" },
      ['createGateway: url: expected a URL that begins with http:// or https://, got "gpu:8000".'],
    ],
    [
      { maxQueued: "many" },
      ['createGateway: maxQueued: expected a whole number, 0 or more, got "many".'],
    ],
    [
      { engine: "demo", basePath: "llm" },
      ['createGateway: basePath: expected a path that begins with /, got "llm".'],
    ],
  ])("%j", (options: GatewayOptions, problems) => {
    let thrown: unknown;
    try {
      createGateway(options);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(SettingsError);
    expect(thrown).toMatchObject({ problems });
  });
});
