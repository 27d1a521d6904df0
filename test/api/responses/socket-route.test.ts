import { hash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { Hono } from "hono";
import { defineWebSocketHelper, WSContext, type WSEvents } from "hono/ws";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { Engine } from "../../../src/index.ts";
import { z } from "zod";
import { appOf } from "../../helpers/app.ts";
import { eventually } from "../../helpers/eventually.ts";
import { testLog, testSettings } from "../../helpers/gateway.ts";
import { fakeTool } from "../../helpers/fake-tool.ts";
import { type Script, scriptedEngine } from "../../helpers/scripted-engine.ts";
import { MODEL } from "./support.ts";

const CREATE = JSON.stringify({ type: "response.create", model: MODEL, input: "Hi." });

/** Any number of connections to one application. */
function createSockets(
  engine: Engine,
  {
    closing,
    settings = {},
    deps = {},
  }: {
    closing?: AbortSignal | undefined;
    settings?: Readonly<Record<string, unknown>>;
    deps?: Parameters<typeof appOf>[2];
  } = {},
) {
  const logged: Record<string, unknown>[] = [];
  let events: WSEvents = {};
  const app = appOf(testSettings(settings), [{ id: MODEL, engine }], {
    webSockets: {
      upgrade: defineWebSocketHelper((_, created) => {
        events = created;
        return new Response();
      }),
      ...(closing && { closing }),
    },
    log: testLog(logged, "info"),
    randomId: () => "0",
    ...deps,
  });

  /** Opens a socket controlled by the test, including its buffered bytes. */
  async function connect({
    isOpened = true,
    headers = {},
  }: { isOpened?: boolean; headers?: Record<string, string> } = {}) {
    const raw = {
      bufferedAmount: 0,
      isPaused: false,
      pause: () => void (raw.isPaused = true),
      resume: () => void (raw.isPaused = false),
      terminate() {
        readyState = 3;
        closed.push([undefined, "terminated"]);
      },
    };
    const sent: string[] = [];
    const closed: [number | undefined, string | undefined][] = [];
    let readyState: 1 | 3 = 1;
    const socket = new WSContext({
      raw,
      get readyState() {
        return readyState;
      },
      send: (data) => void sent.push(typeof data === "string" ? data : "bytes"),
      close(code, reason) {
        readyState = 3;
        closed.push([code, reason]);
      },
    });
    let noteBytes: (bytes: number) => void = () => {};
    const watchBytes = (listener: typeof noteBytes) => void (noteBytes = listener);
    await app.request("/v1/responses", { headers }, { watchBytes });
    const own = events;
    if (isOpened) own.onOpen?.(new Event("open"), socket);
    return {
      raw,
      noteBytes: (bytes: number) => noteBytes(bytes),
      sent,
      closed,
      message: (data: string | ArrayBuffer) =>
        own.onMessage?.(new MessageEvent("message", { data }), socket),
      leave: () => own.onClose?.(closeEvent(), socket),
    };
  }
  return { app, logged, connect };
}

/** One connection to an application of its own. */
async function open(
  engine: Engine,
  closing?: AbortSignal,
  settings: Readonly<Record<string, unknown>> = {},
  {
    deps = {},
    ...options
  }: {
    isOpened?: boolean;
    headers?: Record<string, string>;
    deps?: Parameters<typeof appOf>[2];
  } = {},
) {
  const { logged, connect } = createSockets(engine, { closing, settings, deps });
  return { logged, ...(await connect(options)) };
}

/** Node 22 has no `CloseEvent`. */
function closeEvent(): CloseEvent {
  return Object.assign(new Event("close"), { code: 1000, reason: "", wasClean: true });
}

afterEach(() => {
  vi.useRealTimers();
});

const HANGING = { write: "<|channel|>final<|message|>Hel", hang: true };
const ANSWER = "<|channel|>final<|message|>Hello!<|return|>";

describe("a connection", () => {
  test("ends after an hour, and says why", async () => {
    vi.useFakeTimers();
    const { sent, closed } = await open(scriptedEngine([]));
    await vi.advanceTimersByTimeAsync(3_599_000);
    expect(closed).toEqual([]);
    await vi.advanceTimersByTimeAsync(2000);
    expect(sent.map((each) => JSON.parse(each))).toEqual([
      {
        type: "error",
        status: 400,
        error: {
          type: "invalid_request_error",
          code: "websocket_connection_limit_reached",
          message: "A connection may last 60 minutes. Open a new one.",
          param: null,
        },
      },
    ]);
    expect(closed).toEqual([[1000, "A connection may last 60 minutes. Open a new one."]]);
  });

  test("answers nothing more once its key has expired", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: new Date("2026-12-31T23:59:59Z") });
    const engine = scriptedEngine([ANSWER, ANSWER]);
    const keys = [{ name: "alice", sha256: hash("sha256", "key-a"), expires: "2026-12-31" }];
    const headers = { authorization: "Bearer key-a" };
    const { sent, message } = await open(engine, undefined, { keys }, { headers });
    message(CREATE);
    await eventually(() => expect(sent.at(-1)).toContain("response.completed"));
    vi.setSystemTime(new Date("2027-01-01T00:00:00Z"));
    message(CREATE);
    await eventually(() =>
      expect(JSON.parse(sent.at(-1) ?? "")).toMatchObject({
        type: "error",
        status: 401,
        error: {
          message:
            "The API key expired on 2026-12-31. Ask the operator of this gateway for another one.",
        },
      }),
    );
    expect(engine.requests).toHaveLength(1);
  });

  test("that was closed does nothing after an hour", async () => {
    vi.useFakeTimers();
    const { sent, leave } = await open(scriptedEngine([]));
    leave();
    await vi.advanceTimersByTimeAsync(4_000_000);
    expect(sent).toEqual([]);
  });

  test("ignores messages of other types", async () => {
    const { sent, message } = await open(scriptedEngine([ANSWER]));
    message(JSON.stringify({ type: "response.processed", response_id: "resp_1" }));
    message(CREATE);
    await expect.poll(() => JSON.parse(sent.at(-1) ?? "{}").type).toBe("response.completed");
    expect(JSON.parse(sent[0] ?? "").type).toBe("response.created");
  });

  test("is sent a keep-alive event while idle", async () => {
    vi.useFakeTimers();
    const { sent, message, leave } = await open(scriptedEngine([HANGING]));
    message(CREATE);
    await eventually(() => expect(sent.at(-1)).toContain("Hel"));
    const before = sent.length;
    await vi.advanceTimersByTimeAsync(119_000);
    expect(sent.length).toBe(before);
    await vi.advanceTimersByTimeAsync(61_000);
    expect(sent.slice(before).map((each) => JSON.parse(each).type)).toEqual([
      "response.in_progress",
      "response.in_progress",
    ]);
    const numbers = sent.map((each) => JSON.parse(each).sequence_number);
    expect(numbers).toEqual(numbers.map((_, index) => index));
    leave();
  });

  test("is closed by the first message that is not text, which stops its turn", async () => {
    const engine = scriptedEngine([HANGING]);
    const { sent, closed, message } = await open(engine);
    message(CREATE);
    await expect.poll(() => engine.open).toBe(1);
    message(new ArrayBuffer(3));
    expect(closed).toEqual([[1003, "Messages must be JSON text."]]);
    await expect.poll(() => engine.open).toBe(0);
    const before = sent.length;
    for (let count = 0; count < 1000; count++) message(new ArrayBuffer(3));
    await Promise.resolve();
    expect(sent.length).toBe(before);
    expect(closed).toEqual([
      [1003, "Messages must be JSON text."],
      [undefined, "terminated"],
    ]);
  });

  test("is closed by many messages in a row that cannot be read, each of which was answered", async () => {
    const { sent, closed, message } = await open(scriptedEngine([]));
    for (let count = 0; count < 34; count++) {
      message("{");
      await vi.waitFor(() => expect(sent.length).toBe(Math.min(count + 1, 32)));
    }
    await vi.waitFor(() => expect(closed).toEqual([[1008, "Too many messages were refused."]]));
    expect(typesOf(sent, "error")).toBe(32);
  });

  test("logs the first ignored message, not each of them", async () => {
    const { logged, message, sent } = await open(scriptedEngine([ANSWER]));
    for (let count = 0; count < 20; count++) message(JSON.stringify({ type: `hint.${count}` }));
    message(CREATE);
    await expect.poll(() => typesOf(sent, "response.completed")).toBe(1);
    expect(logged.filter(({ event }) => event === "message ignored")).toMatchObject([
      { type: "hint.0" },
    ]);
  });

  test("whose handshake fails holds no timer and no listener", async () => {
    vi.useFakeTimers();
    const closing = new AbortController();
    const listen = vi.spyOn(closing.signal, "addEventListener");
    await open(scriptedEngine([]), closing.signal, {}, { isOpened: false });
    expect(listen).not.toHaveBeenCalled();
    expect(vi.getTimerCount()).toBe(0);
  });

  test("that opens when the settings have just been replaced is closed", async () => {
    const closing = new AbortController();
    closing.abort();
    const { closed } = await open(scriptedEngine([]), closing.signal);
    expect(closed).toEqual([[1000, "The gateway has new settings."]]);
  });

  test("has one timer, however many messages the client leaves unread", async () => {
    vi.useFakeTimers();
    const { raw, message } = await open(scriptedEngine([]));
    const before = vi.getTimerCount();
    raw.bufferedAmount = 10;
    for (let count = 0; count < 30; count++) message("{}");
    await vi.advanceTimersByTimeAsync(1);
    expect(vi.getTimerCount()).toBe(before + 1);
  });

  test("whose client reads nothing of little is closed after the idle timeout, too", async () => {
    vi.useFakeTimers();
    const { raw, closed, message } = await open(scriptedEngine([]), undefined, {
      clientIdleTimeoutMs: 60_000,
    });
    raw.bufferedAmount = 10;
    message("{}");
    await vi.advanceTimersByTimeAsync(59_000);
    expect(closed).toEqual([]);
    await vi.advanceTimersByTimeAsync(7_000);
    expect(closed).toEqual([[undefined, "terminated"]]);
  });

  test("whose client sends ever more requests than may wait is closed, and its turn stopped", async () => {
    const engine = scriptedEngine([HANGING]);
    const { sent, closed, message } = await open(engine);
    message(CREATE);
    await expect.poll(() => engine.open).toBe(1);
    for (let count = 0; count < 160; count++) message(CREATE);
    expect(closed).toEqual([]);
    for (let count = 0; count < 1000; count++) message(CREATE);
    await expect.poll(() => engine.open).toBe(0);
    expect(typesOf(sent, "error")).toBe(32);
    expect(JSON.parse(sent.at(-1) ?? "")).toMatchObject({
      error: { message: "Too many requests are waiting. Wait for a response." },
    });
    expect(closed).toEqual([
      [1008, "Too many messages were refused."],
      [undefined, "terminated"],
    ]);
  });

  test("whose client reads slowly causes backpressure to the engine", async () => {
    vi.useFakeTimers();
    const { raw, sent, message } = await open(scriptedEngine([ANSWER]));
    raw.bufferedAmount = 10_000_000;
    message(CREATE);
    await eventually(() => expect(sent.length).toBe(1));
    await vi.advanceTimersByTimeAsync(10_000);
    expect(sent.length).toBe(1);
    raw.bufferedAmount = 0;
    await eventually(() => {
      expect(JSON.parse(sent.at(-1) ?? "").type).toBe("response.completed");
    });
  });

  test("whose client reads nothing for the idle timeout is closed, and its turn stopped", async () => {
    vi.useFakeTimers();
    const engine = scriptedEngine([HANGING]);
    const { raw, closed, message } = await open(engine, undefined, { clientIdleTimeoutMs: 60_000 });
    raw.bufferedAmount = 10_000_000;
    message(CREATE);
    await vi.advanceTimersByTimeAsync(50_000);
    // The client has read a little.
    raw.bufferedAmount = 9_000_000;
    await vi.advanceTimersByTimeAsync(50_000);
    expect(closed).toEqual([]);
    expect(engine.open).toBe(1);
    await vi.advanceTimersByTimeAsync(16_000);
    expect(closed).toEqual([[undefined, "terminated"]]);
    expect(engine.open).toBe(0);
  });

  test("is paused while 32 requests are queued, and read again when they are answered", async () => {
    const { raw, sent, message } = await open(
      scriptedEngine(Array.from({ length: 33 }, () => ANSWER)),
    );
    for (let count = 0; count < 32; count++) message(CREATE);
    expect(raw.isPaused).toBe(false);
    message(CREATE);
    expect(raw.isPaused).toBe(true);
    await expect.poll(() => typesOf(sent, "response.completed")).toBe(33);
    expect(raw.isPaused).toBe(false);
  });

  test("queues at most as many bytes as one request may have", async () => {
    const engine = scriptedEngine([HANGING]);
    const large = JSON.stringify({ ...JSON.parse(CREATE), input: "x".repeat(70_000) });
    const { raw, sent, message } = await open(engine, undefined, { maxBodyBytes: 100_000 });
    message(CREATE);
    expect(raw.isPaused).toBe(false);
    message(large);
    expect(raw.isPaused).toBe(true);
    // Messages can have been read before reading was paused.
    for (let count = 0; count < 20; count++) message(large);
    await expect.poll(() => typesOf(sent, "error")).toBe(20);
    expect(sent.map((each) => JSON.parse(each)).at(-1)).toMatchObject({
      status: 429,
      error: { code: "rate_limit_exceeded" },
    });
  });

  test("that is sending more bytes of a message than its key may is closed, and not read further", async () => {
    const { raw, sent, closed, noteBytes } = await open(scriptedEngine([]), undefined, {
      maxBodyBytes: 100_000,
    });
    noteBytes(100_000);
    // The last read may hold the beginning of the next message.
    noteBytes(65_536);
    expect(closed).toEqual([]);
    expect(raw.isPaused).toBe(false);
    noteBytes(1);
    expect(sent.map((each) => JSON.parse(each))).toEqual([
      {
        type: "error",
        status: 429,
        error: {
          type: "too_many_requests",
          code: "rate_limit_exceeded",
          message:
            "The gateway is receiving requests of this key with more than 100000 bytes together. Send fewer at a time. Please try again in 1s.",
          param: null,
        },
      },
    ]);
    expect(closed).toEqual([[1013, "Too many bytes are being received."]]);
    expect(raw.isPaused).toBe(true);
  });

  test("rejects requests beyond a limit if reading cannot be paused", async () => {
    const { sent, message } = await open(scriptedEngine([HANGING]));
    for (let count = 0; count < 136; count++) message(CREATE);
    await expect.poll(() => typesOf(sent, "error")).toBe(7);
  });

  test("stops the engine when its client disconnects", async () => {
    const engine = scriptedEngine([HANGING]);
    const { message, leave } = await open(engine);
    message(CREATE);
    await expect.poll(() => engine.open).toBe(1);
    leave();
    await expect.poll(() => engine.open).toBe(0);
  });

  test("ends when the server shuts down or has new settings", async () => {
    const closing = new AbortController();
    const { closed } = await open(scriptedEngine([]), closing.signal);
    closing.abort();
    await expect.poll(() => closed).toEqual([[1000, "The gateway has new settings."]]);
  });
});

function typesOf(sent: readonly string[], type: string): number {
  return sent.filter((each) => JSON.parse(each).type === type).length;
}

describe("connections of a key", () => {
  type Socket = Awaited<ReturnType<typeof open>>;
  const MAX_BODY = 100_000;
  const bearer = (key: string) => ({ headers: { authorization: `Bearer ${key}` } });

  function createKeyed(settings: object = {}) {
    let ids = 0;
    return createSockets(
      scriptedEngine(() => ANSWER),
      {
        settings: {
          keys: ["a", "b"].map((name) => ({ name, sha256: hash("sha256", name) })),
          maxBodyBytes: MAX_BODY,
          ...settings,
        },
        deps: { randomId: () => `${(ids += 1)}` },
      },
    );
  }

  /** Sends a request, and resolves with its last event. */
  async function answerOf({ sent, message }: Pick<Socket, "sent" | "message">, fields: object) {
    const before = sent.length;
    message(JSON.stringify({ ...JSON.parse(CREATE), ...fields }));
    const last = await expect
      .poll(() =>
        sent.slice(before).find((each) => /"type":"(response\.completed|error)"/.test(each)),
      )
      .toBeDefined()
      .then(() => sent.at(-1));
    return z
      .object({ type: z.string(), response: z.object({ id: z.string() }).optional() })
      .parse(JSON.parse(last ?? ""));
  }

  test("share the bytes of one body between the latest responses that are not stored, until they close", async () => {
    const { connect } = createKeyed();
    const [one, other, foreign] = [
      await connect(bearer("a")),
      await connect(bearer("a")),
      await connect(bearer("b")),
    ];
    const isHeld = async (socket: typeof one, id: string) => {
      const fields = { previous_response_id: id, store: true, stream_id: "probe" };
      return (await answerOf(socket, fields)).type === "response.completed";
    };
    const put = async (socket: typeof one, lane = "a", share = 0.6) => {
      const fields = { store: false, stream_id: lane, input: "x".repeat(share * MAX_BODY) };
      const id = (await answerOf(socket, fields)).response?.id ?? "";
      return [id, await isHeld(socket, id)] as const;
    };
    const [first, isFirstHeld] = await put(one);
    expect([isFirstHeld, (await put(other))[1], (await put(foreign))[1]]).toEqual([
      true,
      false,
      true,
    ]);
    // The next one takes the room of the one before.
    const [second, isSecondHeld] = await put(one);
    expect([isSecondHeld, await isHeld(one, first)]).toEqual([true, false]);
    // A response of another lane takes the room of the oldest one.
    expect([(await put(one, "b"))[1], await isHeld(one, second)]).toEqual([true, false]);
    // A refused request drops the response that it continues.
    const [fourth] = await put(one);
    await answerOf(one, { previous_response_id: fourth, input: 7 });
    const [held, isOtherHeld] = await put(other);
    expect(isOtherHeld).toBe(true);
    await answerOf(other, { previous_response_id: held, input: 7 });
    // The latest response of a lane is younger than those of other lanes before it.
    await put(one, "a", 0.3);
    const [ofB] = await put(one, "b", 0.3);
    const [ofA] = await put(one, "a", 0.3);
    await put(one, "c", 0.3);
    await put(one, "d", 0.3);
    expect([await isHeld(one, ofA), await isHeld(one, ofB)]).toEqual([true, false]);
    one.leave();
    expect((await put(other))[1]).toBe(true);
    const third = await connect(bearer("a"));
    expect((await put(third))[1]).toBe(false);
  });

  test("return the bytes that they are receiving when they close", async () => {
    // The last read may hold the beginning of the next message, which does not count.
    const RECEIVED = MAX_BODY + 65_536;
    const { connect } = createKeyed();
    const [one, other] = [await connect(bearer("a")), await connect(bearer("a"))];
    one.noteBytes(RECEIVED);
    one.leave();
    other.noteBytes(RECEIVED);
    expect(other.closed).toEqual([]);
    const third = await connect(bearer("a"));
    third.noteBytes(RECEIVED);
    expect(third.closed).toEqual([[1013, "Too many bytes are being received."]]);
  });

  test("are limited in number, with the limit as reason", async () => {
    const { app, connect } = createKeyed({ maxSocketsPerKey: 2 });
    const { leave } = await connect(bearer("a"));
    await connect(bearer("a"));
    const upgrade = async (key: string) => {
      const headers = { ...bearer(key).headers, upgrade: "websocket" };
      const response = await app.request("/v1/responses", { headers });
      return [response.status, await response.text()];
    };
    expect(await upgrade("a")).toEqual([
      429,
      expect.stringContaining(
        "This key has reached its limit of 2 open WebSockets. Close one, or send the request with POST.",
      ),
    ]);
    expect(await upgrade("b")).toEqual([200, ""]);
    leave();
    expect(await upgrade("a")).toEqual([200, ""]);
  });
});

describe("lanes of a connection", () => {
  const inLane = (lane: unknown, fields: object = {}) =>
    JSON.stringify({ ...JSON.parse(CREATE), stream_id: lane, ...fields });
  const read = (sent: readonly string[]) =>
    sent.map((each): Record<string, unknown> => JSON.parse(each));
  const lanesOf = (sent: readonly string[], type: string) =>
    read(sent)
      .filter((each) => each["type"] === type)
      .map((each) => each["stream_id"]);

  test("run beside each other, in order within one, and name themselves in each event", async () => {
    const engine = scriptedEngine([HANGING, ANSWER, ANSWER, ANSWER]);
    const { sent, message } = await open(engine);
    message(inLane("a"));
    await expect.poll(() => engine.open).toBe(1);
    message(inLane("a"));
    message(inLane("b"));
    message(CREATE);
    await expect
      .poll(() => new Set(lanesOf(sent, "response.completed")))
      .toEqual(new Set(["b", undefined]));
    expect(new Set(lanesOf(sent, "response.created"))).toEqual(new Set(["a", "b", undefined]));
    const ofB = read(sent).filter((each) => each["stream_id"] === "b");
    expect(ofB.map((each) => each["sequence_number"])).toEqual(ofB.map((_, index) => index));
  });

  test("fail alone, with the lane in the error", async () => {
    const engine = scriptedEngine([HANGING, ANSWER]);
    const { sent, closed, message } = await open(engine);
    message(inLane("a"));
    await expect.poll(() => engine.open).toBe(1);
    message(inLane("b", { previous_response_id: "resp_none" }));
    message(inLane("c", { input: 3 }));
    message(inLane(7));
    message(inLane("no lane"));
    message(inLane("b"));
    await expect.poll(() => lanesOf(sent, "response.completed")).toEqual(["b"]);
    expect(lanesOf(sent, "error")).toEqual(expect.arrayContaining(["b", "c", undefined]));
    expect(typesOf(sent, "error")).toBe(4);
    expect(read(sent).find(({ type }) => type === "error")).toMatchObject({ status: 400 });
    expect([engine.open, closed]).toEqual([1, []]);
  });

  test("of a client that opens ever more run 32 at a time, and its connection is closed in the end", async () => {
    const engine = scriptedEngine(Array.from({ length: 32 }, () => HANGING));
    const { raw, sent, closed, message } = await open(engine);
    for (let lane = 0; lane < 100; lane++) message(inLane(`l${lane}`));
    await expect.poll(() => engine.open).toBe(32);
    expect([raw.isPaused, closed]).toEqual([true, []]);
    for (let lane = 100; lane < 10_000; lane++) message(inLane(`l${lane}`));
    await expect.poll(() => engine.open).toBe(0);
    expect(engine.requests.length).toBe(32);
    expect(lanesOf(sent, "error").length).toBe(32);
    expect(lanesOf(sent, "error").every((lane) => typeof lane === "string")).toBe(true);
    expect(closed[0]).toEqual([1008, "Too many messages were refused."]);
  });

  test("are all stopped when the client disconnects", async () => {
    const engine = scriptedEngine([HANGING, HANGING]);
    const { message, leave } = await open(engine);
    message(inLane("a"));
    message(inLane("a"));
    message(inLane("b"));
    await expect.poll(() => engine.open).toBe(2);
    leave();
    await expect.poll(() => engine.open).toBe(0);
    expect(engine.requests.length).toBe(2);
  });

  test("steering is answered: the input comes back, in the lane of its response", async () => {
    const engine = scriptedEngine([HANGING]);
    const { sent, message } = await open(engine);
    message(inLane("a"));
    await expect.poll(() => lanesOf(sent, "response.created")).toEqual(["a"]);
    const steer = { previous_response_id: "resp_0", input: "Faster." };
    message(JSON.stringify({ type: "response.steer", ...steer }));
    await expect.poll(() => typesOf(sent, "response.steer.failed")).toBe(1);
    expect(read(sent).at(-1)).toEqual({
      type: "response.steer.failed",
      error: {
        type: "invalid_request_error",
        code: "steering_not_supported",
        message: expect.stringContaining("Send the input with response.create."),
      },
      steer,
      sequence_number: 0,
      stream_id: "a",
    });
    expect(engine.open).toBe(1);
  });
});

describe("response.steer", () => {
  const TOOL = { type: "code_interpreter", container: { type: "auto" } };
  const CLIENT_TOOL = { type: "function", name: "f", parameters: { type: "object" } };
  const RUN =
    "<|channel|>analysis<|message|>I compute.<|end|><|start|>assistant to=python<|channel|>analysis code<|message|>1 + 1<|call|>";
  const CALL = "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>";
  const RESULT = "<|start|>python to=assistant<|channel|>analysis<|message|>2<|end|>";
  const STEERED = "<|start|>user<|message|>In French.<|end|>";

  const event = z.looseObject({
    type: z.string(),
    stream_id: z.string().optional(),
    response: z
      .looseObject({
        id: z.string(),
        previous_response_id: z.string().nullable(),
        output: z.array(z.looseObject({ type: z.string(), call_id: z.string().optional() })),
      })
      .optional(),
  });

  /** The tool answers, and engine calls after the first go on, when they may. */
  async function openSteered(scripts: readonly Script[], settings = {}) {
    const scripted = scriptedEngine(scripts);
    const tool = Promise.withResolvers<string>();
    const step = Promise.withResolvers<void>();
    const engine: Engine = {
      ...scripted,
      async *complete(request, signal) {
        for await (const each of scripted.complete(request, signal)) {
          yield each;
          if (scripted.requests.length === 2 && each.type === "open") await step.promise;
        }
      },
    };
    let ids = 0;
    const toolbox = { python: () => fakeTool({ answer: () => tool.promise }) };
    const deps = { toolbox, randomId: () => `r${ids++}` };
    const opened = await open(engine, undefined, settings, { deps });
    const of = (type: string) =>
      opened.sent.map((each) => event.parse(JSON.parse(each))).filter((each) => each.type === type);
    const seen = async (type: string, count = 1) => {
      await expect.poll(() => of(type).length).toBe(count);
    };
    return {
      ...opened,
      engine: scripted,
      answer: () => tool.resolve("2"),
      goOn: () => step.resolve(),
      of,
      seen,
      create: (fields: object = {}) =>
        opened.message(JSON.stringify({ ...JSON.parse(CREATE), tools: [TOOL], ...fields })),
      steer: (id: string, input: unknown = "In French.") =>
        opened.message(JSON.stringify({ type: "response.steer", previous_response_id: id, input })),
      /** The id of the first response, once its call runs. */
      running: async () => {
        await seen("response.code_interpreter_call.interpreting");
        return of("response.created")[0]?.response?.id ?? "";
      },
    };
  }

  /** A response that has ended with a call of the client, and has input for its successor. */
  async function openPending() {
    const opened = await openSteered([RUN, CALL, ANSWER]);
    const { engine, answer, goOn, seen, create, steer, running } = opened;
    create({ tools: [TOOL, CLIENT_TOOL] });
    const id = await running();
    answer();
    await expect.poll(() => engine.requests.length).toBe(2);
    steer(id);
    await seen("response.steer.accepted");
    goOn();
    await seen("response.steer.pending");
    return { ...opened, id };
  }

  test.each([true, false])(
    "is taken behind the result of a tool, and a successor answers (store: %s)",
    async (store) => {
      const scripts = [RUN, ANSWER, ANSWER];
      const { engine, answer, goOn, of, seen, create, steer, running } = await openSteered(scripts);
      create({ stream_id: "a", store });
      const id = await running();
      steer(id);
      await seen("response.steer.accepted");
      expect(of("response.steer.accepted")[0]).toEqual({
        type: "response.steer.accepted",
        steer: { id: expect.stringMatching(/^steer_/), previous_response_id: id },
        sequence_number: 0,
        stream_id: "a",
      });
      answer();
      goOn();
      await seen("response.completed");
      expect(of("response.incomplete")[0]?.response).toMatchObject({
        id,
        incomplete_details: { reason: "steered" },
        output: [{ type: "reasoning" }, { type: "code_interpreter_call", status: "completed" }],
      });
      const [, successor] = of("response.created");
      expect(successor).toMatchObject({ stream_id: "a", response: { previous_response_id: id } });
      const [first = "", second = ""] = engine.prompts;
      expect(second.startsWith(first)).toBe(true);
      expect(second.slice(first.length)).toBe(RUN + RESULT + STEERED + "<|start|>assistant");
      const previous = of("response.completed")[0]?.response?.id;
      create({ previous_response_id: previous, stream_id: "a", store });
      await seen("response.completed", 2);
      expect(engine.prompts[2]).toContain(STEERED);
    },
  );

  test("that comes with the last step is answered by a successor", async () => {
    const scripts = [RUN, ANSWER, ANSWER];
    const { engine, answer, goOn, of, seen, create, steer, running } = await openSteered(scripts);
    create();
    const id = await running();
    answer();
    await expect.poll(() => engine.requests.length).toBe(2);
    steer(id, [{ type: "message", role: "user", content: "In French." }]);
    steer(id, [{ role: "user", content: [{ type: "input_text", text: "Please." }] }]);
    await seen("response.steer.accepted", 2);
    goOn();
    await seen("response.completed", 2);
    expect(of("response.incomplete")).toEqual([]);
    expect(of("response.created")[1]?.response?.previous_response_id).toBe(id);
    expect(engine.prompts[2]).toContain(`${STEERED}<|start|>user<|message|>Please.<|end|>`);
    steer(id);
    await seen("response.steer.failed");
    expect(of("response.steer.failed")[0]).toMatchObject({
      error: { code: "response_not_found" },
    });
  });

  test("waits with a call of the client, and comes before its next input", async () => {
    const { engine, of, seen, create, id } = await openPending();
    const callId = of("response.completed")[0]?.response?.output.at(-1)?.call_id;
    const required = [{ type: "function_call_output", call_id: callId, name: "f" }];
    expect(of("response.steer.pending")[0]).toMatchObject({
      reason: "waiting_for_required_input",
      required_input: required,
      steer: { previous_response_id: id },
    });
    const input = required.map((each) => ({ ...each, output: "done" }));
    create({ tools: [TOOL, CLIENT_TOOL], previous_response_id: id, input });
    await seen("response.completed", 2);
    expect(engine.prompts[2]).toContain("In French.");
    expect(engine.prompts[2]).toContain("done");
  });

  test.each<[string, object, unknown, string]>([
    ["without tools of the gateway", { tools: [] }, "x", "steering_not_supported"],
    ["of a wrong kind", {}, 7, "invalid_input"],
    ["without content", {}, [], "invalid_input"],
    ["of another role", {}, [{ role: "system", content: "x" }], "invalid_input"],
    [
      "with a result of a tool",
      {},
      [{ type: "function_call_output", call_id: "c", output: "x" }],
      "invalid_input",
    ],
    ["that is too long", {}, "x".repeat(70_000), "too_many_pending_steers"],
  ])("%s returns", async (_, fields, input, code) => {
    const { of, seen, create, steer, answer, goOn } = await openSteered([RUN, ANSWER]);
    create(fields);
    await seen("response.created");
    steer(of("response.created")[0]?.response?.id ?? "", input);
    await seen("response.steer.failed");
    expect(of("response.steer.failed")[0]).toMatchObject({ error: { code }, steer: { input } });
    answer();
    goOn();
    await seen("response.completed");
    expect(of("response.created")).toHaveLength(1);
  });

  test("of a client that sends ever more is bounded, and the rest returns", async () => {
    const { engine, of, seen, create, steer, answer, goOn, running } = await openSteered([
      RUN,
      ANSWER,
    ]);
    create();
    const id = await running();
    for (let sent = 0; sent < 10_000; sent++) {
      steer(id, `${sent}.`);
      if (sent % 8 === 0) await setImmediate();
    }
    await seen("response.steer.failed", 10_000 - 64);
    expect(of("response.steer.accepted")).toHaveLength(64);
    answer();
    goOn();
    await seen("response.completed");
    expect(engine.requests).toHaveLength(2);
    expect(engine.prompts[1]?.split("<|start|>user")).toHaveLength(66);
  });

  test("that nests deeply ends nothing", async () => {
    const { of, seen, message, create, answer, goOn, running } = await openSteered([RUN, ANSWER]);
    create();
    const id = await running();
    const deep = "[".repeat(200_000) + "]".repeat(200_000);
    message(`{"type":"response.steer","previous_response_id":"${id}","input":${deep}}`);
    await seen("error");
    answer();
    goOn();
    await seen("response.completed");
    expect(of("response.steer.accepted")).toEqual([]);
  });

  test("that has waited returns when the next input nests too deeply", async () => {
    const { of, seen, message, create, id } = await openPending();
    const deep = "[".repeat(200_000) + "]".repeat(200_000);
    const next = JSON.stringify({ ...JSON.parse(CREATE), previous_response_id: id, input: [0] });
    message(next.replace("[0]", deep));
    await seen("response.steer.failed");
    await seen("error");
    create({ tools: [] });
    await seen("response.completed", 2);
    expect(of("response.steer.failed")[0]).toMatchObject({ steer: { input: "In French." } });
  });

  test("returns when its response fails", async () => {
    const failing = { write: "", fail: new Error("broken") };
    const { engine, of, seen, create, steer, answer, goOn, running } = await openSteered([
      RUN,
      failing,
    ]);
    create();
    const id = await running();
    answer();
    await expect.poll(() => engine.requests.length).toBe(2);
    steer(id);
    await seen("response.steer.accepted");
    goOn();
    await seen("response.steer.failed");
    expect(of("response.steer.failed")[0]).toMatchObject({
      error: { code: "successor_creation_failed" },
      steer: { id: expect.stringMatching(/^steer_/), input: "In French." },
    });
    expect(of("response.created")).toHaveLength(1);
  });
});

test("without WebSockets, the path supports POST only", async () => {
  const app = appOf(testSettings(), [], {});
  const response = await new Hono().route("/", app).request("/v1/responses");
  expect(response.status).toBe(405);
});

test("a message that is too large is refused with the limit", async () => {
  const { message, sent } = await open(scriptedEngine([]), undefined, { maxBodyBytes: 1000 });
  message("x".repeat(1001));
  await eventually(() => expect(sent.join("")).toContain("The message is larger than 1000 bytes."));
});

test("a message of far too many values is refused before it is parsed", async () => {
  const { message, sent } = await open(scriptedEngine([]));
  const parse = vi.spyOn(JSON, "parse");
  message(`{"type":"response.create","input":[{}${",{}".repeat(400_000)}]}`);
  await eventually(() => {
    expect(sent.join("")).toContain("The request has more than the 250000 JSON values allowed.");
  });
  expect(parse).not.toHaveBeenCalled();
  parse.mockRestore();
});
