import { hash } from "node:crypto";
import { Hono } from "hono";
import { describe, expect, test } from "vitest";
import { createEngine } from "../../src/index.ts";
import type { Api, Services } from "../../src/api/api.ts";
import { createAuthenticate } from "../../src/api/auth.ts";
import type { ApiEnv } from "../../src/api/request/client.ts";
import { chatCompletionsApi } from "../../src/api/chat-completions/api.ts";
import { ByteBudget } from "../../src/api/request/byte-budget.ts";
import { createApiErrorHandler, mountApis, refuseUnknown } from "../../src/api/mount.ts";
import { createModels } from "../../src/models/models.ts";
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

describe("an API of its own", () => {
  /** Claims a shared path by a header; has its own key header, envelope, status and limit. */
  const ownApi: Api = {
    name: "messages",
    turnPath: "/own",
    claims: (request) => request.header("own-version") !== undefined,
    routes: () => [
      {
        prefix: "/v1",
        app: new Hono<ApiEnv>()
          .post("/own", async (c) => c.json({ tenant: c.get("client").tenant }))
          .get("/models", (c, next) =>
            c.req.header("own-version") === undefined ? next() : Promise.resolve(c.text("own")),
          ),
      },
    ],
    authentication: {
      presentedKeys: (request) => [request.header("own-key") ?? []].flat(),
      instruction: "Send own-key.",
    },
    errorEnvelope: ({ status, message }, { id: requestId }) => ({
      status: status === 404 ? 404 : status + 100,
      body: { own: message, requestId },
      headers: { "request-id": requestId },
    }),
    limits: () => ({ maxBodyBytes: 3 }),
  };
  const shared: Api = {
    ...chatCompletionsApi,
    routes: () => [
      { prefix: "/v1", app: new Hono<ApiEnv>().get("/models", (c) => c.text("shared")) },
    ],
  };

  async function ask(path: string, init: RequestInit = {}) {
    const settings = testSettings({ keys: [`alice:${hash("sha256", "hg-1")}`] });
    // These two use nothing else.
    const services: Services = Object.assign(Object.create(null), {
      settings,
      uploads: new ByteBudget(settings.maxBodyBytes),
    });
    const apis = [ownApi, shared];
    const toErrorResponse = createApiErrorHandler(apis);
    const app = new Hono<ApiEnv>();
    app.use((c, next) => {
      c.set("requestId", "req_1");
      return next();
    });
    refuseUnknown(app, apis, toErrorResponse);
    mountApis(
      app,
      apis,
      createAuthenticate(settings, createModels([], { newCallId: () => "call_1" }), Date.now),
      services,
    );
    app.onError(toErrorResponse);
    return app.request(path, init);
  }

  const own = { "own-version": "1", "own-key": "hg-1" };
  const bearer = { authorization: "Bearer hg-1" };

  test("reads its own kind of key, and shares paths with other APIs", async () => {
    expect(await (await ask("/v1/own", { method: "POST", headers: own })).json()).toEqual({
      tenant: "alice",
    });
    expect(await (await ask("/v1/models", { headers: own })).text()).toBe("own");
    expect(await (await ask("/v1/models", { headers: bearer })).text()).toBe("shared");
  });

  test.each<[number, string, string, RequestInit]>([
    [501, "an unknown key", "/v1/own", { method: "POST", headers: { ...own, "own-key": "x" } }],
    [404, "an unknown path", "/v1/nothing", { headers: own }],
    [505, "an unknown method", "/v1/own", { method: "PUT", headers: own }],
    [513, "a body over its limit", "/v1/own", { method: "POST", headers: own, body: "four" }],
  ])("words its errors itself: %i for %s", async (status, _, path, init) => {
    const response = await ask(path, init);
    expect(response.status).toBe(status);
    expect(await response.json()).toEqual({ own: expect.any(String), requestId: "req_1" });
    expect(response.headers.get("request-id")).toBe("req_1");
  });

  test("is named where a path does not exist", async () => {
    const messages = await Promise.all(
      ["/own/x", "/v1/nothing", "/v1/files"].map(async (path) =>
        (await ask(path, { headers: own })).json(),
      ),
    );
    const paths = "There are /v1/chat/completions, /v1/own and /v1/models; /api lists all routes.";
    expect(messages).toEqual([
      { own: "There is no route with this path. Did you mean /v1/own?", requestId: "req_1" },
      { own: `There is no route with this path. ${paths}`, requestId: "req_1" },
      { own: `No files are kept here. ${paths}`, requestId: "req_1" },
    ]);
  });

  test("does not format errors of other APIs", async () => {
    expect(await (await ask("/v1/nothing", { headers: bearer })).json()).toMatchObject({
      error: { code: "unknown_url" },
    });
    // Its key is not accepted there.
    expect((await ask("/v1/models", { headers: { "own-key": "hg-1" } })).status).toBe(401);
  });
});
