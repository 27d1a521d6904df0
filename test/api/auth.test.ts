import { hash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { appOf } from "../helpers/app.ts";
import { testLog, testSettings } from "../helpers/gateway.ts";
import { scriptedEngine } from "../helpers/scripted-engine.ts";

const ALICE = "hg-alice";
const BOB = "hg-bob";
const KEYS = [
  { name: "alice", sha256: hash("sha256", ALICE) },
  { name: "bob", sha256: hash("sha256", BOB), reasoningPolicy: "none" },
];
const NOW = Date.parse("2026-11-25T12:00:00Z");
const CHAT = "/v1/chat/completions";
/** A path whose clients may send the key in `x-api-key`, too. */
const MESSAGES = "/v1/messages";

const OUTPUT =
  "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Hi.<|return|>";

/** The tenant of a request and whether it sees reasoning, or the status and the error of the refusal. */
async function ask(
  settings: Readonly<Record<string, unknown>>,
  headers: Record<string, string> = {},
  path = CHAT,
): Promise<unknown> {
  const logged: Record<string, unknown>[] = [];
  const app = appOf(testSettings(settings), [{ id: "m", engine: scriptedEngine(() => OUTPUT) }], {
    log: testLog(logged),
    now: () => NOW,
  });
  const messages = [{ role: "user", content: "Hi" }];
  const body = JSON.stringify({ model: "m", messages, max_tokens: 50 });
  const response = await app.request(path, { method: "POST", headers, body });
  const text = await response.text();
  if (response.status !== 200) return { status: response.status, ...JSON.parse(text) };
  const { tenant } = logged.find(({ event }) => event === "request") ?? {};
  return { tenant, seesReasoning: text.includes("Hm.") };
}

const refused = (message: unknown) => ({
  status: 401,
  error: {
    code: "invalid_api_key",
    message,
    type: "authentication_error",
    param: null,
    metadata: { error_type: "authentication" },
  },
});

describe("without configured keys", () => {
  test("every client is anonymous", async () => {
    expect(await ask({})).toEqual({ tenant: "anonymous", seesReasoning: true });
  });

  test("a key that an SDK sends anyway is ignored", async () => {
    const headers = { authorization: "Bearer sk-anything" };
    expect(await ask({ reasoningPolicy: "none" }, headers)).toEqual({
      tenant: "anonymous",
      seesReasoning: false,
    });
  });
});

describe("with configured keys", () => {
  const alice = { tenant: "alice", seesReasoning: true };
  const bob = { tenant: "bob", seesReasoning: false };

  test("a key determines the tenant; its policy is the gateway's unless it has its own", async () => {
    expect(await ask({ keys: KEYS }, { authorization: `Bearer ${ALICE}` })).toEqual(alice);
    expect(await ask({ keys: KEYS }, { authorization: `bearer  ${BOB}` })).toEqual(bob);
    const none = { keys: KEYS, reasoningPolicy: "none" };
    expect(await ask(none, { authorization: `Bearer ${ALICE}` })).toEqual({
      tenant: "alice",
      seesReasoning: false,
    });
  });

  test.each<[string, Record<string, string>, string]>([
    ["where the API has it", { "x-api-key": ALICE }, "alice"],
    ["as a bearer", { authorization: `Bearer ${BOB}` }, "bob"],
    ["beside an unknown one", { authorization: "Bearer sk-env", "x-api-key": ALICE }, "alice"],
    ["before an unknown one", { authorization: `Bearer ${BOB}`, "x-api-key": "sk-env" }, "bob"],
  ])("an API may look for it in several places: %s", async (_, headers, tenant) => {
    expect(await ask({ keys: KEYS }, headers, MESSAGES)).toMatchObject({ tenant });
  });

  test("a missing key is answered with how the API expects it", async () => {
    expect(await ask({ keys: KEYS }, {}, MESSAGES)).toMatchObject({
      error: {
        message:
          "An API key is required. Send it as `x-api-key: <key>` or `Authorization: Bearer <key>`.",
      },
    });
  });

  const REQUIRED = "An API key is required. Send it as `Authorization: Bearer <key>`.";
  const INVALID = "The API key is not valid for this gateway.";
  test.each<[string, Record<string, string>, string]>([
    ["none", {}, REQUIRED],
    ["an empty one", { authorization: "Bearer " }, REQUIRED],
    ["another scheme", { authorization: `Basic ${ALICE}` }, REQUIRED],
    ["another API's place", { "x-api-key": ALICE }, REQUIRED],
    ["an unknown one", { authorization: "Bearer hg-mallory" }, INVALID],
    ["one that only begins right", { authorization: `Bearer ${ALICE}x` }, INVALID],
    ["the hash itself", { authorization: `Bearer ${hash("sha256", ALICE)}` }, INVALID],
  ])("%s is refused", async (_, headers, message) => {
    expect(await ask({ keys: KEYS }, headers)).toEqual(refused(message));
  });

  describe("a key with an end", () => {
    const at = async (expires: string) => {
      const [key] = KEYS;
      return ask({ keys: [{ ...key, expires }] }, { authorization: `Bearer ${ALICE}` });
    };

    test.each([
      "2026-11-25",
      "2026-11-26",
      "2026-11-25T12:00:01Z",
      "2026-11-25T12:30:00+00:00",
      "2026-11-25T13:30:00+01:00",
    ])("works before it: %s", async (expires) => {
      expect(await at(expires)).toEqual(alice);
    });

    test.each(["2026-11-24", "2026-11-25T12:00:00Z", "2026-11-25T12:30:00+01:00"])(
      "is refused from then on, with the reason: %s",
      async (expires) => {
        expect(await at(expires)).toEqual(
          refused(
            `The API key expired on ${expires}. Ask the operator of this gateway for another one.`,
          ),
        );
      },
    );

    test("does not keep another key of the request from working", async () => {
      const [ended, other] = KEYS;
      const keys = [{ ...ended, expires: "2020-01-01" }, other];
      const headers = { "x-api-key": ALICE, authorization: `Bearer ${BOB}` };
      expect(await ask({ keys }, headers, MESSAGES)).toEqual(bob);
    });
  });
});
