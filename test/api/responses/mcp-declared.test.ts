/** MCP servers named by requests: the operator's restrictions, separate connections, and the use of credentials. */
import { createHash } from "node:crypto";
import type OpenAI from "openai";
import { describe, expect, test } from "vitest";
import { createMemoryStore, type Store } from "../../../src/index.ts";
import { createSafeFetch } from "../../../src/node/safe-fetch.ts";
import { checkUrl } from "../../../src/tools/browser/url-policy.ts";
import { createMcpApp, type McpApp, failureOf } from "../../helpers/mcp-app.ts";
import { startMcpServer } from "../../helpers/mcp-server.ts";
import { MODEL } from "../../helpers/browsing-app.ts";
import { scriptedEngine, type ScriptedEngine } from "../../helpers/scripted-engine.ts";

type Mcp = OpenAI.Responses.Tool.Mcp;

const LOOK =
  ' to=words.look_up<|channel|>commentary <|constrain|>json<|message|>{"word":"cat"}<|call|>';
const FINAL = "<|channel|>final<|message|>It is an animal.<|return|>";

const tool = (fields: Partial<Mcp>): Mcp => ({
  type: "mcp",
  server_label: "words",
  require_approval: "never",
  ...fields,
});
const ask = (app: McpApp, fields: Partial<Mcp>, rest: object = {}) =>
  app.client.responses.create({ model: MODEL, input: "?", tools: [tool(fields)], ...rest });
const app = (engine: ScriptedEngine, settings: object = {}, store?: Store) =>
  createMcpApp({
    engine,
    settings: { mcpFromRequests: ["any"], ...settings },
    ...(store && { store }),
  });

describe("what requests may name", () => {
  const URL = "https://mcp.example/mcp";
  const SERVERS = { mcpServers: { docs: { url: "https://docs.example/mcp" } } };

  test.each<[string, object, Partial<Mcp>, string]>([
    [
      "no server, unless the operator allows it",
      { ...SERVERS, mcpFromRequests: [] },
      { server_url: URL },
      "server_url: requests cannot name MCP servers here. The operator can allow it with the setting mcpFromRequests",
    ],
    [
      "no label that nobody has configured",
      SERVERS,
      {},
      "server_url: is required, since this gateway has no MCP server with the label words. Servers of this gateway: docs.",
    ],
    [
      "no other address for a server of the operator's",
      SERVERS,
      { server_label: "docs", server_url: URL },
      "server_url: docs is a server of this gateway with another address. Leave server_url out, or choose another label",
    ],
    [
      "no credentials for a server of the operator's",
      SERVERS,
      { server_label: "docs", authorization: "mine" },
      "headers: docs is a server of this gateway with its own credentials. Leave headers and authorization out",
    ],
    [
      "no label of the model's own",
      {},
      { server_label: "python", server_url: URL },
      "server_label: must be up to 64 letters, digits, dashes or underscores, and no name of the model's own",
    ],
    [
      "no connector",
      {},
      { connector_id: "connector_gmail" },
      "connector_id: connectors are OpenAI's own. Give the server_url of an MCP server",
    ],
    [
      "no header that the protocol uses",
      {},
      { server_url: URL, headers: { host: "x" } },
      "headers: has a name that the protocol uses itself",
    ],
    [
      "no header that is two",
      {},
      { server_url: URL, headers: { a: "b\r\nc: d" } },
      "headers: has a name or value that no header can have",
    ],
    [
      "no credentials that are two headers",
      {},
      { server_url: URL, authorization: "a\nb" },
      "authorization: has characters that no header can have",
    ],
    [
      "no address that is not of the web",
      {},
      { server_url: "file:///etc/passwd" },
      'server_url: must be a URL that begins with http:// or https://, but it is "file:///etc/passwd"',
    ],
  ])("%s", async (_, settings, fields, problem) => {
    const asking = ask(app(scriptedEngine([]), settings), fields);
    expect(await failureOf(asking)).toBe(`400 tools[0].${problem}`);
  });

  test("not two servers of one label, and not too many", async () => {
    const { client } = app(scriptedEngine([]));
    const create = (tools: Mcp[]) =>
      failureOf(client.responses.create({ model: MODEL, input: "?", tools }));
    const named = (label: string) => tool({ server_label: label, server_url: URL });
    expect(await create([named("a"), named("a")])).toBe(
      "400 tools[1].server_label: two servers have the label a",
    );
    const many = Array.from({ length: 17 }, (_, index) => named(`s${index}`));
    expect(await create(many)).toBe("400 tools[16]: a request may have at most 16 MCP servers");
  });

  test("where the gateway has no servers at all, they are left out as other hosted tools are", async () => {
    const { client } = createMcpApp({ engine: scriptedEngine([FINAL]), settings: {} });
    const { output, tools } = await client.responses.create({
      model: MODEL,
      input: "?",
      tools: [tool({ server_url: URL })],
    });
    expect(output.map(({ type }) => type)).toEqual(["message"]);
    expect(tools).toEqual([]);
  });
});

describe("the operator's network", () => {
  const guarded = (
    hosts: readonly string[],
    options: Parameters<typeof createSafeFetch>[0] = {},
  ) => ({
    check: (url: string) => void checkUrl(url, { allow: hosts, deny: [] }),
    fetch: createSafeFetch(options),
  });
  const naming = (url: string, guard = guarded([])) => {
    const settings = { mcpFromRequests: ["any"] };
    return ask(createMcpApp({ engine: scriptedEngine([FINAL]), settings, guard }), {
      server_url: url,
    });
  };

  test.each([
    "http://127.0.0.1/mcp",
    "http://2130706433/mcp",
    "http://[::1]/mcp",
    "http://[::ffff:10.0.0.1]/mcp",
    "http://169.254.169.254/latest/meta-data",
    "http://localhost/mcp",
    "http://metadata.google.internal/",
    "https://mcp.example:6379/",
    "https://user:password@mcp.example/",
  ])("is not reached by address: %s", async (url) => {
    expect(await failureOf(naming(url))).toMatch(
      /^400 tools\[0\]\.server_url: this MCP server cannot be used: /,
    );
  });

  test("is not reached by a name that resolves into it", async () => {
    const guard = guarded([], {
      resolve: () => Promise.resolve([{ address: "10.0.0.7", family: 4 }]),
    });
    const { output } = await naming("http://rebind.example/mcp", guard);
    expect(output[0]).toMatchObject({
      type: "mcp_list_tools",
      error:
        "The MCP server words cannot be used. It is not connected to: this address is not public.",
    });
  });

  test("is not reached by a redirect, and no other host gets the credentials", async () => {
    const inner = await startMcpServer();
    const outer = await startMcpServer({
      intercept: (_, response) => {
        response.writeHead(307, { location: inner.url }).end();
        return true;
      },
    });
    const { output } = await ask(app(scriptedEngine([FINAL])), {
      server_url: outer.url,
      authorization: "secret",
    });
    expect(output[0]).toMatchObject({
      error:
        "The MCP server words cannot be used. It redirects to another place. Give its final address.",
    });
    expect(inner.requests).toEqual([]);
  });

  test("a redirect within a server is followed", async () => {
    const server = await startMcpServer();
    const engine = scriptedEngine([FINAL]);
    const redirecting = createMcpApp({
      engine,
      settings: { mcpFromRequests: ["any"] },
      guard: {
        check: () => undefined,
        fetch: async (url, init) =>
          String(url).endsWith("/moved")
            ? new Response(null, { status: 308, headers: { location: "/mcp" } })
            : fetch(url, init),
      },
    });
    const { output } = await ask(redirecting, { server_url: server.url.replace("/mcp", "/moved") });
    expect(output[0]).toMatchObject({ type: "mcp_list_tools", tools: [{}, {}] });
  });

  test("only hosts that the operator names are reached, where there are any", async () => {
    const guard = guarded(["mcp.example"]);
    expect(await failureOf(naming("https://other.example/", guard))).toBe(
      "400 tools[0].server_url: this MCP server cannot be used: this domain is not allowed",
    );
  });
});

describe("credentials", () => {
  test("go to the server, and nowhere else: not into the reply, the store or the log", async () => {
    const stored: unknown[] = [];
    const memory = createMemoryStore({ maxEntries: 100, maxBytes: 1e7, now: Date.now });
    const store: Store = {
      ...memory,
      set(key, value, ttl, tenant) {
        stored.push(value);
        return memory.set(key, value, ttl, tenant);
      },
    };
    const { url, requests } = await startMcpServer();
    const asking = app(scriptedEngine([LOOK, FINAL]), { logContent: true }, store);
    const response = await ask(asking, {
      server_url: `${url}?key=url-secret`,
      authorization: "token-secret",
      headers: { "x-key": "header-secret" },
    });
    expect(response.tools).toEqual([tool({ server_url: `${new URL(url).origin}/<redacted>` })]);
    const methods = requests.filter(({ method }) => method !== "");
    for (const { headers } of methods) {
      expect(headers).toMatchObject({
        authorization: "Bearer token-secret",
        "x-key": "header-secret",
      });
    }
    expect(methods.length).toBeGreaterThan(2);
    expect(stored.length).toBeGreaterThan(0);
    expect(JSON.stringify([response, stored, asking.logged])).not.toContain("secret");
  });

  test("connections are shared by none but a tenant's requests with the same credentials", async () => {
    const { url, sessions } = await startMcpServer();
    const hash = (key: string) => createHash("sha256").update(key).digest("hex");
    const keys = [
      { name: "acme", sha256: hash("key-1") },
      { name: "other", sha256: hash("key-2") },
    ];
    const { client } = app(
      scriptedEngine(() => FINAL),
      { keys },
    );
    const asKey = (key: string, authorization: string) =>
      client.withOptions({ apiKey: key }).responses.create({
        model: MODEL,
        input: "?",
        tools: [tool({ server_url: url, authorization })],
      });
    await asKey("key-1", "a");
    await asKey("key-1", "a");
    expect(sessions()).toBe(1);
    await asKey("key-1", "b");
    expect(sessions()).toBe(2);
    await asKey("key-2", "a");
    expect(sessions()).toBe(3);
  });
});

describe("in a conversation", () => {
  test("a server that was listed is not listed again, nor connected to before it is called", async () => {
    const { url, requests } = await startMcpServer();
    const store = createMemoryStore({ maxEntries: 100, maxBytes: 1e7, now: Date.now });
    const engine = scriptedEngine([FINAL, FINAL]);
    const first = await ask(app(engine, {}, store), { server_url: url });
    const before = requests.length;
    const next = await ask(
      app(engine, {}, store),
      { server_url: url },
      { previous_response_id: first.id },
    );
    expect(next.output.map(({ type }) => type)).toEqual(["message"]);
    expect(requests).toHaveLength(before);
    expect(engine.prompts[1]).toContain("type look_up = ");
  });

  test("a list that changes in between does not change what the model was shown", async () => {
    let tools = [{ name: "look.up", inputSchema: { type: "object" } }];
    const { url, calls } = await startMcpServer({ tools: () => tools });
    const engine = scriptedEngine([FINAL, LOOK, FINAL]);
    const asking = app(engine);
    const first = await ask(asking, { server_url: url });
    tools = [{ name: "other", inputSchema: { type: "object" } }];
    const next = await ask(asking, { server_url: url }, { previous_response_id: first.id });
    expect(next.output[0]).toMatchObject({ type: "mcp_call", name: "look.up" });
    expect(calls).toHaveLength(1);
  });

  test("thousands of tools are cut to what a prompt can hold", async () => {
    const tools = Array.from({ length: 3000 }, (_, index) => ({
      name: `t${index}`,
      description: "x".repeat(10_000),
      inputSchema: { type: "object" },
    }));
    const { url } = await startMcpServer({ tools: () => tools });
    const { output } = await ask(app(scriptedEngine([FINAL])), { server_url: url });
    const [list] = output;
    if (list?.type !== "mcp_list_tools") throw new Error("no list");
    expect(list.error ?? "").toContain("It answered too much");
    expect(list.tools).toEqual([]);
  });
});
