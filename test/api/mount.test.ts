import { hash } from "node:crypto";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { createEngine } from "../../src/index.ts";
import { appOf } from "../helpers/app.ts";
import { testSettings } from "../helpers/gateway.ts";

/** How each API formats an error, and both below OpenRouter's prefix. */
const ENVELOPES: Record<string, (status: number) => object> = {
  chat: () => envelope({ code: expect.any(String), metadata: METADATA }),
  responses: () => envelope({ code: expect.toSatisfy(isTextOrNull) }),
  openrouter: (code) => envelope({ code, metadata: METADATA }),
};

const METADATA = { error_type: expect.any(String) };

function envelope(members: object) {
  const shared = { message: expect.any(String), type: expect.any(String) };
  return { error: { ...shared, param: expect.toSatisfy(isTextOrNull), ...members } };
}

function isTextOrNull(value: unknown): boolean {
  return value === null || typeof value === "string";
}

describe.each([
  ["chat", "/v1/chat/completions", "POST"],
  ["openrouter", "/api/v1/models", "GET, HEAD"],
  ["responses", "/v1/responses", "POST"],
  ["openrouter", "/api/v1/conversations", "POST"],
  ["responses", "/open-responses/v1/responses", "POST"],
])("the envelope of %s at %s", (api, path, methods) => {
  const knownKey = { authorization: "Bearer hg-1" };

  async function gateway() {
    const settings = testSettings({
      keys: [`alice:${hash("sha256", "hg-1")}`],
      maxBodyBytes: 100,
    });
    return appOf(settings, [{ id: "m", engine: createEngine("demo", { model: "demo" }) }], {});
  }

  const seen = async (response: Response) => [response.status, await response.json()];
  const error = (status: number) => [status, ENVELOPES[api]?.(status)];

  test("401, and how to authenticate", async () => {
    const response = await (await gateway()).request(path);
    expect(await seen(response)).toEqual(error(401));
    expect(response.headers.get("www-authenticate")).toBe("Bearer");
  });

  test("404", async () => {
    const response = await (await gateway()).request(`${path}/a/b/c/d`, { headers: knownKey });
    expect(await seen(response)).toEqual(error(404));
  });

  test("405, with the methods there are", async () => {
    const response = await (await gateway()).request(path, { method: "PATCH", headers: knownKey });
    expect(await seen(response)).toEqual(error(405));
    expect(response.headers.get("allow")).toContain(methods);
  });

  test("413", async () => {
    const init = { method: "POST", body: "x".repeat(101), headers: knownKey };
    const response = await (await gateway()).request(path, init);
    expect(await seen(response)).toEqual(error(413));
  });
});

test.each([
  ["chat", "/v1/chat/completions"],
  ["responses", "/v1/responses"],
])(
  "a web page that may not use the gateway gets an error in the envelope of %s",
  async (api, path) => {
    const app = appOf(
      testSettings(),
      [{ id: "m", engine: createEngine("demo", { model: "demo" }) }],
      {},
    );
    const headers = { origin: "https://evil.example" };
    const response = await app.request(path, { method: "POST", headers });
    expect(response.status).toBe(403);
    expect(await response.json()).toEqual(ENVELOPES[api]?.(403));
  },
);

describe("an API with its own key header and errors, which shares a path with others", () => {
  const own = { "anthropic-version": "2023-06-01", "x-api-key": "hg-1" };
  const bearer = { authorization: "Bearer hg-1" };

  async function ask(path: string, init: RequestInit = {}) {
    const settings = testSettings({
      keys: [`alice:${hash("sha256", "hg-1")}`],
      maxBodyBytes: 100,
    });
    const engine = createEngine("demo", { model: "demo" });
    return appOf(settings, [{ id: "m", engine }], { randomId: () => "1" }).request(path, init);
  }

  test("reads its own kind of key, and shares paths with other APIs", async () => {
    const body = JSON.stringify({ messages: [{ role: "user", content: "Hi" }], max_tokens: 9 });
    const answered = await ask("/v1/messages", { method: "POST", headers: own, body });
    expect(await answered.json()).toMatchObject({ type: "message" });
    const list = async (headers: Record<string, string>) =>
      (await ask("/v1/models", { headers })).json();
    expect(await list(own)).toMatchObject({ data: [{ type: "model", id: "m" }] });
    expect(await list(bearer)).toMatchObject({ object: "list", data: [{ object: "model" }] });
  });

  const long = "x".repeat(101);
  test.each<[number, string, string, string, RequestInit]>([
    [
      401,
      "authentication_error",
      "an unknown key",
      "/v1/messages",
      { method: "POST", headers: { ...own, "x-api-key": "x" } },
    ],
    [404, "not_found_error", "an unknown path", "/v1/nothing", { headers: own }],
    [
      405,
      "invalid_request_error",
      "an unknown method",
      "/v1/messages",
      { method: "PUT", headers: own },
    ],
    [
      413,
      "request_too_large",
      "a body over the limit",
      "/v1/messages",
      { method: "POST", headers: own, body: long },
    ],
  ])("words its errors itself: %i, %s, for %s", async (status, type, _, path, init) => {
    const response = await ask(path, init);
    expect(response.status).toBe(status);
    expect(await response.json()).toEqual({
      type: "error",
      error: { type, message: expect.any(String) },
      request_id: "req_1",
    });
    expect(response.headers.get("request-id")).toBe("req_1");
  });

  test("is named where a path does not exist", async () => {
    const messages = await Promise.all(
      ["/messages/x", "/responses/x/y", "/v1/nothing", "/v1/files"].map(async (path) => {
        const { error } = failed.parse(await (await ask(path, { headers: bearer })).json());
        return error.message;
      }),
    );
    const paths =
      "There are /v1/chat/completions, /v1/responses, /v1/messages and /v1/models; /api lists all routes.";
    expect(messages).toEqual([
      "There is no route with this path. Did you mean /v1/messages?",
      "There is no route with this path. Did you mean /v1/responses?",
      `There is no route with this path. ${paths}`,
      `No files are kept here. ${paths}`,
    ]);
  });

  test("does not format errors of other APIs", async () => {
    expect(await (await ask("/v1/nothing", { headers: bearer })).json()).toMatchObject({
      error: { code: "unknown_url" },
    });
    // The key header of one API is not accepted by another.
    expect((await ask("/v1/models", { headers: { "x-api-key": "hg-1" } })).status).toBe(401);
  });
});

const failed = z.object({ error: z.object({ message: z.string() }) });
