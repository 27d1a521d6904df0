import { hash } from "node:crypto";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { createMemoryStore, EngineError, type Store } from "../../../src/index.ts";
import { createShutdown } from "../../../src/models/shutdown.ts";
import { eventually } from "../../helpers/eventually.ts";
import { type Script, type ScriptedEngine, scriptedEngine } from "../../helpers/scripted-engine.ts";
import { consume } from "./consumer.ts";
import { errorBody, responseObject } from "./schemas.ts";
import { MODEL, readEvents, type ResponsesApp, responsesApp } from "./support.ts";

const ANSWER =
  "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Hello there!<|return|>";
const REQUEST = { model: MODEL, input: "Hi.", background: true };

/** An engine that waits for a signal before it answers, and may fail instead. */
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

/** A store, and the keys of the events in it. */
function storeOfEvents() {
  const memory = createMemoryStore({ maxEntries: 1000, maxBytes: 10_000_000, now: Date.now });
  const events = new Set<string>();
  const store: Store = {
    ...memory,
    set: async (key, ...rest) => {
      if (key.startsWith("response-events:")) events.add(key);
      return memory.set(key, ...rest);
    },
    delete: async (key) => {
      events.delete(key);
      return memory.delete(key);
    },
  };
  return { store, events };
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
  return eventually(async () => {
    const response = await look(app, id);
    expect(response.status).toBe(status);
    return response;
  });
}

async function follow(app: ResponsesApp, id: string, after?: number) {
  const query = after === undefined ? "" : `&starting_after=${after}`;
  return readEvents(await app.send("GET", `/v1/responses/${id}?stream=true${query}`));
}

/** Resolves when a follower has been sent such an event: the engine's being asked does not mean that its text has come. */
async function untilFollowed(app: ResponsesApp, id: string, type: string): Promise<void> {
  const { body } = await app.send("GET", `/v1/responses/${id}?stream=true`);
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.includes(`event: ${type}\n`)) return;
  }
  throw new Error(`the stream has ended without ${type}`);
}

describe("a background response", () => {
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

  test("can be followed while it is generated, and any number of times afterwards", async () => {
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

  test("streams to its client, and continues after a disconnect", async () => {
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
    expect(errorBody.parse(await early.json()).error.message).toBe(
      `previous_response_id: the response ${id} is still in progress`,
    );
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

  test("that reaches its limit is reported as incomplete", async () => {
    const app = responsesApp({
      engine: scriptedEngine([{ write: ANSWER.slice(0, 40), finish: "length" }]),
    });
    const id = await start(app);
    expect((await until(app, id, "incomplete")).incomplete_details).toEqual({
      reason: "max_output_tokens",
    });
  });

  test("can be cancelled: the engine stops, and a second cancel has no effect", async () => {
    const engine = scriptedEngine([{ write: ANSWER.slice(0, 60), hang: true }]);
    const app = responsesApp({ engine });
    const id = await start(app);
    await expect.poll(() => engine.open).toBe(1);
    const cancelled = await app.send("POST", `/v1/responses/${id}/cancel`);
    expect(cancelled.status).toBe(200);
    const response = responseObject.parse(await cancelled.json());
    expect(response.status).toBe("cancelled");
    await expect.poll(() => engine.open).toBe(0);
    const again = await app.send("POST", `/v1/responses/${id}/cancel`);
    expect(await again.json()).toEqual(response);
    expect(await look(app, id)).toEqual(response);
    expect((await follow(app, id)).at(-1)).toMatchObject({ type: "response.incomplete", response });
  });

  test("shows no reasoning to followers that may not see it, however it ends", async () => {
    const script = { write: ANSWER.replace("Hm.", "Secret.").slice(0, -12), hang: true };
    const engine = scriptedEngine([script]);
    const app = responsesApp({ engine, settings: { reasoningPolicy: "none" } });
    const id = await start(app);
    await untilFollowed(app, id, "response.output_item.done");
    await app.send("POST", `/v1/responses/${id}/cancel`);
    const events = await follow(app, id);
    expect(events.at(-1)).toMatchObject({
      type: "response.incomplete",
      response: { status: "cancelled", output: [{ type: "reasoning", content: [] }] },
    });
    expect(JSON.stringify(events)).not.toContain("Secret");
  });

  test("that has ended cannot be cancelled", async () => {
    const app = responsesApp({ engine: scriptedEngine([ANSWER]) });
    const id = await start(app);
    await until(app, id, "completed");
    const refused = await app.send("POST", `/v1/responses/${id}/cancel`);
    expect(refused.status).toBe(400);
    expect(errorBody.parse(await refused.json()).error.message).toBe(
      `The response ${id} has already ended: completed.`,
    );
  });

  test("is stopped when it is deleted", async () => {
    const engine = scriptedEngine([{ write: ANSWER.slice(0, 60), hang: true }]);
    const app = responsesApp({ engine });
    const id = await start(app);
    await expect.poll(() => engine.open).toBe(1);
    expect((await app.send("DELETE", `/v1/responses/${id}`)).status).toBe(200);
    await expect.poll(() => engine.open).toBe(0);
    expect((await app.send("GET", `/v1/responses/${id}`)).status).toBe(404);
  });
});

describe("through another gateway with the same store", () => {
  function twoGateways(engine: ScriptedEngine) {
    const store = createMemoryStore({ maxEntries: 1000, maxBytes: 10_000_000, now: Date.now });
    const one = responsesApp({ engine, store });
    const other = responsesApp({ engine: scriptedEngine([]), store });
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

  test.each([
    ["completed", ANSWER],
    ["incomplete", { write: ANSWER.slice(0, 40), finish: "length" as const }],
    ["failed", { write: ANSWER.slice(0, 60), fail: new EngineError("closed", "why") }],
  ])(
    "it is followed to its end if its gateway dies once it is stored as %s",
    async (status, script) => {
      const store = createMemoryStore({ maxEntries: 1000, maxBytes: 10_000_000, now: Date.now });
      let isDead = false;
      const dying: Store = {
        ...store,
        set: async (key, value, ...rest) => {
          if (isDead) return new Promise(() => {});
          isDead = key.startsWith("response:") && statusOf(value) === status;
          return store.set(key, value, ...rest);
        },
      };
      const one = responsesApp({ engine: scriptedEngine([script]), store: dying });
      const other = responsesApp({ engine: scriptedEngine([]), store });
      const id = await start(one);
      const ended = await until(other, id, status);
      expect(isDead).toBe(true);
      const events = await follow(other, id);
      expect(consume(events)).toEqual(ended);
      expect(await follow(other, id, events.length - 2)).toEqual(events.slice(-1));
    },
  );

  test.each([
    ["while it runs", { write: ANSWER.slice(0, 60), hang: true }],
    ["and has ended before the next heartbeat", ANSWER],
  ])("it stays deleted if it is deleted %s", async (_, script) => {
    const { engine, open } = gatedEngine(script);
    const { store, events } = storeOfEvents();
    const one = responsesApp({ engine, store, settings: { maxBackgroundPerKey: 1 } });
    const other = responsesApp({ engine: scriptedEngine([]), store });
    const id = await start(one);
    expect((await other.send("DELETE", `/v1/responses/${id}`)).status).toBe(200);
    open();
    // The place of a response is free once it has ended.
    const next = await eventually(() => start(one));
    expect((await one.send("GET", `/v1/responses/${id}`)).status).toBe(404);
    expect((await one.send("DELETE", `/v1/responses/${next}`)).status).toBe(200);
    expect(events.size).toBe(0);
  });

  test("its events are deleted with it once it has ended", async () => {
    const { store, events } = storeOfEvents();
    const one = responsesApp({ engine: scriptedEngine([ANSWER]), store });
    const other = responsesApp({ engine: scriptedEngine([]), store });
    const id = await start(one);
    await until(one, id, "completed");
    expect(events.size).toBeGreaterThan(0);
    expect((await other.send("DELETE", `/v1/responses/${id}`)).status).toBe(200);
    expect(events.size).toBe(0);
  });

  test("it is deleted although it ends meanwhile", async () => {
    const { store, events } = storeOfEvents();
    let queued: string | undefined;
    let isEarlier = false;
    const slow: Store = {
      ...store,
      get: async (key) => {
        if (!isEarlier || !key.startsWith("response:")) return store.get(key);
        isEarlier = false;
        return queued;
      },
      set: async (key, value, ...rest) => {
        if (key.startsWith("response:")) queued ??= value;
        return store.set(key, value, ...rest);
      },
    };
    const app = responsesApp({ engine: scriptedEngine([ANSWER]), store: slow });
    const id = await start(app);
    await until(app, id, "completed");
    isEarlier = true;
    expect((await app.send("DELETE", `/v1/responses/${id}`)).status).toBe(200);
    expect(isEarlier).toBe(false);
    expect(events.size).toBe(0);
    expect((await app.send("GET", `/v1/responses/${id}`)).status).toBe(404);
  });

  test("it is not followed to an end without its beginning", async () => {
    const { store, events } = storeOfEvents();
    const app = responsesApp({ engine: scriptedEngine([ANSWER]), store });
    const id = await start(app);
    await until(app, id, "completed");
    await Promise.all([...events].map((key) => store.delete(key)));
    const response = await app.send("GET", `/v1/responses/${id}?stream=true`);
    expect(response.status).toBe(404);
    expect(errorBody.parse(await response.json()).error.message).toBe(
      `The events of the response ${id} have expired.`,
    );
  });

  test("it can be cancelled", async () => {
    const engine = scriptedEngine([{ write: ANSWER.slice(0, 60), hang: true }]);
    const { one, other } = twoGateways(engine);
    const id = await start(one);
    await expect.poll(() => engine.open).toBe(1);
    const cancelled = await other.send("POST", `/v1/responses/${id}/cancel`);
    expect(responseObject.parse(await cancelled.json()).status).toBe("cancelled");
    await expect.poll(() => engine.open).toBe(0);
    expect((await look(one, id)).status).toBe("cancelled");
  });
});

describe("the number of responses in the background", () => {
  const post = (app: ResponsesApp, key?: string) => app.send("POST", "/v1/responses", REQUEST, key);

  function keyed(...names: readonly string[]) {
    return names.map((name) => ({ name, sha256: hash("sha256", name) }));
  }

  test("is limited per key, and decreases as they end", async () => {
    const [alice, bob] = keyed("alice", "bob");
    const keys = [{ ...alice, maxBackgroundPerKey: 3 }, bob];
    const engine = scriptedEngine(() => ({ write: ANSWER.slice(0, 60), hang: true }));
    const app = responsesApp({ engine, settings: { keys, maxBackgroundPerKey: 1 } });
    const flood = await Promise.all(Array.from({ length: 50 }, () => post(app, "alice")));
    expect(flood.filter(({ status }) => status === 200)).toHaveLength(3);
    const refused = flood.find(({ status }) => status !== 200);
    expect(refused?.status).toBe(429);
    expect(refused?.headers.get("retry-after")).toBe("5");
    expect(errorBody.parse(await refused?.json()).error.message).toBe(
      "background: this key has reached its limit of 3 background responses. Wait for one to end, or cancel one. Please try again in 5s.",
    );
    expect((await post(app, "bob")).status).toBe(200);
    expect((await post(app, "bob")).status).toBe(429);

    const kept = flood.find(({ status }) => status === 200);
    const { id } = responseObject.parse(await kept?.json());
    await app.send("POST", `/v1/responses/${id}/cancel`, undefined, "alice");
    expect((await post(app, "alice")).status).toBe(200);
    expect((await post(app, "alice")).status).toBe(429);
  });

  test("is limited in total", async () => {
    const keys = keyed("alice", "bob", "cy");
    const engine = scriptedEngine(() => ({ write: ANSWER.slice(0, 60), hang: true }));
    const app = responsesApp({ engine, settings: { keys, maxBackground: 2 } });
    expect((await post(app, "alice")).status).toBe(200);
    expect((await post(app, "bob")).status).toBe(200);
    const refused = await post(app, "cy");
    expect(refused.status).toBe(503);
    expect(errorBody.parse(await refused.json()).error.message).toBe(
      "The gateway has reached its limit of background responses. Try again later. Please try again in 5s.",
    );
  });
});

describe("with a store that fails", () => {
  function failingStore() {
    const memory = createMemoryStore({ maxEntries: 1000, maxBytes: 10_000_000, now: Date.now });
    const state = { isDown: true, failures: 0 };
    const store: Store = {
      ...memory,
      set: async (...args) => {
        if (state.isDown) state.failures += 1;
        if (state.isDown) throw new Error("connection refused");
        return memory.set(...args);
      },
    };
    return { store, state };
  }

  test("requests are refused, and nothing runs", async () => {
    const { store, state } = failingStore();
    const engine = scriptedEngine(() => ANSWER);
    const app = responsesApp({ engine, store, settings: { maxBackgroundPerKey: 1 } });
    for (let times = 0; times < 3; times++) {
      expect((await app.send("POST", "/v1/responses", REQUEST)).status).toBe(503);
    }
    expect(engine.requests).toEqual([]);
    // Refused requests are not counted.
    state.isDown = false;
    await eventually(() => start(app));
  });

  test("no event is lost that comes while others are written", async () => {
    const engine = scriptedEngine([ANSWER]);
    const writing = Promise.withResolvers<void>();
    const generated = Promise.withResolvers<void>();
    const gated: ScriptedEngine = {
      ...engine,
      async *complete(request, signal) {
        let count = 0;
        try {
          for await (const event of engine.complete(request, signal)) {
            yield event;
            if (++count === 8) await writing.promise;
          }
        } finally {
          generated.resolve();
        }
      },
    };
    const memory = createMemoryStore({ maxEntries: 1000, maxBytes: 10_000_000, now: Date.now });
    const store: Store = {
      ...memory,
      set: async (key, value, ...rest) => {
        if (key.startsWith("response-events:") && value.includes("response.in_progress")) {
          writing.resolve();
          await generated.promise;
        }
        return memory.set(key, value, ...rest);
      },
    };
    const app = responsesApp({ engine: gated, store });
    const id = await start(app);
    const done = await until(app, id, "completed");
    expect(consume(await follow(app, id))).toEqual(done);
  });

  test("a conversation is extended once, before the response is stored as ended", async () => {
    const memory = createMemoryStore({ maxEntries: 1000, maxBytes: 10_000_000, now: Date.now });
    const ends: number[] = [];
    let conversation = "";
    const items = async () => {
      const read = await app.send("GET", `/v1/conversations/${conversation}/items`);
      return z.object({ data: z.array(z.object({ type: z.string() })) }).parse(await read.json())
        .data;
    };
    const store: Store = {
      ...memory,
      set: async (key, value, ...rest) => {
        if (key.startsWith("response:") && statusOf(value) === "completed") {
          ends.push((await items()).length);
          if (ends.length === 1) throw new Error("connection reset");
        }
        return memory.set(key, value, ...rest);
      },
    };
    const app = responsesApp({ engine: scriptedEngine([ANSWER]), store });
    const made = await (await app.send("POST", "/v1/conversations", {})).json();
    conversation = z.object({ id: z.string() }).parse(made).id;
    const started = await app.send("POST", "/v1/responses", { ...REQUEST, conversation });
    await until(app, responseObject.parse(await started.json()).id, "completed");
    expect(ends).toEqual([3, 3]);
    expect(await items()).toHaveLength(3);
  });

  test("a response finished meanwhile is written when the store recovers", async () => {
    const { store, state } = failingStore();
    state.isDown = false;
    const { engine, open } = gatedEngine();
    const app = responsesApp({ engine, store });
    const id = await start(app);
    state.isDown = true;
    open();
    await expect.poll(() => state.failures).toBeGreaterThan(1);
    state.isDown = false;
    const done = await until(app, id, "completed");
    expect(consume(await follow(app, id))).toEqual(done);
  });
});

describe("at a shutdown", () => {
  const CUT = { write: ANSWER.slice(0, 60), hang: true };

  test("it finishes within the grace period", async () => {
    const shutdown = createShutdown();
    const { engine, open } = gatedEngine();
    const app = responsesApp({ engine, shutdown });
    const id = await start(app);
    shutdown.begin();
    open();
    await shutdown.idle();
    expect((await look(app, id)).status).toBe("completed");
  });

  test("it is marked failed immediately if there is no time left, visible to all replicas", async () => {
    const shutdown = createShutdown();
    const store = createMemoryStore({ maxEntries: 1000, maxBytes: 10_000_000, now: Date.now });
    const engine = scriptedEngine([CUT]);
    const app = responsesApp({ engine, store, shutdown });
    const replica = responsesApp({ engine: scriptedEngine([]), store });
    const id = await start(app);
    await expect.poll(() => engine.open).toBe(1);
    shutdown.stop();
    await shutdown.idle();
    expect(engine.open).toBe(0);
    expect(await look(replica, id)).toMatchObject({
      status: "failed",
      error: { code: "server_error" },
    });
    const events = await follow(replica, id);
    expect(events.map(({ type }) => type).slice(-2)).toEqual(["error", "response.failed"]);
  });

  test("further requests are refused", async () => {
    const shutdown = createShutdown();
    const app = responsesApp({ engine: scriptedEngine([]), shutdown });
    shutdown.begin();
    const refused = await app.send("POST", "/v1/responses", REQUEST);
    expect(refused.status).toBe(503);
    expect(refused.headers.get("retry-after")).toBe("1");
    const ready = await app.send("GET", "/ready");
    expect(ready.status).toBe(503);
    expect(await ready.json()).toEqual({ status: "shutting_down" });
    expect((await app.send("GET", "/health")).status).toBe(200);
  });

  test("an interrupted stream reports it and ends", async () => {
    const shutdown = createShutdown();
    const engine = scriptedEngine([CUT]);
    const app = responsesApp({ engine, shutdown });
    const response = await app.send("POST", "/v1/responses", {
      ...REQUEST,
      background: false,
      stream: true,
    });
    const events = readEvents(response);
    await expect.poll(() => engine.open).toBe(1);
    shutdown.stop();
    expect((await events).slice(-2)).toMatchObject([
      { type: "error", code: "server_error", message: expect.stringContaining("shutting down") },
      { type: "response.failed", response: { status: "failed" } },
    ]);
    expect(engine.open).toBe(0);
  });
});

/** The status of a response, as it is stored. */
function statusOf(value: string): string {
  return JSON.parse(value.replace(/^v1 /, "")).response.status;
}
