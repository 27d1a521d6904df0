import { describe, expect, test } from "vitest";

import {
  expectHealthy,
  expectStream,
  readAnswer,
  redact,
  toSecrets,
} from "../../src/engines/server-response.ts";
import { createEngine } from "../../src/index.ts";
import { jsonAnswer, requestOf, scriptTransport, type TransportResponse } from "./support.ts";

const SERVER = { name: "vllm at http://a", secrets: ["sk-secret"] };

interface Scripted extends TransportResponse {
  readonly closes: number;
  readonly reads: number;
}

/** @param chunk one read of the body, repeated. */
function respond(
  status: number,
  chunk: string,
  { headers = {}, times = 1 }: { headers?: Record<string, string>; times?: number } = {},
): Scripted {
  let closes = 0;
  let reads = 0;
  return {
    status,
    headers: { get: (name) => headers[name] ?? null },
    pump: async (take) => {
      while (reads < times) {
        reads += 1;
        if (!(await take(new TextEncoder().encode(chunk)))) return;
      }
    },
    close: () => {
      closes += 1;
    },
    get closes() {
      return closes;
    },
    get reads() {
      return reads;
    },
  };
}

describe("a stream", () => {
  test.each(["text/event-stream", "application/x-ndjson", ""])(
    "of type %j is left unread",
    async (type) => {
      const response = respond(200, "data", { headers: { "content-type": type } });
      await expectStream(SERVER, response);
      expect([response.reads, response.closes]).toEqual([0, 0]);
    },
  );

  test("that is a JSON error under status 200 is that error", async () => {
    const body = JSON.stringify({ error: { message: "bad key sk-secret", code: 401 } });
    const response = respond(200, body, { headers: { "content-type": "application/json" } });
    await expect(expectStream(SERVER, response)).rejects.toMatchObject({
      kind: "auth",
      serverMessage: "bad key [redacted]",
    });
    expect(response.closes).toBe(1);
  });

  test("that is a page is not a stream", async () => {
    const response = respond(200, "<title>Welcome</title>", {
      headers: { "content-type": "text/html" },
    });
    await expect(expectStream(SERVER, response)).rejects.toMatchObject({
      kind: "server-error",
      message:
        "vllm at http://a answered with text/html instead of a stream. Is this the URL of an inference server?",
      serverMessage: "Welcome",
    });
  });

  test("under a redirect names the new location without its query", async () => {
    const response = respond(307, "", { headers: { location: "https://b/v1?key=1" } });
    await expect(expectStream(SERVER, response)).rejects.toMatchObject({
      kind: "not-found",
      serverMessage: "redirected to https://b/v1",
    });
  });
});

describe("an answer", () => {
  test("is its JSON", async () => {
    expect(await readAnswer(SERVER, respond(200, '{"a":1}'))).toEqual({ a: 1 });
  });

  test.each([404, 405])("is undefined under status %i", async (status) => {
    expect(await readAnswer(SERVER, respond(status, '{"detail":"Not Found"}'))).toBeUndefined();
  });

  test("that is not JSON is refused", async () => {
    await expect(readAnswer(SERVER, respond(200, "hello"))).rejects.toMatchObject({
      kind: "server-error",
      message: expect.stringContaining("something that is not JSON"),
    });
  });

  test("is read up to a limit", async () => {
    const endless = respond(500, "x".repeat(100_000), { times: 1_000 });
    await expect(readAnswer(SERVER, endless)).rejects.toMatchObject({ kind: "server-error" });
    expect([endless.reads, endless.closes]).toEqual([11, 1]);
  });
});

test.each([404, 405, 501])(
  "a path that the server answers with %i is no health check",
  async (status) => {
    await expect(
      expectHealthy(SERVER, "/health", respond(status, "Not Found")),
    ).rejects.toMatchObject({
      kind: "not-found",
      message: `${SERVER.name} has no health check at /health (${status}): its health is judged by its requests.`,
    });
  },
);

test("numbers that only Python writes are null in the answer to a query", async () => {
  const body = '{"a":NaN,"b":[-Infinity, Infinity],"c":"NaN","d": NaN}';
  expect(await readAnswer(SERVER, respond(200, body))).toEqual({
    a: null,
    b: [null, null],
    c: "NaN",
    d: null,
  });
});

test("a server is healthy unless it answers with an error", async () => {
  await expectHealthy(SERVER, "/health", respond(204, ""));
  await expectHealthy(SERVER, "/health", respond(302, ""));
  const response = respond(503, "loading", { headers: { "retry-after": "5" } });
  await expect(expectHealthy(SERVER, "/health", response)).rejects.toMatchObject({
    kind: "overloaded",
    retryAfter: 5,
  });
});

test("a secret in a request is removed from messages", () => {
  const secrets = toSecrets({
    "accept-encoding": "identity",
    authorization: "Bearer sk-secret",
    "x-gateway-token": "token-7f-long",
    "x-short": "abc",
  });
  expect(redact("identity: bad key sk-secret, abc, token-7f-long; sk-secret", secrets)).toBe(
    "identity: bad key [redacted], abc, [redacted]; [redacted]",
  );
});

test("an engine's error contains no key, even if the server repeats it", async () => {
  const message = "Incorrect API key provided: sk-secret";
  const transport = scriptTransport(() => jsonAnswer({ error: { message } }, 401));
  const options = { url: "http://engine", model: "m", apiKey: "sk-secret", transport };
  const { signal } = new AbortController();
  const events = createEngine("vllm", options).complete(requestOf(), signal);
  const reading = (async () => {
    for await (const _ of events);
  })();
  await expect(reading).rejects.toMatchObject({
    serverMessage: "Incorrect API key provided: [redacted]",
    message: expect.not.stringContaining("Incorrect"),
  });
});
