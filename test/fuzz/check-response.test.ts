import { describe, expect, test } from "vitest";
import { findProblem } from "../../proof/fuzz/check-response.ts";

const asked = { method: "POST" };

function answer(status: number, body: unknown, headers: Record<string, string> = {}): Response {
  return new Response(typeof body === "string" ? body : JSON.stringify(body), {
    status,
    headers: { "content-type": "application/json", ...headers },
  });
}

function stream(text: string): Response {
  return new Response(text, { headers: { "content-type": "text/event-stream" } });
}

const chatError = (code: number) => ({
  error: { code, message: "no", type: "x", param: null, metadata: { error_type: "y" } },
});

const responsesError = { error: { code: null, message: "no", type: "x", param: null } };

describe("an answer of the gateway", () => {
  test.each([
    ["an answer", () => answer(200, { ok: true })],
    ["an error of chat completions", () => answer(400, chatError(400))],
    ["an error of responses", () => answer(404, responsesError)],
    ["a chat stream", () => stream('data: {"choices":[]}\n\ndata: [DONE]\n\n')],
    ["a chat stream with an error", () => stream('data: {"error":{"code":502}}\n\n')],
    ["events", () => stream('event: response.failed\ndata: {"type":"response.failed"}\n\n')],
  ])("is right: %s", async (_, make) => {
    expect(await findProblem(make(), asked)).toBeUndefined();
  });

  test.each([
    ["a 500", () => answer(500, chatError(500)), /^500/],
    ["text for an error", () => answer(400, "no", { "content-type": "text/plain" }), /^no JSON/],
    ["an error without envelope", () => answer(400, { message: "no" }), /^not in an envelope/],
    ["another code than the status", () => answer(400, chatError(404)), /^the code is not/],
    ["a 401 without challenge", () => answer(401, chatError(401)), /^no www-authenticate/],
    ["a 405 without methods", () => answer(405, chatError(405)), /^no allow/],
    [
      "a mistake of our own behind a 200",
      () => stream('data: {"error":{"message":"The gateway failed to handle this request."}}\n\n'),
      /^an own mistake/,
    ],
    [
      "a stream that stops",
      () => stream('data: {"choices":[]}\n\n'),
      /^the stream ends without an end or an error: /,
    ],
    ["a line that is no frame", () => stream("oops\n\n"), /^no frame/],
  ])("is wrong: %s", async (_, make, problem) => {
    expect(await findProblem(make(), asked)).toMatch(problem);
  });
});
