/** The sentences with which failures of engines, stores and turns are described to clients, and their statuses. */
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { EngineError, type EngineErrorKind, type Store } from "../../src/index.ts";
import { createBrowsingApp, MODEL } from "../helpers/browsing-app.ts";
import { type Script, scriptedEngine } from "../helpers/scripted-engine.ts";

const failed = z.object({ error: z.object({ message: z.string() }) });

/** The status and the message of the reply to a request. */
async function failureOf(
  script: Script,
  { body = {}, store }: { body?: object; store?: Store } = {},
) {
  const engine = scriptedEngine(() => script, { capabilities: { logprobs: false } });
  const app = createBrowsingApp({ engine, toolbox: {}, ...(store && { store }) });
  const response = await app.post("/v1/responses", { model: MODEL, input: "Hi", ...body });
  const { error } = failed.parse(await response.json());
  return { status: response.status, message: error.message };
}

describe("a failure of an engine", () => {
  test.each<[EngineErrorKind, number, string]>([
    ["unreachable", 502, "The engine cannot be reached."],
    ["unavailable", 503, "No engine is available. Try again later."],
    ["timeout", 504, "The engine did not answer in time."],
    ["overloaded", 503, "The engine is busy. Try again later."],
    ["loading", 503, "The model is still being loaded. Try again later. Please try again in 5s."],
    ["rate-limit", 429, "The engine is rate limited. Try again later."],
    ["tenant-limit", 429, "secret"],
    ["auth", 502, "The engine refused the gateway's credentials."],
    ["not-found", 502, "The engine does not serve this model."],
    [
      "context-length",
      400,
      "The prompt, or the prompt with the tokens requested for the answer, exceeds the model's maximum context length.",
    ],
    ["bad-request", 400, "The engine refused the request."],
    ["server-error", 502, "The engine failed."],
    ["closed", 502, "The engine closed the connection early."],
  ])("%s", async (kind, status, message) => {
    const refuse = new EngineError(kind, "secret");
    expect(await failureOf({ refuse })).toEqual({ status, message });
  });

  test("the server's own words are added where they concern the request", async () => {
    const refuse = new EngineError("bad-request", "at http://host: no", { serverMessage: "no" });
    expect(await failureOf({ refuse })).toEqual({
      status: 400,
      message: "The engine refused the request: no",
    });
  });
});

const ANSWER = "<|channel|>final<|message|>Hi.<|return|>";

test("a store that is unavailable", async () => {
  const down = () => Promise.reject(new Error("secret"));
  expect(await failureOf(ANSWER, { store: { get: down, set: down, delete: down } })).toEqual({
    status: 503,
    message:
      "The gateway's store is not available, so the response cannot be stored or read. Try again later, or set store to false. Please try again in 1s.",
  });
});

test("a store for which the events of a response are too large", async () => {
  const store: Store = {
    get: () => Promise.resolve(undefined),
    set: (key) => Promise.resolve(!key.startsWith("response-events:")),
    delete: () => Promise.resolve(),
  };
  expect(await failureOf(ANSWER, { store, body: { background: true } })).toEqual({
    status: 413,
    message:
      "The response or conversation is too large for the store. Start a new one, or set store to false.",
  });
});

test("a turn that fails says why itself", async () => {
  expect(
    await failureOf(ANSWER, {
      body: { top_logprobs: 1, include: ["message.output_text.logprobs"] },
    }),
  ).toEqual({
    status: 400,
    message:
      "logprobs: the engine of this model does not support log probabilities. Send the request without logprobs.",
  });
});

test("anything else is reported to no client", async () => {
  expect(await failureOf({ refuse: new TypeError("secret") })).toEqual({
    status: 500,
    message: "The gateway failed to handle this request.",
  });
});
