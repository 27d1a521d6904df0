import { describe, expect, test, vi } from "vitest";
import { EngineError } from "../../../src/engines/engine-error.ts";
import { createMemoryStore } from "../../../src/store/memory-store.ts";
import { type Script, type ScriptedEngine, scriptedEngine } from "../../helpers/scripted-engine.ts";
import { consume } from "./consumer.ts";
import { responseObject } from "./schemas.ts";
import { MODEL, readEvents, type ResponsesApp, responsesApp } from "./support.ts";

const ANSWER =
  "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Hello there!<|return|>";
const REQUEST = { model: MODEL, input: "Hi.", background: true };

/** An engine that waits for a word before it answers, and may fail instead. */
function gatedEngine(script: Script = ANSWER) {
  const engine = scriptedEngine([script, script]);
  let open: (() => void) | undefined;
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const gated: ScriptedEngine = {
    ...engine,
    async *complete(request, signal) {
      await gate;
      yield* engine.complete(request, signal);
    },
  };
  return { engine: gated, open: () => open?.() };
}

async function start(app: ResponsesApp): Promise<string> {
  const response = await app.send("POST", "/v1/responses", REQUEST);
  expect(response.status).toBe(200);
  const queued = responseObject.parse(await response.json());
  expect(queued).toMatchObject({ status: "queued", background: true, output: [] });
  return queued.id;
}

async function look(app: ResponsesApp, id: string) {
  return responseObject.parse(await (await app.send("GET", `/v1/responses/${id}`)).json());
}

function until(app: ResponsesApp, id: string, status: string) {
  return vi.waitFor(
    async () => {
      const response = await look(app, id);
      expect(response.status).toBe(status);
      return response;
    },
    { timeout: 5000, interval: 20 },
  );
}

async function follow(app: ResponsesApp, id: string, after?: number) {
  const query = after === undefined ? "" : `&starting_after=${after}`;
  return readEvents(await app.send("GET", `/v1/responses/${id}?stream=true${query}`));
}

describe("a response made in the background", () => {
  test("is queued at once, and can be polled until it is done", async () => {
    const { engine, open } = gatedEngine();
    const app = responsesApp({ engine });
    const id = await start(app);
    expect((await look(app, id)).status).toBe("queued");
    open();
    const done = await until(app, id, "completed");
    expect(done.output).toMatchObject([
      { type: "reasoning", content: [{ text: "Hm." }] },
      { type: "message", content: [{ text: "Hello there!" }] },
    ]);
  });

  test("can be followed while it is made, and as often as anyone likes afterwards", async () => {
    const { engine, open } = gatedEngine();
    const app = responsesApp({ engine });
    const id = await start(app);
    const following = follow(app, id);
    open();
    const events = await following;
    const done = consume(events);
    expect(done).toEqual(await until(app, id, "completed"));
    expect(events.slice(0, 3).map(({ type }) => type)).toEqual([
      "response.created",
      "response.queued",
      "response.in_progress",
    ]);
    expect(await follow(app, id)).toEqual(events);
    expect(await follow(app, id, 0)).toEqual(events.slice(1));
    expect(await follow(app, id, 5)).toEqual(events.slice(6));
    expect(await follow(app, id, events.length - 1)).toEqual([]);
  });

  test("streams to whoever asked for it, and goes on when they leave", async () => {
    const { engine, open } = gatedEngine();
    const app = responsesApp({ engine });
    const response = await app.send("POST", "/v1/responses", { ...REQUEST, stream: true });
    const reader = response.body?.getReader();
    const first = new TextDecoder().decode((await reader?.read())?.value);
    const id = /"id":"(resp_\w+)"/.exec(first)?.[1] ?? "";
    await reader?.cancel();
    open();
    expect(await until(app, id, "completed")).toMatchObject({ id, background: true });
  });

  test("streams to its end", async () => {
    const app = responsesApp({ engine: scriptedEngine([ANSWER]) });
    const response = await app.send("POST", "/v1/responses", { ...REQUEST, stream: true });
    expect(consume(await readEvents(response))).toMatchObject({
      status: "completed",
      background: true,
    });
  });

  test("cannot be continued while it is being made, and can afterwards", async () => {
    const { engine, open } = gatedEngine();
    const app = responsesApp({ engine });
    const id = await start(app);
    const next = { model: MODEL, input: "And?", previous_response_id: id };
    const early = await app.send("POST", "/v1/responses", next);
    expect(early.status).toBe(400);
    open();
    await until(app, id, "completed");
    expect((await app.send("POST", "/v1/responses", next)).status).toBe(200);
  });

  test.each([
    ["before it begins", { write: "", fail: new EngineError("server-error", "why") }],
    ["in the middle", { write: ANSWER.slice(0, 60), fail: new EngineError("closed", "why") }],
  ])("that fails %s says so", async (_, script) => {
    const app = responsesApp({ engine: scriptedEngine([script]) });
    const id = await start(app);
    const failed = await until(app, id, "failed");
    expect(failed.error).toEqual({ code: "server_error", message: expect.any(String) });
    expect(consume(await follow(app, id))).toEqual(failed);
  });

  test("that is cut says so", async () => {
    const app = responsesApp({
      engine: scriptedEngine([{ write: ANSWER.slice(0, 40), finish: "length" }]),
    });
    const id = await start(app);
    expect((await until(app, id, "incomplete")).incomplete_details).toEqual({
      reason: "max_output_tokens",
    });
  });

  test("is cancelled: the engine stops, and asking twice does no harm", async () => {
    const engine = scriptedEngine([{ write: ANSWER.slice(0, 60), hang: true }]);
    const app = responsesApp({ engine });
    const id = await start(app);
    await vi.waitFor(() => expect(engine.open).toBe(1));
    const cancelled = await app.send("POST", `/v1/responses/${id}/cancel`);
    expect(cancelled.status).toBe(200);
    const response = responseObject.parse(await cancelled.json());
    expect(response.status).toBe("cancelled");
    await vi.waitFor(() => expect(engine.open).toBe(0));
    const again = await app.send("POST", `/v1/responses/${id}/cancel`);
    expect(await again.json()).toEqual(response);
    expect(await look(app, id)).toEqual(response);
    const events = await follow(app, id);
    expect(events.at(-1)?.type).not.toMatch(/completed|failed|incomplete/);
  });

  test("that has ended cannot be cancelled", async () => {
    const app = responsesApp({ engine: scriptedEngine([ANSWER]) });
    const id = await start(app);
    await until(app, id, "completed");
    expect((await app.send("POST", `/v1/responses/${id}/cancel`)).status).toBe(400);
  });

  test("is stopped when it is deleted", async () => {
    const engine = scriptedEngine([{ write: ANSWER.slice(0, 60), hang: true }]);
    const app = responsesApp({ engine });
    const id = await start(app);
    await vi.waitFor(() => expect(engine.open).toBe(1));
    expect((await app.send("DELETE", `/v1/responses/${id}`)).status).toBe(200);
    await vi.waitFor(() => expect(engine.open).toBe(0));
    expect((await app.send("GET", `/v1/responses/${id}`)).status).toBe(404);
  });
});

describe("through another gateway behind the same store", () => {
  function twoGateways(engine: ScriptedEngine, now?: () => Date) {
    const store = createMemoryStore({ maxEntries: 1000, maxBytes: 10_000_000, now: Date.now });
    const one = responsesApp({ engine, store });
    const other = responsesApp({ engine: scriptedEngine([]), store, ...(now && { now }) });
    return { one, other };
  }

  test("it can be polled and followed", async () => {
    const { engine, open } = gatedEngine();
    const { one, other } = twoGateways(engine);
    const id = await start(one);
    const following = follow(other, id);
    open();
    expect(consume(await following)).toEqual(await until(other, id, "completed"));
  });

  test("it can be cancelled", async () => {
    const engine = scriptedEngine([{ write: ANSWER.slice(0, 60), hang: true }]);
    const { one, other } = twoGateways(engine);
    const id = await start(one);
    await vi.waitFor(() => expect(engine.open).toBe(1));
    const cancelled = await other.send("POST", `/v1/responses/${id}/cancel`);
    expect(responseObject.parse(await cancelled.json()).status).toBe("cancelled");
    await vi.waitFor(() => expect(engine.open).toBe(0), { timeout: 5000 });
    expect((await look(one, id)).status).toBe("cancelled");
  });

  test("it is known to have failed when its own gateway is silent", async () => {
    let late = 0;
    const engine = scriptedEngine([{ write: ANSWER.slice(0, 60), hang: true }]);
    const { one, other } = twoGateways(engine, () => new Date(Date.now() + late));
    const id = await start(one);
    expect((await look(other, id)).status).not.toBe("failed");
    late = 60_000;
    expect(await look(other, id)).toMatchObject({
      status: "failed",
      error: { message: "The gateway that made this response has stopped." },
    });
    const events = await follow(other, id);
    expect(events.map(({ type }) => type).slice(-2)).toEqual(["error", "response.failed"]);
    expect(consume(events).status).toBe("failed");
  });
});
