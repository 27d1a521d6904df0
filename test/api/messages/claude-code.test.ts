/**
 * Claude Code's contract with a gateway, row by row: its documentation's page of the gateway protocol, and the specification that
 * the binary of 2.1.332 serves at `/protocol`.
 */
import { hash } from "node:crypto";
import Anthropic from "@anthropic-ai/sdk";
import { describe, expect, test } from "vitest";
import { EngineError } from "../../../src/index.ts";
import { lazyGateway } from "../../helpers/gateway.ts";
import { type Script, scriptedEngine } from "../../helpers/scripted-engine.ts";
import { MODEL, post } from "./support.ts";

const ANSWER = "<|channel|>final<|message|>Done.<|return|>";
const BODY = { model: MODEL, max_tokens: 100, messages: [{ role: "user", content: "Hello" }] };

function gatewayWith(script: Script = ANSWER, settings: Record<string, unknown> = {}) {
  const engine = scriptedEngine([script, script]);
  const models = [{ id: MODEL, engine, contextLength: 4096 }];
  return { engine, ...lazyGateway({ models, settings }) };
}

describe("never fails over what it does not know", () => {
  test.each<[string, object, Record<string, string>, string]>([
    [
      "values of anthropic-beta",
      {},
      { "anthropic-beta": "claude-code-20250219,of-2027-01-01" },
      "",
    ],
    ["another version of the API", {}, { "anthropic-version": "2027-01-01" }, ""],
    [
      "headers of the client",
      {},
      { "x-app": "cli", "x-stainless-lang": "js", "x-stainless-os": "?" },
      "",
    ],
    [
      "headers of sessions and agents",
      {},
      { "x-claude-code-session-id": "s", "x-claude-code-agent-id": "a", "x-claude-code-new": "n" },
      "",
    ],
    ["fields of the body", { tags: { project: "p" }, of_next_year: { a: [1] } }, {}, ""],
    [
      "metadata and fields of caching",
      { metadata: { user_id: "u" }, cache_control: { type: "ephemeral" } },
      {},
      "",
    ],
    ["the query", {}, {}, "?beta=true&new=1"],
    [
      "adaptive thinking, which it asks of names that it does not know",
      { thinking: { type: "adaptive" } },
      {},
      "",
    ],
    [
      "management of the context",
      { context_management: { edits: [{ type: "clear_thinking_20251015", keep: "all" }] } },
      { "anthropic-beta": "context-management-2025-06-27" },
      "",
    ],
    [
      "beta fields of tools",
      {
        tools: [
          {
            name: "Bash",
            input_schema: { type: "object" },
            strict: true,
            defer_loading: false,
            eager_input_streaming: true,
            cache_control: { type: "ephemeral", ttl: "1h" },
          },
        ],
      },
      { "anthropic-beta": "tool-examples-2025-10-29" },
      "",
    ],
    [
      "effort, and a budget of the task",
      { output_config: { effort: "xhigh", task_budget: { type: "tokens", total: 20_000 } } },
      { "anthropic-beta": "effort-2025-11-24,task-budgets-2026-03-13" },
      "",
    ],
    ["a credential in both headers", {}, { authorization: "Bearer x", "x-api-key": "x" }, ""],
  ])("%s", async (_, fields, headers, query) => {
    const { fetch } = gatewayWith();
    for (const path of ["/v1/messages", "/v1/messages/count_tokens"]) {
      const response = await fetch(`${path}${query}`, post({ ...BODY, ...fields }, headers));
      expect(response.status).toBe(200);
    }
  });
});

describe("answers with what Claude Code acts on", () => {
  test.each<[string, number, string, Script, object, Record<string, unknown>, string?]>([
    ["a body that is wrong", 400, "invalid_request_error", ANSWER, { messages: 5 }, {}],
    [
      "a check that is not run here, by its name",
      400,
      "invalid_request_error",
      ANSWER,
      { safeguards: {} },
      {},
      "safeguards",
    ],
    [
      "a model that is not served: it names it and lets the user pick another",
      404,
      "not_found_error",
      ANSWER,
      { model: "claude-x" },
      {},
      "claude-x",
    ],
    [
      "a prompt that is too long",
      400,
      "invalid_request_error",
      ANSWER,
      { system: "word ".repeat(5000) },
      {},
      "prompt is too long: ",
    ],
    [
      "a body over the cap",
      413,
      "request_too_large",
      ANSWER,
      { system: "x".repeat(5000) },
      { maxBodyBytes: 1000 },
    ],
    [
      "a full engine",
      529,
      "overloaded_error",
      { refuse: new EngineError("overloaded", "full") },
      {},
      {},
    ],
  ])("%s", async (_, status, type, script, fields, settings, words = "") => {
    const { fetch } = gatewayWith(script, settings);
    const response = await fetch("/v1/messages", post({ ...BODY, ...fields }));
    const text = await response.text();
    expect(response.status).toBe(status);
    expect(JSON.parse(text)).toMatchObject({ type: "error", error: { type } });
    expect(text).toContain(words);
    expect(response.headers.get("request-id")).not.toBeNull();
  });

  test("a key that is unknown: it is not tried again", async () => {
    const { fetch } = gatewayWith(ANSWER, { keys: [`ann:${hash("sha256", "hg-1")}`] });
    let requests = 0;
    const counted: typeof globalThis.fetch = async (input, init) => {
      requests += 1;
      const url = new URL(input instanceof Request ? input.url : input);
      return fetch(url.pathname + url.search, init);
    };
    const client = new Anthropic({ baseURL: "http://gateway", apiKey: "wrong", fetch: counted });
    await expect(
      client.messages.create({ ...BODY, messages: [{ role: "user", content: "?" }] }),
    ).rejects.toMatchObject({
      status: 401,
      error: { error: { type: "authentication_error" } },
    });
    expect(requests).toBe(1);
    const response = await fetch("/v1/messages", post(BODY, { "x-api-key": "wrong" }));
    expect(response.headers.get("x-should-retry")).toBe("false");
  });
});

test("the block of attribution, which differs between sessions, is no part of the prompt", async () => {
  const { fetch, engine } = gatewayWith();
  const header =
    "x-anthropic-billing-header: cc_version=2.1.332.abc; cc_entrypoint=cli; cch=00000;";
  const system = [header, "Be brief."].map((text) => ({ type: "text", text }));
  await fetch("/v1/messages", post({ ...BODY, system }));
  expect(engine.prompts[0]).toContain("Be brief.");
  expect(engine.prompts[0]).not.toContain("billing");
});

test("a stream has events as they come", async () => {
  const { fetch } = gatewayWith();
  const response = await fetch("/v1/messages?beta=true", post({ ...BODY, stream: true }));
  expect(response.headers.get("content-type")).toMatch(/^text\/event-stream/);
  expect(await response.text()).toMatch(/^event: message_start\n[\s\S]*event: message_stop\n/);
});

test("its probe of the connection is answered by the gateway, whatever with", async () => {
  expect((await gatewayWith().fetch("/", { method: "HEAD" })).status).toBeLessThan(500);
});

test("the list of models for its discovery, by one credential and without a redirect", async () => {
  const { fetch } = gatewayWith(ANSWER, { keys: [`ann:${hash("sha256", "hg-1")}`] });
  const headers = { "anthropic-version": "2023-06-01", "x-api-key": "hg-1" };
  const response = await fetch("/v1/models?limit=1000", { headers, redirect: "error" });
  expect(await response.json()).toMatchObject({
    data: [{ id: MODEL, display_name: expect.any(String) }],
  });
});

test.each(["/managed/settings", "/.well-known/oauth-authorization-server"])(
  "%s, which only a gateway with its sign-in has, is a 404",
  async (path) => {
    expect((await gatewayWith().fetch(path)).status).toBe(404);
  },
);
