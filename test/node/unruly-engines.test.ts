/** A gateway over engines that keep no limit: they ping instead of sampling, or sample without end. */
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { connect } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { eventually } from "../helpers/eventually.ts";
import { startTestGateway, type TestGateway } from "../helpers/gateway.ts";
import { spelledIds } from "../helpers/spelled.ts";
import { startVllmServer, toFrame, type VllmServer } from "../helpers/vllm-server.ts";
import { chatReply } from "../helpers/replies.ts";

/** An engine's answer to all requests but the gateway's probes. */
type Manner = (response: ServerResponse) => Promise<void>;

const HEADER = spelledIds("<|channel|>final<|message|>");
const WORD = spelledIds(" word");
const ANSWER = spelledIds("<|channel|>final<|message|>Hello.<|return|>");
const DONE = "data: [DONE]\n\n";

async function ping(response: ServerResponse): Promise<void> {
  while (!response.destroyed) {
    response.write(": ping\n\n");
    await pause(20);
  }
}

const onlyPings: Manner = ping;

async function pingsInTheMiddle(response: ServerResponse): Promise<void> {
  response.write(toFrame([...HEADER, ...WORD], null));
  await ping(response);
}

async function answers(response: ServerResponse): Promise<void> {
  response.end(toFrame(ANSWER, null) + toFrame([], "stop") + DONE);
}

/** An engine that writes this number of words after the header. */
function overruns(words: number): Manner {
  return async (response) => {
    response.write(toFrame(HEADER, null));
    for (let word = 0; word < words && !response.destroyed; word++) {
      if (!response.write(toFrame(WORD, null))) await pause(0);
    }
    response.end(toFrame([], "stop") + DONE);
  };
}

/** Long text in one token. */
const LINE = spelledIds("-".repeat(64));
/** Number of tokens that engines have written. */
let written = 0;

/** Writes tokens without end, as fast as they are read. */
async function floods(response: ServerResponse): Promise<void> {
  const closed = once(response, "close");
  response.write(toFrame(HEADER, null));
  while (!response.destroyed) {
    written += 1;
    if (response.write(toFrame(LINE, null))) continue;
    await Promise.race([once(response, "drain"), closed]);
  }
}

const manners: [Manner, Manner] = [answers, answers];
let engines: VllmServer[];
let gateway: TestGateway;

beforeAll(async () => {
  engines = await Promise.all(
    [0, 1].map((at) =>
      startVllmServer({
        isFrozen: () => false,
        async complete(prompt, _, response) {
          response.writeHead(200, { "content-type": "text/event-stream" });
          if (!prompt.startsWith("<|start|>system")) {
            response.end(`${toFrame(spelledIds("<|return|>"), "stop")}${DONE}`);
          } else await manners[at]?.(response);
        },
      }),
    ),
  );
  gateway = await startTestGateway({
    settings: {
      backends: engines.map(({ url }) => ({ engine: "vllm", url, maxConcurrent: 2 })),
      firstTokenTimeoutMs: 500,
      idleTimeoutMs: 500,
      log: "warn",
    },
  });
  await eventually(async () => {
    if ((await ready()).status !== 200) throw new Error("not ready");
  });
});

afterAll(async () => {
  await gateway.close();
  await Promise.all(engines.map((engine) => engine.kill()));
});

afterEach(async () => {
  manners[0] = manners[1] = answers;
  await expectRest();
});

/** Expects that no connection, turn or slot is left. */
async function expectRest(): Promise<void> {
  await expect.poll(() => engines.map(({ open }) => open)).toEqual([0, 0]);
  await expect.poll(() => gateway.counter("turns_in_flight")).toBe(0);
  expect(await (await ready()).json()).toMatchObject({
    models: [{ backends: [{ in_flight: 0 }, { in_flight: 0 }] }],
  });
}

function ready(): Promise<Response> {
  return fetch(`${gateway.origin}/ready`);
}

function post(path: string, body: object): Promise<Response> {
  return fetch(gateway.baseURL + path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "openai/gpt-oss-20b", ...body }),
  });
}

function chat(body: object = {}): Promise<Response> {
  return post("/chat/completions", { messages: [{ role: "user", content: "Hi" }], ...body });
}

describe("S7: an engine that only pings", () => {
  test("before its first token is given up, and another one answers", async () => {
    manners[0] = onlyPings;
    for (let i = 0; i < 4; i++) {
      const { choices } = chatReply.parse(await (await chat()).json());
      expect(choices[0].message.content).toBe("Hello.");
    }
  });

  test("before its first token, as all others do, ends in a typed error", async () => {
    manners[0] = manners[1] = onlyPings;
    const response = await chat();
    expect([response.status, await response.json()]).toMatchObject([
      504,
      { error: { message: expect.stringContaining("no token within 500 ms") } },
    ]);
  });

  test("in the middle of an answer ends the stream with a typed error", async () => {
    manners[0] = manners[1] = pingsInTheMiddle;
    const text = await (await chat({ stream: true })).text();
    expect(text).toContain(" word");
    expect(text).toContain('"error_type":"timeout"');
  });

  test.each([
    ["before its first token", onlyPings],
    ["in the middle", pingsInTheMiddle],
  ])("%s ends a background response as failed", async (_, manner) => {
    manners[0] = manners[1] = manner;
    const begun = await post("/responses", { input: "Hi", background: true });
    const { id } = z.object({ id: z.string() }).parse(await begun.json());
    const look = async () => (await fetch(`${gateway.baseURL}/responses/${id}`)).json();
    await expect.poll(look, { timeout: 20_000 }).toMatchObject({
      status: "failed",
      error: { code: "server_error" },
    });
  });
});

describe("S8: an engine that samples more than requested", () => {
  test("is cut with `length` at the request's limit", async () => {
    manners[0] = manners[1] = overruns(400);
    const { choices, usage } = chatReply.parse(await (await chat({ max_tokens: 50 })).json());
    expect(choices[0].finish_reason).toBe("length");
    expect(choices[0].message.content).toBe(" word".repeat(50 - HEADER.length));
    expect(usage?.completion_tokens).toBe(50);
  });

  test("without end is cut at the context", async () => {
    manners[0] = manners[1] = overruns(Infinity);
    const { choices, usage } = chatReply.parse(await (await chat()).json());
    expect(choices[0].finish_reason).toBe("length");
    expect(usage?.completion_tokens).toBeLessThan(131_072);
  });
});

test("an engine that is faster than its reader is read no further than some buffers", async () => {
  manners[0] = manners[1] = floods;
  const endless = await startTestGateway({
    settings: {
      engine: "vllm",
      url: engines[0]?.url,
      contextLength: 10_000_000,
      log: "silent",
    },
  });
  const body = JSON.stringify({ messages: [{ role: "user", content: "Hi" }], stream: true });
  const client = connect(Number(new URL(endless.origin).port), "127.0.0.1").pause();
  client.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  let before = 0;
  const hasStopped = () => {
    const isSame = before > 0 && before === written;
    before = written;
    return isSame;
  };
  await expect.poll(hasStopped, { interval: 500 }).toBe(true);
  // Each token has 64 bytes of text, and all have 640 MB, of which the system buffers some megabytes on both sides of the gateway.
  expect(written).toBeLessThan(1_000_000);
  client.destroy();
  await endless.close();
});
