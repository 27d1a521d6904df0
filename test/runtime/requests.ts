/** Requests that a newcomer would try first, for every runtime. */
import { expect, test } from "vitest";
import { readChatMessage } from "../helpers/replies.ts";

const HELLO = { model: "openai/gpt-oss-20b", messages: [{ role: "user", content: "Hello!" }] };

/** The used members of `RequestInit`: runtimes disagree about the others. */
export interface Sent {
  readonly method: "POST";
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** Declares the tests. @param send sends a request to a path such as `/v1/models` */
export function testRequests(send: (path: string, sent?: Sent) => Promise<Response>): void {
  const post = (body: object) =>
    send("/v1/chat/completions", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });

  test("lists its models", async () => {
    const response = await send("/v1/models");
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({
      object: "list",
      data: [{ id: "openai/gpt-oss-20b" }],
    });
  });

  test("is ready", async () => {
    const read = async () => {
      const response = await send("/ready");
      return [response.status, await response.json()];
    };
    // The start does not wait for its probe.
    await expect.poll(read).toEqual([
      200,
      {
        status: "ready",
        models: [
          {
            id: "openai/gpt-oss-20b",
            state: "ready",
            queued: 0,
            backends: [
              {
                id: "demo",
                engine: "demo",
                health: "up",
                in_flight: 0,
                succeeded: expect.any(Number),
                failed: 0,
              },
            ],
          },
        ],
      },
    ]);
  });

  test("answers, and streams the same answer", async () => {
    const plain = await post(HELLO);
    expect(await plain.clone().json()).toMatchObject({
      object: "chat.completion",
      choices: [{ finish_reason: "stop" }],
    });
    const { content, reasoning } = await readChatMessage(plain);
    expect([content, reasoning]).toEqual([expect.stringMatching(/./), expect.stringMatching(/./)]);
    const streamed = await post({ ...HELLO, stream: true });
    expect(streamed.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    expect(await readChatMessage(streamed)).toMatchObject({ content, reasoning });
  });

  test("refuses an invalid request in the error envelope", async () => {
    const response = await post({ ...HELLO, messages: [] });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: { code: "invalid_request", type: "invalid_request_error", param: "messages" },
    });
  });
}
