import { describe, expect, test } from "vitest";

import { EngineError } from "../../src/index.ts";
import {
  findServerError,
  readServerError,
  toEngineError,
} from "../../src/engines/server-errors.ts";

describe("the message of a server's error", () => {
  test.each([
    [
      "an object",
      { error: { message: "m", type: "t", param: "p", code: 400 } },
      { message: "m", type: "t", param: "p", status: 400 },
    ],
    ["a text", { error: "m" }, { message: "m" }],
    ["a text beside its type", { error: "m", type: "t" }, { message: "m", type: "t" }],
    [
      "flat",
      { object: "error", message: "m", type: "t", code: 400 },
      { message: "m", type: "t", status: 400 },
    ],
    [
      "a code that is no status",
      { error: { message: "m", code: "rate_limited" } },
      { message: "m" },
    ],
    ["an object without a message", { error: { reason: "r" } }, { message: '{"reason":"r"}' }],
    ["no error: null", { error: null, choices: [] }, undefined],
    ["no error: another object", { object: "text_completion", message: "m" }, undefined],
    ["no error: no object", [1], undefined],
  ])("is found in a frame: %s", (_, frame, expected) => {
    expect(findServerError(frame)).toEqual(expected);
  });

  test.each([
    ["FastAPI", '{"detail":"Not Found"}', "Not Found"],
    ["a bare message", '{"message":"m"}', "m"],
    [
      "a page with a title",
      "<html><head><title>502 Bad\n Gateway</title></head><body>x</body>",
      "502 Bad Gateway",
    ],
    ["a page without", "<h1>Bad</h1>\n<p>Gateway</p>", "Bad Gateway"],
    ["plain text", "  upstream \n timed out ", "upstream timed out"],
    ["a comparison, which is no markup", "n_ctx < 8 and > 2", "n_ctx < 8 and > 2"],
    ["nothing", "", "HTTP 500 without a message"],
    ["a tag that another one begins in", "<p class=<b>Bad</b> Gateway", "<p class= Bad Gateway"],
    ["too much", "x".repeat(600), `${"x".repeat(500)}…`],
    ["much more than is looked at", `${"<br>".repeat(1_024)}Bad Gateway`, "…"],
    ["JSON of no known shape", "[1]", "[1]"],
  ])("is found in a body: %s", (_, body, message) => {
    expect(readServerError(body, 500).message).toBe(message);
  });
});

describe("the kind of a server's error", () => {
  test.each([
    [307, "not-found"],
    [400, "bad-request"],
    [401, "auth"],
    [402, "auth"],
    [403, "auth"],
    [404, "not-found"],
    [405, "not-found"],
    [408, "timeout"],
    [413, "bad-request"],
    [429, "rate-limit"],
    [500, "server-error"],
    [502, "server-error"],
    [503, "overloaded"],
    [504, "timeout"],
    [529, "overloaded"],
  ])("HTTP %i is %s", (status, kind) => {
    expect(toEngineError("e", { message: "m" }, status).kind).toBe(kind);
  });

  test.each([
    ["This model's maximum context length is 8192 tokens", "context-length"],
    [
      "The input (9 tokens) is longer than the model's context length (8 tokens).",
      "context-length",
    ],
    ["the request exceeds the available context size", "context-length"],
    ["prompt length should not exceed max_num_tokens", "context-length"],
    ["The prompt is too long", "context-length"],
    ["top_p must be in (0, 1]", "bad-request"],
  ])("HTTP 400 %j is %s", (message, kind) => {
    expect(toEngineError("e", { message }, 400).kind).toBe(kind);
  });

  test.each([
    [{ message: "m", type: "BadRequestError" }, "bad-request"],
    [{ message: "m", type: "invalid_request_error" }, "bad-request"],
    [{ message: "the context length is exceeded" }, "context-length"],
    [{ message: "m", param: "input_tokens" }, "context-length"],
    [{ message: "m", type: "exceed_context_size_error", status: 400 }, "context-length"],
    [{ message: "m", status: 503 }, "overloaded"],
    [{ message: "m" }, "server-error"],
  ])("in a stream %j is %s", (complaint, kind) => {
    expect(toEngineError("e", complaint).kind).toBe(kind);
  });

  test("carries everything an API may want to pass on", () => {
    const error = toEngineError("vllm at http://e", { message: "slow down!" }, 429, 30);
    expect(error).toBeInstanceOf(EngineError);
    expect(error).toMatchObject({
      name: "EngineError",
      kind: "rate-limit",
      status: 429,
      retryAfter: 30,
      serverMessage: "slow down!",
      message: "vllm at http://e is rate limited (429).",
    });
  });
});

test("the server's text is never in our message", () => {
  const words = { message: "Incorrect API key provided: sk-secret" };
  expect(toEngineError("e", words, 401).message).toBe(
    "e rejected the API key (401). Set it: HARMONY_GATEWAY_ENGINE_KEY, or --engine-key.",
  );
  expect(toEngineError("e", { message: "it ended", isOurs: true }, 500).message).toBe(
    "e failed (500): it ended.",
  );
});

describe("plain HTTP to a port of TLS", () => {
  const NGINX =
    "<html>\r\n<head><title>400 The plain HTTP request was sent to HTTPS port</title></head>\r\n<body></body></html>";

  test.each([NGINX, "Client sent an HTTP request to an HTTPS server.\n"])(
    "is named where the server says so: %j",
    (body) => {
      const error = toEngineError("vllm at http://e", readServerError(body, 400), 400);
      expect([error.kind, error.message]).toEqual([
        "bad-request",
        "vllm at http://e speaks TLS (400). Begin its URL with https, not http.",
      ]);
    },
  );

  test("is not read from a message that quotes a prompt", () => {
    const body = JSON.stringify({
      error: { message: "not a grammar: Client sent an HTTP request to an HTTPS server." },
    });
    const { message } = toEngineError("vllm at http://e", readServerError(body, 400), 400);
    expect(message).toBe("vllm at http://e refused the request (400).");
  });
});
