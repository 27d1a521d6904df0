/** The sentences with which failures of engines, stores and turns are described to clients, and their statuses. */
import { describe, expect, test } from "vitest";
import { describeError } from "../../src/api/errors.ts";
import { EngineError, type EngineErrorKind } from "../../src/index.ts";
import { StoreError } from "../../src/store/store-error.ts";
import { TurnError } from "../../src/turn/turn-error.ts";

describe("a failure of an engine", () => {
  test.each<[EngineErrorKind, number, string]>([
    ["unreachable", 502, "The engine cannot be reached."],
    ["unavailable", 503, "No engine is available. Try again later."],
    ["timeout", 504, "The engine did not answer in time."],
    ["overloaded", 503, "The engine is busy. Try again later."],
    ["loading", 503, "The model is still being loaded. Try again later."],
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
  ])("%s", (kind, status, message) => {
    expect(describeError(new EngineError(kind, "secret"))).toMatchObject({ status, message });
  });

  test("the server's own words are added where they concern the request", () => {
    const { message } = describeError(
      new EngineError("bad-request", "at http://host: no", { serverMessage: "no" }),
    );
    expect(message).toBe("The engine refused the request: no");
  });
});

test.each([
  [
    "unavailable",
    503,
    "The gateway's store is not available, so the response cannot be stored or read. Try again later, or set store to false.",
  ],
  [
    "too-large",
    413,
    "The response or conversation is too large for the store. Start a new one, or set store to false.",
  ],
] as const)("a store that is %s", (kind, status, message) => {
  expect(describeError(new StoreError(kind, "secret"))).toMatchObject({ status, message });
});

test("a turn that fails says why itself", () => {
  expect(describeError(new TurnError("unsupported", "logprobs: no."))).toMatchObject({
    status: 400,
    message: "logprobs: no.",
  });
});

test("anything else is reported to no client", () => {
  expect(describeError(new TypeError("secret"))).toMatchObject({
    status: 500,
    message: "The gateway failed to handle this request.",
  });
});
