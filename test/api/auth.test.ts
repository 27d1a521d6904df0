import { Hono } from "hono";
import { describe, expect, test } from "vitest";
import { type AuthOptions, authenticate, sha256Hex } from "../../src/api/auth.ts";
import type { ApiEnv } from "../../src/api/client.ts";
import { toErrorResponse } from "../../src/api/errors.ts";

const ALICE = "hg-alice";
const BOB = "hg-bob";

async function keys(): Promise<AuthOptions["keys"]> {
  return [
    { name: "alice", sha256: await sha256Hex(ALICE) },
    {
      name: "bob",
      sha256: await sha256Hex(BOB),
      reasoningPolicy: "none",
      reasoningContentMirror: true,
      reasoningEvents: "reasoning",
    },
  ];
}

/** What a route sees as `client`, or the error's status and type. */
async function ask(options: Partial<AuthOptions>, authorization?: string): Promise<unknown> {
  const app = new Hono<ApiEnv>();
  app.use(
    authenticate({
      keys: [],
      reasoningPolicy: "raw",
      reasoningContentMirror: false,
      reasoningEvents: "reasoning_text",
      ...options,
    }),
  );
  app.get("/", (c) => c.json(c.get("client")));
  app.onError((error) => toErrorResponse(error));
  const response = await app.request("/", authorization ? { headers: { authorization } } : {});
  return response.json();
}

test("SHA-256 is the one everybody knows", async () => {
  expect(await sha256Hex("abc")).toBe(
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
  );
});

describe("without configured keys", () => {
  const anonymous = {
    tenant: "anonymous",
    reasoningPolicy: "sealed",
    mirrorReasoning: true,
    reasoningEvents: "reasoning_text",
  };
  const options = { reasoningPolicy: "sealed", reasoningContentMirror: true } as const;

  test("everybody is anonymous", async () => {
    expect(await ask(options)).toEqual(anonymous);
  });

  test("a key that SDKs insist on sending is ignored", async () => {
    expect(await ask(options, "Bearer sk-anything")).toEqual(anonymous);
  });
});

describe("with configured keys", () => {
  test("a key makes its tenant, with the gateway's policy unless it has its own", async () => {
    const options = { keys: await keys() };
    expect(await ask(options, `Bearer ${ALICE}`)).toEqual({
      tenant: "alice",
      reasoningPolicy: "raw",
      mirrorReasoning: false,
      reasoningEvents: "reasoning_text",
    });
    expect(await ask(options, `bearer  ${BOB}`)).toEqual({
      tenant: "bob",
      reasoningPolicy: "none",
      mirrorReasoning: true,
      reasoningEvents: "reasoning",
    });
  });

  test.each<[string, string | undefined, RegExp]>([
    ["none", undefined, /A key is needed/],
    ["an empty one", "Bearer ", /A key is needed/],
    ["another scheme", `Basic ${ALICE}`, /A key is needed/],
    ["an unknown one", "Bearer hg-mallory", /not known/],
    ["one that only begins right", `Bearer ${ALICE}x`, /not known/],
    ["the hash itself", "Bearer <hash>", /not known/],
  ])("%s is refused", async (_, header, message) => {
    const options = { keys: await keys() };
    const sent = header?.replace("<hash>", options.keys[0]?.sha256 ?? "");
    expect(await ask(options, sent)).toEqual({
      error: {
        code: 401,
        message: expect.stringMatching(message),
        type: "authentication_error",
        param: null,
        metadata: { error_type: "authentication" },
      },
    });
  });
});
