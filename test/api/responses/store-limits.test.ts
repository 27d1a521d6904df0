/** Data that the store cannot keep or return is refused or reported, never lost silently. */
import { setImmediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { createMemoryStore, type Store } from "../../../src/index.ts";
import { appOf } from "../../helpers/app.ts";
import { testSettings } from "../../helpers/gateway.ts";
import { scriptedEngine } from "../../helpers/scripted-engine.ts";
import { errorBody, responseObject } from "./schemas.ts";
import { MODEL, readEvents, type ResponsesApp, responsesApp } from "./support.ts";

const ANSWER = "<|channel|>final<|message|>Hi.<|return|>";

const named = z.looseObject({ id: z.string() });
const list = z.looseObject({ data: z.array(z.unknown()) });

async function errorOf(response: Response) {
  return { status: response.status, ...errorBody.parse(await response.json()).error };
}

/** A store that counts its operations, can be down, and whose values a test can change. */
function watchedStore() {
  const memory = createMemoryStore({ maxEntries: 10_000, maxBytes: 100_000_000, now: Date.now });
  const state = { isDown: false, gets: [] as string[], sets: [] as string[] };
  const ask = async <T>(answer: () => Promise<T>): Promise<T> => {
    if (state.isDown) throw new Error("connection refused");
    return answer();
  };
  const store: Store = {
    get: (key) => {
      state.gets.push(key);
      return ask(() => memory.get(key));
    },
    set: (...args) => {
      state.sets.push(args[0]);
      return ask(() => memory.set(...args));
    },
    delete: (key) => ask(() => memory.delete(key)),
  };
  return { store, state };
}

describe("references to stored items", () => {
  async function storedItem(text: string) {
    const { store, state } = watchedStore();
    const engine = scriptedEngine(() => ANSWER);
    const app = responsesApp({ engine, store, settings: { maxBodyBytes: 4_000_000 } });
    const made = await app.create({ input: [{ role: "user", content: text }] });
    state.gets.length = 0;
    const reference = { type: "item_reference", id: `msg_${made.id.slice("resp_".length)}_i0` };
    const count = (references: number) =>
      app.send("POST", "/v1/responses/input_tokens", {
        model: MODEL,
        input: Array.from({ length: references }, () => reference),
      });
    return { app, state, engine, reference, count };
  }

  test("load a response once, however many there are", async () => {
    const { state, count } = await storedItem("Hello.");
    const response = await count(2000);
    expect(response.status).toBe(200);
    expect(state.gets).toHaveLength(1);
  });

  test("are refused once the referenced items exceed the size of a request", async () => {
    const { app, state, engine, reference, count } = await storedItem("x".repeat(1_000_000));
    const asked = engine.requests.length;
    expect(await errorOf(await count(9_999))).toMatchObject({
      status: 413,
      param: "input",
      code: "payload_too_large",
      message:
        "input: the referenced items make the input longer than 4000000 bytes. Reference fewer items, or shorten the conversation.",
    });
    const input = Array.from({ length: 5 }, () => reference);
    const response = await app.send("POST", "/v1/responses", { model: MODEL, input });
    expect(response.status).toBe(413);
    expect(state.gets).toHaveLength(2);
    expect(engine.requests.length).toBe(asked);
  });

  test("are followed only up to a limit", async () => {
    const { state, app } = await storedItem("Hello.");
    const input = Array.from({ length: 3000 }, (_, index) => {
      return { type: "reasoning", id: `rs_${index}_0`, summary: [] };
    });
    await app.send("POST", "/v1/responses/input_tokens", { model: MODEL, input });
    expect(state.gets.length).toBeLessThanOrEqual(1000);
  });
});

test("a chain of responses longer than a request may be is refused, naming the field", async () => {
  const app = responsesApp({
    engine: scriptedEngine(() => ANSWER),
    settings: { maxBodyBytes: 100_000 },
  });
  let previous: string | undefined;
  const ask = () => ({
    input: "x".repeat(40_000),
    ...(previous !== undefined && { previous_response_id: previous }),
  });
  for (let turns = 0; turns < 3; turns++) previous = (await app.create(ask())).id;
  const refused = await app.send("POST", "/v1/responses", { model: MODEL, ...ask() });
  expect(await errorOf(refused)).toMatchObject({ status: 413, param: "previous_response_id" });
});

describe("a conversation that would outgrow its entry", () => {
  const item = { type: "message", role: "user", content: "x".repeat(40_000) };

  async function grownConversation() {
    const engine = scriptedEngine(() => ANSWER);
    const app = responsesApp({ engine, settings: { storeMaxEntryBytes: 150_000 } });
    const made = await app.send("POST", "/v1/conversations", {});
    const { id } = named.parse(await made.json());
    const add = () => app.send("POST", `/v1/conversations/${id}/items`, { items: [item] });
    const count = async () => {
      const response = await app.send("GET", `/v1/conversations/${id}/items?limit=100`);
      expect(response.status).toBe(200);
      return list.parse(await response.json()).data.length;
    };
    return { app, engine, id, add, count };
  }

  test("accepts no further items, and keeps its own", async () => {
    const { add, count } = await grownConversation();
    const statuses: number[] = [];
    for (let times = 0; times < 5; times++) statuses.push((await add()).status);
    expect(statuses).toEqual([200, 200, 200, 413, 413]);
    expect(await errorOf(await add())).toMatchObject({
      status: 413,
      param: "conversation",
      message:
        "The conversation would be too large to be stored. Delete items from it, or start a new one.",
    });
    expect(await count()).toBe(3);
  });

  test("cannot be created too large", async () => {
    const { app } = await grownConversation();
    const refused = await app.send("POST", "/v1/conversations", {
      items: [item, item, item, item],
    });
    expect(refused.status).toBe(413);
  });

  test("is not continued by a response, and nothing is generated", async () => {
    const { app, engine, id, add, count } = await grownConversation();
    for (let times = 0; times < 3; times++) await add();
    const body = { model: MODEL, input: "And?", conversation: id, store: false };
    const refused = await app.send("POST", "/v1/responses", body);
    expect(await errorOf(refused)).toMatchObject({ status: 413, param: "conversation" });
    expect(engine.requests).toEqual([]);
    expect(await count()).toBe(3);
  });
});

test("a response too large to be stored is refused before it is generated, unless store is false", async () => {
  const engine = scriptedEngine(() => ANSWER);
  const app = responsesApp({ engine, settings: { storeMaxEntryBytes: 100_000 } });
  const body = { model: MODEL, input: "x".repeat(100_000) };
  for (const background of [false, true]) {
    const refused = await app.send("POST", "/v1/responses", { ...body, background });
    expect(await errorOf(refused)).toMatchObject({
      status: 413,
      param: "input",
      message:
        "input: the response would be too large to be stored. Send less input, or set store to false.",
    });
  }
  const include = ["message.output_text.logprobs"];
  const short = { model: MODEL, input: "Hi", max_output_tokens: 1000 };
  const many = { ...short, include, top_logprobs: 20 };
  expect(await errorOf(await app.send("POST", "/v1/responses", many))).toMatchObject({
    status: 413,
    param: "top_logprobs",
  });
  expect(engine.requests).toEqual([]);
  expect((await app.create({ ...body, store: false })).status).toBe("completed");
});

test("a background response that becomes too large to be stored fails and says why", async () => {
  const long = `<|channel|>final<|message|>${"word ".repeat(40_000)}<|return|>`;
  const engine = scriptedEngine(() => long);
  const app = responsesApp({ engine, settings: { storeMaxEntryBytes: 60_000 } });
  const { id } = await app.create({ input: "Hi", background: true });
  await expect
    .poll(async () =>
      responseObject.parse(await (await app.send("GET", `/v1/responses/${id}`)).json()),
    )
    .toMatchObject({
      status: "failed",
      error: { code: "server_error", message: "The response became too large to be stored." },
    });
});

describe("when the store is down", () => {
  const BODY = { model: MODEL, input: "Hello!" };

  async function downAfterOneRequest() {
    const { store, state } = watchedStore();
    const engine = scriptedEngine(() => ANSWER);
    const app = responsesApp({ engine, store });
    const { id } = await app.create({ input: "Hello!" });
    state.isDown = true;
    return { app, engine, state, id };
  }

  async function refusalOf(response: Response) {
    return { ...(await errorOf(response)), retryAfter: response.headers.get("retry-after") };
  }
  const UNAVAILABLE = expect.objectContaining({
    status: 503,
    type: "server_error",
    retryAfter: "1",
  });

  test("the audit says that a response could not be stored, of a plain one and of a stream", async () => {
    for (const stream of [false, true]) {
      const { store, state } = watchedStore();
      const engine = scriptedEngine(() => {
        state.isDown = true;
        return ANSWER;
      });
      const audited: string[] = [];
      const app = appOf(testSettings(), [{ id: MODEL, engine }], {
        store,
        writeAudit: (line) => audited.push(line),
      });
      type Listener = (sent: { bytes: number; isComplete: boolean }) => void;
      const listeners: Listener[] = [];
      const body = JSON.stringify({ model: MODEL, input: "Hello!", stream });
      const afterResponse = (listener: Listener) => listeners.push(listener);
      const response = await app.request(
        "/v1/responses",
        { method: "POST", body },
        { afterResponse },
      );
      expect(response.status).toBe(stream ? 200 : 503);
      expect(await response.text()).toContain("store is not available");
      for (const listener of listeners) listener({ bytes: 0, isComplete: true });
      expect(audited.map((line) => JSON.parse(line))).toMatchObject([
        { status: response.status, finish: "stop", error: "store_unavailable" },
      ]);
    }
  });

  test("a response that could not be stored fails, and the next is refused immediately", async () => {
    const { app, engine } = await downAfterOneRequest();
    expect(await refusalOf(await app.send("POST", "/v1/responses", BODY))).toEqual(UNAVAILABLE);
    const asked = engine.requests.length;
    expect(await refusalOf(await app.send("POST", "/v1/responses", BODY))).toEqual(UNAVAILABLE);
    expect(engine.requests.length).toBe(asked);
  });

  test("a stream ends with the failure instead of a completion that cannot be read later", async () => {
    const { app } = await downAfterOneRequest();
    const response = await app.send("POST", "/v1/responses", { ...BODY, stream: true });
    const events = await readEvents(response);
    expect(events.slice(-2)).toMatchObject([
      { type: "error", code: "server_error" },
      { type: "response.failed", response: { status: "failed", completed_at: null } },
    ]);
    expect(events.map(({ type }) => type)).not.toContain("response.completed");
    expect(events.map((event) => ({ ...event, type: "" }))).toMatchObject(
      events.map((_, index) => ({ sequence_number: index })),
    );
  });

  test("requests that do not need the store are answered", async () => {
    const { app } = await downAfterOneRequest();
    for (let times = 0; times < 5; times++) {
      expect((await app.create({ input: "Hello!", store: false })).status).toBe("completed");
    }
  });

  test("a stored response is not reported as unknown", async () => {
    const { app, id } = await downAfterOneRequest();
    expect(await refusalOf(await app.send("GET", `/v1/responses/${id}`))).toEqual(UNAVAILABLE);
    expect(await refusalOf(await app.send("GET", "/v1/conversations/conv_1"))).toEqual(UNAVAILABLE);
    expect(await refusalOf(await app.send("POST", "/v1/conversations", {}))).toEqual(UNAVAILABLE);
    const continued = { ...BODY, store: false, previous_response_id: id };
    expect(await refusalOf(await app.send("POST", "/v1/responses", continued))).toEqual(
      UNAVAILABLE,
    );
  });

  test("it is used again as soon as it answers", async () => {
    const { app, state } = await downAfterOneRequest();
    await app.send("POST", "/v1/responses", BODY);
    state.isDown = false;
    expect((await app.create({ input: "Hello!" })).status).toBe("completed");
  });
});

describe("a truncated entry", () => {
  async function cutEntries() {
    const memory = createMemoryStore({ maxEntries: 1000, maxBytes: 1_000_000, now: Date.now });
    let isCut = false;
    const store: Store = {
      ...memory,
      get: async (key) => (await memory.get(key))?.slice(0, isCut ? -5 : undefined),
    };
    const app = responsesApp({ engine: scriptedEngine(() => ANSWER), store });
    const { id } = await app.create({ input: "Hello!" });
    const made = await app.send("POST", "/v1/conversations", {});
    const conversation = named.parse(await made.json());
    isCut = true;
    return { app, id, conversation: conversation.id };
  }

  function paths(
    id: string,
    conversation: string,
  ): readonly (readonly [string, string, object?])[] {
    const items = { items: [{ role: "user", content: "Hi." }] };
    return [
      ["GET", `/v1/responses/${id}`],
      ["GET", `/v1/responses/${id}/input_items`],
      ["POST", `/v1/responses/${id}/cancel`],
      ["DELETE", `/v1/responses/${id}`],
      ["GET", `/v1/conversations/${conversation}`],
      ["GET", `/v1/conversations/${conversation}/items`],
      ["POST", `/v1/conversations/${conversation}`, { metadata: {} }],
      ["POST", `/v1/conversations/${conversation}/items`, items],
      ["DELETE", `/v1/conversations/${conversation}`],
      ["POST", "/v1/responses", { model: MODEL, input: "Hi.", conversation }],
    ];
  }

  test("counts as missing for every request", async () => {
    const { app, id, conversation } = await cutEntries();
    for (const [method, path, body] of paths(id, conversation)) {
      expect([method, path, (await app.send(method, path, body)).status]).toEqual([
        method,
        path,
        404,
      ]);
    }
    const continued = { model: MODEL, input: "Hi.", previous_response_id: id };
    expect((await app.send("POST", "/v1/responses", continued)).status).toBe(400);
  });

  test("is logged without its content, and counted", async () => {
    const { app, id } = await cutEntries();
    await app.send("GET", `/v1/responses/${id}`);
    expect(app.logged.filter(({ event }) => event === "store entry not readable")).toMatchObject([
      { level: "warn", kind: "response" },
    ]);
    expect(await metrics(app)).toContain('store_corrupt_entries_total{kind="response"} 1');
  });
});

test("an entry that a later gateway wrote counts as missing, and the log has its version", async () => {
  const memory = createMemoryStore({ maxEntries: 100, maxBytes: 100_000, now: Date.now });
  const store: Store = {
    ...memory,
    set: (key, value, ...rest) => memory.set(key, value.replace(/^v1 /, "v2 "), ...rest),
  };
  const app = responsesApp({ engine: scriptedEngine(() => ANSWER), store });
  const { id } = await app.create({ input: "Hello!" });
  expect((await app.send("GET", `/v1/responses/${id}`)).status).toBe(404);
  expect(app.logged.filter(({ event }) => event === "store entry not readable")).toMatchObject([
    { level: "warn", kind: "response", version: 2 },
  ]);
});

async function metrics(app: ResponsesApp): Promise<string> {
  return (await app.send("GET", "/metrics")).text();
}

describe("large conversations", () => {
  const item = { type: "message", role: "user", content: "Hi." };
  const itemsOf = (count: number) => Array.from({ length: count }, () => item);
  const tooMany = (count: number) => ({
    status: 413,
    param: "conversation",
    message: `conversation: would have ${count} items, more than the 5 allowed (setting maxMessages). Delete items from it, or start a new one.`,
  });

  async function conversationOf(items: number) {
    const { store } = watchedStore();
    const settings = { maxMessages: 5, storeMaxEntryBytes: 1_000_000, maxBodyBytes: 1_000_000 };
    const app = responsesApp({ engine: scriptedEngine(() => ANSWER), store, settings });
    const made = await app.send("POST", "/v1/conversations", { items: itemsOf(items) });
    return { app, store, id: named.parse(await made.json()).id };
  }

  test("have as many items as a request may have messages", async () => {
    const { app, id } = await conversationOf(3);
    const add = (count: number) =>
      app.send("POST", `/v1/conversations/${id}/items`, { items: itemsOf(count) });
    const answer = (count: number) =>
      app.send("POST", "/v1/responses", {
        model: MODEL,
        conversation: id,
        input: itemsOf(count),
      });
    expect(await errorOf(await add(6))).toMatchObject({ status: 400, param: "items" });
    expect(await errorOf(await add(3))).toMatchObject(tooMany(6));
    expect(await errorOf(await answer(3))).toMatchObject(tooMany(6));
    expect((await add(1)).status).toBe(200);
    expect((await answer(1)).status).toBe(200);
    // With its answer, the conversation has six items.
    expect(await errorOf(await answer(1))).toMatchObject(tooMany(7));
    const made = await app.send("POST", "/v1/conversations", { items: itemsOf(6) });
    expect(await errorOf(made)).toMatchObject({ status: 400, param: "items" });
  });

  test("are read by a tenant a few at a time", async () => {
    const { app, store, id } = await conversationOf(1);
    const { ...memory } = store;
    const reads = { open: 0, most: 0 };
    Object.assign(store, {
      async get(key: string) {
        reads.open++;
        reads.most = Math.max(reads.most, reads.open);
        await setImmediate();
        reads.open--;
        return memory.get(key);
      },
    });
    const asked = Array.from({ length: 16 }, () => app.send("GET", `/v1/conversations/${id}`));
    const answers = await Promise.all(asked);
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    expect(reads.most).toBe(4);
  });
});
