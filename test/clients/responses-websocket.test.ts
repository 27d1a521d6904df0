import { hash } from "node:crypto";
import OpenAI from "openai";
import { ResponsesWebSocketSession } from "openai/lib/responses/responses-websocket-session";
import { ResponsesWS } from "openai/resources/responses/ws";
import { afterEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { consume } from "../api/responses/consumer.ts";
import type { ResponseObject } from "../api/responses/schemas.ts";
import { startTestGateway, type TestGateway } from "../helpers/gateway.ts";
import { scriptedEngine, type ScriptedEngine } from "../helpers/scripted-engine.ts";
import { spelledIds } from "../helpers/spelled.ts";
import { loopScripts, analysisIn } from "../helpers/tool-loop.ts";

/** These tests also run against the Workers runtime, which hides some details. */
const ON_WORKERS = process.env["TEST_RUNTIME"] === "workerd";

const MODEL = "openai/gpt-oss-20b";
const ANSWER =
  "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Hello!<|return|>";
const CREATE = { type: "response.create", model: MODEL };

const event = z.looseObject({ type: z.string() });
type Event = z.infer<typeof event>;

let opened: TestGateway | undefined;

afterEach(async () => {
  await opened?.close();
  opened = undefined;
});

async function open(
  scripts: Parameters<typeof scriptedEngine>[0],
  settings: Record<string, unknown> = {},
): Promise<{ engine: ScriptedEngine; gateway: TestGateway; connect: () => Promise<Connection> }> {
  const engine = scriptedEngine(scripts);
  const gateway = await startTestGateway({ engine, settings });
  opened = gateway;
  const url = `${gateway.baseURL.replace("http", "ws")}/responses`;
  return { engine, gateway, connect: () => connect(url) };
}

/** A WebSocket whose messages are awaited one by one. */
interface Connection {
  send(message: object | string): void;
  next(): Promise<Event>;
  /** All events of one response, checked. */
  response(): Promise<ResponseObject>;
  /** Resolves with the code and reason with which the server closed. */
  readonly closed: Promise<{ code: number; reason: string }>;
  close(): void;
}

async function connect(url: string): Promise<Connection> {
  const socket = new WebSocket(url);
  const waiting: ((event: Event) => void)[] = [];
  const arrived: Event[] = [];
  socket.addEventListener("message", ({ data }) => {
    const message = event.parse(JSON.parse(String(data)));
    const waiter = waiting.shift();
    if (waiter) waiter(message);
    else arrived.push(message);
  });
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.addEventListener("close", ({ code, reason }) => resolve({ code, reason }));
  });
  await new Promise<void>((resolve, reject) => {
    socket.addEventListener("open", () => resolve());
    socket.addEventListener("error", () => reject(new Error("the socket does not open")));
  });
  const next = () => {
    const first = arrived.shift();
    return first
      ? Promise.resolve(first)
      : new Promise<Event>((resolve) => {
          waiting.push(resolve);
        });
  };
  return {
    next,
    closed,
    send: (message) => socket.send(typeof message === "string" ? message : JSON.stringify(message)),
    async response() {
      const events: Event[] = [];
      do {
        events.push(await next());
        if (!("sequence_number" in (events.at(-1) ?? {}))) {
          throw new Error(JSON.stringify(events.at(-1)));
        }
      } while (!/completed|incomplete|failed/.test(events.at(-1)?.type ?? ""));
      return consume(events);
    },
    close: () => socket.close(),
  };
}

describe("a response over a WebSocket", () => {
  test("has the same events as a stream, and one follows the other on a connection", async () => {
    const { connect: dial } = await open([ANSWER, ANSWER]);
    const connection = await dial();
    for (const input of ["Hi.", "Hi again."]) {
      connection.send({ ...CREATE, input });
      expect(await connection.response()).toMatchObject({
        status: "completed",
        output: [{ content: [{ text: "Hm." }] }, { content: [{ text: "Hello!" }] }],
      });
    }
  });

  test("early requests are queued", async () => {
    const { engine, connect: dial } = await open([ANSWER, ANSWER, ANSWER]);
    const connection = await dial();
    for (const input of ["one", "two", "three"]) connection.send({ ...CREATE, input });
    for (let turn = 0; turn < 3; turn++) {
      expect((await connection.response()).status).toBe("completed");
    }
    expect(engine.prompts.map((prompt) => /user<\|message\|>(\w+)/.exec(prompt)?.[1])).toEqual([
      "one",
      "two",
      "three",
    ]);
  });

  test("continues the connection's latest response, which no one else can read", async () => {
    const { engine, gateway, connect: dial } = await open([...loopScripts("first"), ANSWER]);
    const connection = await dial();
    let input: unknown = "Go.";
    let previous = {};
    for (let step = 0; step < 4; step++) {
      const tools = [{ type: "function", name: "step" }];
      connection.send({ ...CREATE, ...previous, input, tools, store: false });
      const response = await connection.response();
      previous = { previous_response_id: response.id };
      input = response.output.flatMap((item) =>
        item.type === "function_call"
          ? [{ type: "function_call_output", call_id: item.call_id, output: "ok" }]
          : [],
      );
      expect((await fetch(`${gateway.baseURL}/responses/${response.id}`)).status).toBe(404);
    }
    expect(analysisIn(engine.prompts[3])).toEqual(["first 1", "first 2", "first 3"]);

    const other = await dial();
    other.send({ ...CREATE, ...previous, input: "And?" });
    expect(await other.next()).toEqual({
      type: "error",
      status: 400,
      error: {
        type: "invalid_request_error",
        code: "previous_response_not_found",
        message: expect.stringContaining("previous_response_id"),
        param: "previous_response_id",
      },
    });

    // From here on, every response is stored.
    connection.send({ ...CREATE, ...previous, input: "And?" });
    const stored = await connection.response();
    const items = await fetch(`${gateway.baseURL}/responses/${stored.id}/input_items?limit=100`);
    expect(await items.text()).toContain("Go.");
  });

  test.each([
    ["the connection's latest response", true],
    ["the whole conversation", false],
  ])(
    "in a loop that continues %s, each prompt begins with the one before and what was sampled",
    async (_, isContinued) => {
      const call = (header: string, args: string) =>
        `<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant${header}<|message|>${args}<|call|>`;
      const scripts = [
        call(" to=functions.step<|channel|>commentary json", '{ "n":  1 }\n'),
        call("<|channel|>analysis to=functions.step code", '{"n":\n2}'),
        ANSWER,
      ];
      const { engine, gateway, connect: dial } = await open(scripts);
      const connection = await dial();
      const tools = [{ type: "function", name: "step" }];
      let input: object[] = [{ role: "user", content: "Go." }];
      let previous = {};
      for (let step = 0; step < scripts.length; step++) {
        connection.send({ ...CREATE, ...previous, input, tools, store: false });
        const { id, output } = await connection.response();
        const results = output.flatMap((item) =>
          item.type === "function_call"
            ? [{ type: "function_call_output", call_id: item.call_id, output: "ok" }]
            : [],
        );
        if (isContinued) previous = { previous_response_id: id };
        input = isContinued ? results : [...input, ...output, ...results];
      }
      const prompts = engine.requests.map(({ prompt }) => prompt.ids);
      for (const [step, script] of scripts.slice(0, -1).entries()) {
        const read = [...(prompts[step] ?? []), ...spelledIds(script)];
        expect(prompts[step + 1]?.slice(0, read.length)).toEqual(read);
      }
      // Frames have no headers.
      expect(await gateway.counter('steps_rendered_total{how="ids",because=""}')).toBe(3);
    },
  );

  test("a failed continuation drops the response it referred to", async () => {
    const { connect: dial } = await open([ANSWER, ANSWER]);
    const connection = await dial();
    connection.send({ ...CREATE, input: "Hi.", store: false });
    const { id } = await connection.response();
    connection.send({ ...CREATE, input: 7, previous_response_id: id });
    expect(await connection.next()).toMatchObject({ type: "error", status: 400 });
    connection.send({ ...CREATE, input: "Hi.", previous_response_id: id });
    expect(await connection.next()).toMatchObject({
      type: "error",
      error: { code: "previous_response_not_found" },
    });
  });

  test("continues stored responses on a new connection", async () => {
    const { engine, connect: dial } = await open([ANSWER, ANSWER]);
    const one = await dial();
    one.send({ ...CREATE, input: "Remember 42." });
    const { id } = await one.response();
    one.close();
    const other = await dial();
    other.send({ ...CREATE, input: "What was it?", previous_response_id: id });
    await other.response();
    expect(engine.prompts[1]).toContain("Remember 42.");
  });

  test.each([
    ["no JSON", "{", { error: { type: "invalid_request_error" } }],
    [
      "a type that is no word",
      { type: 7 },
      { error: { message: "type: must be a string, such as response.create" } },
    ],
    ["no type", { model: MODEL }, { error: { param: "type" } }],
    [
      "the background",
      { ...CREATE, input: "Hi.", background: true },
      {
        error: {
          param: "background",
          message:
            "background: not supported on a WebSocket. Send the request over HTTP, or without background",
        },
      },
    ],
    ["no input", CREATE, { error: { param: "input" } }],
    ["another model", { ...CREATE, model: "x", input: "Hi." }, { status: 404 }],
  ])("refuses %s, and goes on", async (_, message, expected) => {
    const { connect: dial } = await open([ANSWER]);
    const connection = await dial();
    connection.send(message);
    expect(await connection.next()).toMatchObject({ type: "error", status: 400, ...expected });
    connection.send({ ...CREATE, input: "Hi.", stream: true });
    expect((await connection.response()).status).toBe("completed");
  });

  test("ends with the client's disconnect: the engine stops", async () => {
    const { engine, connect: dial } = await open([
      { write: "<|channel|>final<|message|>Hel", hang: true },
    ]);
    const connection = await dial();
    connection.send({ ...CREATE, input: "Hi." });
    await connection.next();
    await expect.poll(() => engine.open).toBe(1);
    connection.close();
    await expect.poll(() => engine.open).toBe(0);
  });

  test("needs a key if keys are configured", async () => {
    const { connect: dial } = await open([], { keys: [`alice:${hash("sha256", "a")}`] });
    await expect(dial()).rejects.toThrow("does not open");
  });

  test("a GET without an upgrade gets an explanation", async () => {
    const { gateway } = await open([]);
    const response = await fetch(`${gateway.baseURL}/responses`);
    expect(response.status).toBe(426);
    expect(await response.json()).toMatchObject({
      error: {
        message: "GET on this path opens a WebSocket. Send an upgrade request, or use POST.",
      },
    });
    // Workers hide such headers.
    expect(response.headers.get("upgrade")).toBe(ON_WORKERS ? null : "websocket");
  });

  test("is served under the Open Responses path as well", async () => {
    const { gateway } = await open([ANSWER]);
    const connection = await connect(
      `${gateway.origin.replace("http", "ws")}/open-responses/v1/responses`,
    );
    connection.send({ ...CREATE, input: "Hi." });
    const events: Event[] = [];
    do events.push(await connection.next());
    while (events.at(-1)?.type !== "response.completed");
    expect(consume(events, "reasoning").status).toBe("completed");
  });
});

describe.skipIf(ON_WORKERS)(
  "a server that shuts down (skipped where the runtime is workerd)",
  () => {
    test("closes idle connections, and busy ones when their response is done", async () => {
      const { gateway, connect: dial } = await open([ANSWER]);
      const idle = await dial();
      const busy = await dial();
      busy.send({ ...CREATE, input: "Hi." });
      await busy.next();
      const closing = gateway.close();
      opened = undefined;
      expect((await idle.closed).code).toBe(1000);
      let last: Event;
      do last = await busy.next();
      while (last.type !== "response.completed");
      expect(await busy.closed).toMatchObject({
        code: 1000,
        reason: expect.stringContaining("shutting down"),
      });
      await closing;
    });
  },
);

describe("OpenAI's own client", () => {
  test("completes a tool loop over its WebSocket", async () => {
    const key = "hg-secret";
    const { engine, gateway } = await open(loopScripts("first"), {
      keys: [`alice:${hash("sha256", key)}`],
    });
    const client = new ResponsesWS(new OpenAI({ baseURL: gateway.baseURL, apiKey: key }));
    const ask = (body: object) =>
      new Promise<OpenAI.Responses.Response>((resolve, reject) => {
        client.once("response.completed", ({ response }) => resolve(response));
        client.once("error", reject);
        client.sendRaw(JSON.stringify({ ...CREATE, ...body }));
      });
    const tools = [{ type: "function", name: "step" }];
    let response = await ask({ input: "Go.", tools, store: false });
    for (let step = 0; step < 3; step++) {
      response = await ask({
        previous_response_id: response.id,
        input: response.output.flatMap((item) =>
          item.type === "function_call"
            ? [{ type: "function_call_output", call_id: item.call_id, output: "ok" }]
            : [],
        ),
        tools,
        store: false,
      });
    }
    expect(JSON.stringify(response.output.at(-1))).toContain("first done");
    expect(analysisIn(engine.prompts[3])).toEqual(["first 1", "first 2", "first 3"]);
    client.close();
  });

  test("OpenAI's client has several lanes on it, and one forks the unstored response of another", async () => {
    const { gateway } = await open(({ prompt }) => {
      const said = prompt.text().match(/(?<=user<\|message\|>)\w+/g);
      return `<|channel|>final<|message|>${said?.join(" ")}<|return|>`;
    });
    const socket = new ResponsesWS(new OpenAI({ baseURL: gateway.baseURL, apiKey: "none" }));
    await new Promise<void>((resolve) => socket.socket.once("open", () => resolve()));
    const session = new ResponsesWebSocketSession(socket, {
      maxLanes: 16,
      maxBufferedEvents: 1000,
      maxBufferedBytes: 1_000_000,
    });
    const lanes = [undefined, "a", "b", "c"].map((name) => session.lane(name));
    const request = { model: MODEL, store: false };
    const answers = await Promise.all(
      lanes.map(async (lane) => {
        for (const word of ["one", "two", "three"]) {
          lane.create({ ...request, input: `${word}${lane.streamID}` });
        }
        const texts: string[] = [];
        let last = "";
        for (let count = 0; count < 3; count++) {
          const response = await lane.finalResponse();
          texts.push(response.output_text);
          last = response.id;
        }
        return { texts, last };
      }),
    );
    expect(answers.map(({ texts }) => texts)).toEqual(
      lanes.map(({ streamID }) => ["one", "two", "three"].map((word) => `${word}${streamID}`)),
    );
    const fork = session.lane("fork");
    fork.create({ ...request, previous_response_id: answers[1]?.last ?? "", input: "forked" });
    expect((await fork.finalResponse()).output_text).toBe("threea forked");
    socket.close();
  });
});
