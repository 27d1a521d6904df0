/** Traces as a collector receives them, from a running gateway with OpenTelemetry's own SDK. */
import { hash } from "node:crypto";
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import * as z from "zod";
import { createEngine, type Engine, EngineError } from "../../src/index.ts";
import { serveGateway, type Gateway } from "../../src/node/server/serve.ts";
import { appOf } from "../helpers/app.ts";
import { fakeTool } from "../helpers/fake-tool.ts";
import { type FakeUpstream, startFakeUpstream } from "../helpers/fake-upstream.ts";
import { startTestGateway, testLog, testSettings } from "../helpers/gateway.ts";
import {
  type OtlpReceiver,
  type ReceivedSpan,
  startOtlpReceiver,
} from "../helpers/otlp-receiver.ts";
import { pngOf } from "../helpers/png.ts";
import { scriptedEngine } from "../helpers/scripted-engine.ts";
import { spelledIds } from "../helpers/spelled.ts";
import { sendDescription, startVisionServer } from "../helpers/vision-server.ts";
import { toFrame, toServerInfo } from "../helpers/vllm-server.ts";

const [INTERNAL, SERVER, CLIENT] = [1, 2, 3];
const PARENT = "00f067aa0ba902b7";
const ANSWER =
  "<|channel|>analysis<|message|>Hm, greetings.<|end|><|start|>assistant<|channel|>final<|message|>Good day!<|return|>";

const completionBody = z.object({ prompt: z.array(z.int()) });

let receiver: OtlpReceiver;
let upstream: FakeUpstream;
let gateway: Gateway;
const logged: Record<string, unknown>[] = [];
/** The next completion waits for it after its first tokens. */
let held: Promise<void> | undefined;

const VARIABLES = [
  "OTEL_EXPORTER_OTLP_ENDPOINT",
  "OTEL_EXPORTER_OTLP_PROTOCOL",
  "OTEL_BSP_SCHEDULE_DELAY",
  "OTEL_NODE_RESOURCE_DETECTORS",
];

beforeAll(async () => {
  receiver = await startOtlpReceiver();
  upstream = await startFakeUpstream(async (exchange) => {
    if (exchange.path !== "/v1/completions")
      return exchange.reply(200, toServerInfo(exchange.path));
    exchange.begin();
    const { prompt } = completionBody.parse(JSON.parse(exchange.body));
    const usage = { prompt_tokens: prompt.length, completion_tokens: 11 };
    const wait = held;
    held = undefined;
    if (wait) {
      exchange.write(toFrame(spelledIds("<|channel|>analysis<|message|>Hm"), null));
      await wait;
    }
    exchange.write(toFrame(spelledIds(ANSWER), "stop"));
    exchange.end(`data: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`);
  });
  // The SDK reads the variables of its process.
  Object.assign(process.env, {
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
    OTEL_BSP_SCHEDULE_DELAY: "20",
    OTEL_NODE_RESOURCE_DETECTORS: "env",
  });
  gateway = await serveGateway(testSettings({ port: 0, metrics: "open" }), {
    models: [
      {
        id: "openai/gpt-oss-20b",
        engine: createEngine("vllm", { url: upstream.url, model: "openai/gpt-oss-20b" }),
      },
    ],
    environment: process.env,
    log: testLog(logged),
  });
});

afterAll(async () => {
  await gateway.close();
  await Promise.all([receiver.close(), upstream.close()]);
  for (const name of VARIABLES) delete process.env[name];
});

/** The trace of the running test: spans of earlier tests arrive late. */
let traceId = "";
let fromClient: Record<string, string> = {};

beforeEach(() => {
  traceId = crypto.randomUUID().replaceAll("-", "");
  fromClient = { traceparent: `00-${traceId}-${PARENT}-01`, baggage: "user=alice" };
  logged.splice(0);
});

function ask(body: object, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${gateway.baseUrl}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({
      model: "openai/gpt-oss-20b",
      messages: [{ role: "user", content: "Greet me kindly." }],
      ...body,
    }),
  });
}

/** The spans of a trace, once it has this many. */
async function spansOf(count: number, id = traceId): Promise<readonly ReceivedSpan[]> {
  const own = () => receiver.spans.filter((span) => span.traceId === id);
  await expect.poll(() => own().length).toBeGreaterThanOrEqual(count);
  return own();
}

function find(spans: readonly ReceivedSpan[], name: string): ReceivedSpan {
  const span = spans.find((each) => each.name === name);
  if (span === undefined)
    throw new Error(`no span ${name}: ${spans.map((each) => each.name).join()}`);
  return span;
}

test("each message of a WebSocket is a span of the client's trace", async () => {
  const headers = { ...fromClient, "x-request-id": "socket" };
  const socket = new WebSocket(`${gateway.baseUrl.replace("http", "ws")}/responses`, { headers });
  onTestFinished(() => socket.close());
  await once(socket, "open");
  const message = { type: "response.create", model: "openai/gpt-oss-20b", store: false };
  for (const input of ["Greet me.", "Greet me again.", 7]) {
    const answered = new Promise<void>((resolve) => {
      socket.on("message", (data: Buffer) => {
        if (/"type":"(?:response\.completed|error)"/.test(data.toString())) resolve();
      });
    });
    socket.send(JSON.stringify({ ...message, input }));
    await answered;
  }
  const spans = await spansOf(8);
  const messages = spans.filter(({ name }) => name === "WEBSOCKET /v1/responses");
  expect(messages.map(({ attributes }) => attributes)).toEqual(
    [1, 2, 3].map((index) => ({
      "http.route": "/v1/responses",
      "network.protocol.name": "websocket",
      "harmony_gateway.request_id": `socket-${index}`,
    })),
  );
  for (const { parentSpanId, kind } of messages) {
    expect([parentSpanId, kind]).toEqual([PARENT, SERVER]);
  }
  const turns = spans.filter(({ name }) => name === "chat openai/gpt-oss-20b");
  expect(turns.map(({ parentSpanId }) => parentSpanId)).toEqual(
    messages.slice(0, 2).map(({ spanId }) => spanId),
  );
});

describe("a request", () => {
  test("is a span of the client's trace, with the turn and its engine call below it", async () => {
    const response = await ask(
      { temperature: 0.5, seed: 7 },
      { ...fromClient, "x-request-id": "req-1" },
    );
    expect(await response.json()).toMatchObject({
      choices: [{ message: { content: "Good day!" } }],
    });
    const spans = await spansOf(3);
    const request = find(spans, "POST /v1/chat/completions");
    const turn = find(spans, "chat openai/gpt-oss-20b");
    const call = find(spans, "text_completion openai/gpt-oss-20b");

    expect(spans).toHaveLength(3);
    expect([request.parentSpanId, turn.parentSpanId, call.parentSpanId]).toEqual([
      PARENT,
      request.spanId,
      turn.spanId,
    ]);
    expect([request.kind, turn.kind, call.kind]).toEqual([SERVER, INTERNAL, CLIENT]);
    expect(receiver.service).toBe("harmony-gateway");
    expect(request.attributes).toEqual({
      "http.request.method": "POST",
      "http.route": "/v1/chat/completions",
      "http.response.status_code": 200,
      "harmony_gateway.request_id": "req-1",
    });
    expect(turn.attributes).toMatchObject({
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "vllm",
      "gen_ai.request.model": "openai/gpt-oss-20b",
      "gen_ai.request.temperature": 0.5,
      "gen_ai.request.seed": 7,
      "gen_ai.output.type": "text",
      "gen_ai.response.finish_reasons": ["stop"],
      "gen_ai.usage.input_tokens": 72,
      "gen_ai.usage.output_tokens": 11,
      "gen_ai.response.time_to_first_chunk": expect.any(Number),
      "harmony_gateway.engine_calls": 1,
      "harmony_gateway.outcome": "completed",
    });
    expect(call.attributes).toMatchObject({
      "gen_ai.operation.name": "text_completion",
      "gen_ai.response.finish_reasons": ["stop"],
      "gen_ai.usage.input_tokens": 72,
      "gen_ai.usage.output_tokens": 11,
      "harmony_gateway.decision": "continue",
      "harmony_gateway.outcome": "completed",
    });
  });

  test("passes the trace of its call on to the engine, and no baggage", async () => {
    await (await ask({}, fromClient)).json();
    const call = find(await spansOf(3), "text_completion openai/gpt-oss-20b");
    const headers = upstream.exchanges.at(-1)?.headers;
    expect(headers?.["traceparent"]).toBe(`00-${traceId}-${call.spanId}-01`);
    expect(headers?.["baggage"]).toBeUndefined();
  });

  test("has its trace's id in the log line of the turn", async () => {
    await (await ask({}, fromClient)).json();
    expect(logged.find(({ event }) => event === "turn")).toMatchObject({ traceId });
  });

  test("records where the reasoning of a tool loop came from", async () => {
    const call = { id: "call_1", type: "function", function: { name: "f", arguments: "{}" } };
    const messages = [
      { role: "user", content: "Go." },
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "tool", tool_call_id: "call_1", content: "ok" },
    ];
    await (await ask({ messages }, fromClient)).json();
    const request = find(await spansOf(3), "POST /v1/chat/completions");
    expect(request.attributes).toMatchObject({ "harmony_gateway.reasoning": "lost" });
  });

  test("has no text of the user or the model in its spans", async () => {
    await (await ask({}, fromClient)).json();
    await spansOf(3);
    const text = receiver.bodies.join("\n");
    expect(text).not.toMatch(/Greet me|Good day|greetings|alice/);
  });

  test("that streams ends with its turn, not with its headers", async () => {
    const release = Promise.withResolvers<void>();
    held = release.promise;
    const response = await ask({ stream: true }, fromClient);
    expect(response.status).toBe(200);
    // Spans of a later request have arrived, and none of this one.
    const later = crypto.randomUUID().replaceAll("-", "");
    await (await ask({}, { traceparent: `00-${later}-${PARENT}-01` })).json();
    await spansOf(3, later);
    expect(await spansOf(0)).toEqual([]);
    release.resolve();
    await response.text();
    expect((await spansOf(3)).map(({ name }) => name)).toContain("POST /v1/chat/completions");
  });

  test("that streams has its turn below it, also where its image is described behind the head", async () => {
    const waiting = Promise.withResolvers<ServerResponse>();
    const vision = await startVisionServer(() => waiting.resolve);
    const seeing = await startTestGateway({
      engine: scriptedEngine([ANSWER]),
      settings: { ...vision.settings, keepAliveMs: 20 },
    });
    onTestFinished(() => seeing.close());
    const image_url = { url: `data:image/png;base64,${pngOf(1, 1)}` };
    const messages = [{ role: "user", content: [{ type: "image_url", image_url }] }];
    const response = await fetch(`${seeing.baseURL}/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", ...fromClient },
      body: JSON.stringify({ model: "openai/gpt-oss-20b", messages, stream: true }),
    });
    sendDescription(await waiting.promise, "A cat.");
    await response.text();
    const spans = await spansOf(3);
    const request = find(spans, "POST /v1/chat/completions");
    const turn = find(spans, "chat openai/gpt-oss-20b");
    expect(turn.parentSpanId).toBe(request.spanId);
    // Spans are exported as they end. Their times are from clocks of their own, which differ by up to a millisecond.
    expect(spans.indexOf(request)).toBeGreaterThan(spans.indexOf(turn));
  });

  test("whose client does not sample makes no spans, and the engine receives that", async () => {
    await (await ask({}, { traceparent: `00-${traceId}-${PARENT}-00` })).json();
    expect(upstream.exchanges.at(-1)?.headers["traceparent"]).toMatch(
      new RegExp(`^00-${traceId}-[0-9a-f]{16}-00$`),
    );
    // Spans of a later request have arrived, and none of this one.
    const later = crypto.randomUUID().replaceAll("-", "");
    await (await ask({}, { traceparent: `00-${later}-${PARENT}-01` })).json();
    await spansOf(3, later);
    expect(await spansOf(0)).toEqual([]);
  });

  test.each(["00-xyz", "x".repeat(10_000), `00-${"0".repeat(32)}-${PARENT}-01`])(
    "with a wrong traceparent begins a trace of its own: %.20s",
    async (traceparent) => {
      await (await ask({}, { traceparent })).json();
      const turn = logged.find(({ event }) => event === "turn");
      expect(turn).toMatchObject({ traceId: expect.stringMatching(/^(?!0+$)[0-9a-f]{32}$/) });
      const spans = await spansOf(3, String(turn?.["traceId"]));
      expect(find(spans, "POST /v1/chat/completions").parentSpanId ?? "").toBe("");
    },
  );

  test("that is refused has one span; health checks have none", async () => {
    await fetch(new URL("/health", gateway.baseUrl), { headers: fromClient });
    expect((await ask({ messages: [] }, fromClient)).status).toBe(400);
    const spans = await spansOf(1);
    expect(
      spans.map(({ name, attributes, status }) => [
        name,
        attributes["http.response.status_code"],
        status,
      ]),
    ).toEqual([["POST /v1/chat/completions", 400, 0]]);
  });
});

describe("a turn", () => {
  /** A request to an application of this engine, in the trace of the test. */
  async function send(
    engine: Engine,
    body: object = {},
    {
      deps = {},
      settings = {},
      headers = {},
    }: {
      deps?: Parameters<typeof appOf>[2];
      settings?: Readonly<Record<string, unknown>>;
      headers?: Readonly<Record<string, string>>;
    } = {},
  ) {
    return appOf(testSettings(settings), [{ id: "m", engine }], deps).request(
      "/v1/chat/completions",
      {
        method: "POST",
        headers: { ...fromClient, ...headers },
        body: JSON.stringify({ messages: [{ role: "user", content: "hi" }], ...body }),
      },
    );
  }

  test("has spans of the tools that it runs", async () => {
    const engine = scriptedEngine([
      "<|channel|>analysis to=python code<|message|>print(1)<|call|>",
      "<|channel|>final<|message|>One.<|return|>",
    ]);
    const deps = { toolbox: { python: () => fakeTool() } };
    await (await send(engine, { tools: [{ type: "code_interpreter" }] }, { deps })).text();
    const spans = await spansOf(5);
    const turn = find(spans, "chat m");
    const tool = find(spans, "execute_tool python");
    expect(tool).toMatchObject({
      parentSpanId: turn.spanId,
      attributes: { "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "python" },
    });
    expect(spans.filter(({ name }) => name === "text_completion m")).toHaveLength(2);
  });

  test("that fails records the kind of failure, but no text", async () => {
    const error = new EngineError("overloaded", "the prompt `secret` came too early");
    const engine = scriptedEngine([{ write: "<|channel|>final<|message|>One", fail: error }]);
    expect((await send(engine)).status).toBe(503);
    const spans = await spansOf(3);
    for (const name of ["chat m", "text_completion m"]) {
      const { attributes, status } = find(spans, name);
      expect(attributes).toMatchObject({
        "error.type": "overloaded",
        "harmony_gateway.outcome": "failed",
      });
      expect(status).toBe(2);
    }
    expect(receiver.bodies.join("\n")).not.toContain("secret");
  });

  test("whose reader disconnects ends all of its spans", async () => {
    const engine = scriptedEngine([{ write: "<|channel|>final<|message|>One two", hang: true }]);
    const reader = (await send(engine, { stream: true })).body?.getReader();
    await reader?.read();
    await reader?.cancel();
    const spans = await spansOf(3);
    expect(find(spans, "chat m").attributes).toMatchObject({
      "harmony_gateway.outcome": "cancelled",
    });
    expect(find(spans, "text_completion m")).toBeDefined();
    expect(engine.open).toBe(0);
  });

  test("records prompts and answers only if the operator enables it", async () => {
    await send(scriptedEngine([ANSWER]), {}, { deps: { tracesContent: true } });
    const { attributes } = find(await spansOf(3), "chat m");
    expect(JSON.parse(String(attributes["gen_ai.input.messages"])).at(-1)).toEqual({
      role: "user",
      parts: [{ type: "text", content: "hi" }],
    });
    expect(JSON.parse(String(attributes["gen_ai.output.messages"]))).toEqual([
      {
        role: "assistant",
        parts: [
          { type: "reasoning", content: "Hm, greetings." },
          { type: "text", content: "Good day!" },
        ],
      },
    ]);
  });

  test("that is private has no prompt and answer in its span even then", async () => {
    const keys = [{ name: "alice", sha256: hash("sha256", "hg-1"), record: false }];
    const response = await send(
      scriptedEngine([ANSWER]),
      {},
      {
        deps: { tracesContent: true },
        settings: { keys },
        headers: { authorization: "Bearer hg-1" },
      },
    );
    expect(response.status).toBe(200);
    const { attributes } = find(await spansOf(3), "chat m");
    expect(attributes).not.toHaveProperty(["gen_ai.input.messages"]);
    expect(attributes).not.toHaveProperty(["gen_ai.output.messages"]);
  });
});
