import { hash } from "node:crypto";
import { Hono } from "hono";
import { describe, expect, test } from "vitest";
import { type Authentication, BEARER } from "../../src/api/api.ts";
import { type AuthOptions, createAuthenticate } from "../../src/api/auth.ts";
import type { ApiEnv } from "../../src/api/request/client.ts";
import { describeError } from "../../src/api/errors.ts";
import { createModels } from "../../src/models/models.ts";

const ALICE = "hg-alice";
const BOB = "hg-bob";

/** As in an API whose clients may also send `x-api-key`. */
const EITHER: Authentication = {
  presentedKeys: (request) => [
    ...BEARER.presentedKeys(request),
    ...[request.header("x-api-key") ?? []].flat(),
  ],
  instruction: "Send it as `x-api-key`.",
};

const KEYS: AuthOptions["keys"] = [
  { name: "alice", sha256: hash("sha256", ALICE) },
  { name: "bob", sha256: hash("sha256", BOB), reasoningPolicy: "none" },
];

const NOW = Date.parse("2026-11-25T12:00:00Z");

const models = createModels([], { newCallId: () => "call_1" });

/** The client that was found, or the error's description. */
async function ask(
  options: Partial<AuthOptions>,
  headers: Record<string, string> = {},
  authentication = BEARER,
): Promise<unknown> {
  const authenticate = createAuthenticate(
    { keys: [], reasoningPolicy: "raw", ...options },
    models,
    () => NOW,
  );
  const app = new Hono<ApiEnv>();
  app.get("/", async (c) => {
    const { models: allowed, expiry: _, ...client } = await authenticate(c.req, authentication);
    expect(allowed).toBe(models);
    return c.json(client);
  });
  app.onError((error, c) => c.json(describeError(error)));
  const response = await app.request("/", { headers });
  return response.json();
}

describe("without configured keys", () => {
  const anonymous = { tenant: "anonymous", reasoningPolicy: "sealed" };

  test("every client is anonymous", async () => {
    expect(await ask({ reasoningPolicy: "sealed" })).toEqual(anonymous);
  });

  test("a key that an SDK sends anyway is ignored", async () => {
    const headers = { authorization: "Bearer sk-anything" };
    expect(await ask({ reasoningPolicy: "sealed" }, headers)).toEqual(anonymous);
  });
});

describe("with configured keys", () => {
  const alice = { tenant: "alice", reasoningPolicy: "raw" };
  const bob = { tenant: "bob", reasoningPolicy: "none" };

  test("a key determines the tenant; its policy is the gateway's unless it has its own", async () => {
    const options = { keys: KEYS };
    expect(await ask(options, { authorization: `Bearer ${ALICE}` })).toEqual(alice);
    expect(await ask(options, { authorization: `bearer  ${BOB}` })).toEqual(bob);
  });

  test.each<[string, Record<string, string>, object]>([
    ["where the API has it", { "x-api-key": ALICE }, alice],
    ["as a bearer", { authorization: `Bearer ${BOB}` }, bob],
    ["beside an unknown one", { authorization: "Bearer sk-env", "x-api-key": ALICE }, alice],
    ["before an unknown one", { authorization: `Bearer ${BOB}`, "x-api-key": "sk-env" }, bob],
  ])("an API may look for it in several places: %s", async (_, headers, client) => {
    expect(await ask({ keys: KEYS }, headers, EITHER)).toEqual(client);
  });

  test("a missing key is answered with how the API expects it", async () => {
    expect(await ask({ keys: KEYS }, {}, EITHER)).toMatchObject({
      message: "An API key is required. Send it as `x-api-key`.",
    });
  });

  test.each<[string, Record<string, string>, RegExp]>([
    ["none", {}, /An API key is required/],
    ["an empty one", { authorization: "Bearer " }, /An API key is required/],
    ["another scheme", { authorization: `Basic ${ALICE}` }, /An API key is required/],
    ["another API's place", { "x-api-key": ALICE }, /An API key is required/],
    ["an unknown one", { authorization: "Bearer hg-mallory" }, /not valid for this gateway/],
    [
      "one that only begins right",
      { authorization: `Bearer ${ALICE}x` },
      /not valid for this gateway/,
    ],
    ["the hash itself", { authorization: "Bearer <hash>" }, /not valid for this gateway/],
  ])("%s is refused", async (_, headers, message) => {
    const options = { keys: KEYS };
    const sent = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [
        name,
        value.replace("<hash>", options.keys[0]?.sha256 ?? ""),
      ]),
    );
    expect(await ask(options, sent)).toEqual({
      status: 401,
      message: expect.stringMatching(message),
      type: "authentication_error",
      param: null,
      errorType: "authentication",
    });
  });

  describe("a key with an end", () => {
    const at = async (expires: string) => {
      const [key] = KEYS;
      if (key === undefined) throw new Error("there is no such key");
      return ask({ keys: [{ ...key, expires }] }, { authorization: `Bearer ${ALICE}` });
    };

    test.each([
      "2026-11-25",
      "2026-11-26",
      "2026-11-25T12:00:01Z",
      "2026-11-25T12:30:00+00:00",
      "2026-11-25T13:30:00+01:00",
    ])("works before it: %s", async (expires) => {
      expect(await at(expires)).toMatchObject({ tenant: "alice" });
    });

    test.each(["2026-11-24", "2026-11-25T12:00:00Z", "2026-11-25T12:30:00+01:00"])(
      "is refused from then on, with the reason: %s",
      async (expires) => {
        expect(await at(expires)).toEqual({
          status: 401,
          message: `The API key expired on ${expires}. Ask the operator of this gateway for another one.`,
          type: "authentication_error",
          param: null,
          errorType: "authentication",
        });
      },
    );

    test("does not keep another key of the request from working", async () => {
      const [ended, other] = KEYS;
      if (!ended || !other) throw new Error("there are no such keys");
      const options = { keys: [{ ...ended, expires: "2020-01-01" }, other] };
      const headers = { "x-api-key": ALICE, authorization: `Bearer ${BOB}` };
      expect(await ask(options, headers, EITHER)).toMatchObject({ tenant: "bob" });
    });
  });
});
