import { hash } from "node:crypto";
import { describe, expect, onTestFinished, test } from "vitest";
import { eventually } from "../../helpers/eventually.ts";
import { startTestGateway } from "../../helpers/gateway.ts";
import { pngOf } from "../../helpers/png.ts";
import { createRecordedApp, type RecordedApp } from "../../helpers/recorded-app.ts";
import { type Script, scriptedEngine } from "../../helpers/scripted-engine.ts";
import { startVisionServer } from "../../helpers/vision-server.ts";

const MODEL = "openai/gpt-oss-20b";
/** Words of the client, of the model, and of a tool's arguments: none may be in any record. */
const SECRET = /plover|xyzzy|frobozz/i;
const ANSWER =
  "<|channel|>analysis<|message|>xyzzy<|end|><|start|>assistant<|channel|>final<|message|>Xyzzy, plover.<|return|>";
const CALL =
  '<|channel|>commentary to=functions.look<|constrain|>json<|message|>{"at":"frobozz"}<|call|>';
const OFF = { "x-harmony-record": "off" };

const TOOL = { name: "look", parameters: { type: "object" } };
const APIS = {
  "chat completions": [
    "/v1/chat/completions",
    {
      model: MODEL,
      messages: [{ role: "user", content: "plover" }],
      stop: ["frobozz"],
      tools: [{ type: "function", function: TOOL }],
    },
  ],
  responses: [
    "/v1/responses",
    { model: MODEL, input: "plover", tools: [{ type: "function", ...TOOL }] },
  ],
  messages: [
    "/v1/messages",
    {
      model: MODEL,
      max_tokens: 500,
      messages: [{ role: "user", content: "plover" }],
      stop_sequences: ["frobozz"],
      tools: [{ name: "look", input_schema: { type: "object" } }],
    },
  ],
} as const;
const CASES = Object.entries(APIS).flatMap(([name, [path, body]]) =>
  [false, true].map((stream) => [name, stream, path, { ...body, stream }] as const),
);

function open(script: Script = ANSWER, settings: Record<string, unknown> = {}): RecordedApp {
  return createRecordedApp({ engine: scriptedEngine(() => script), settings });
}

/** All that a page, a file or the list can show of the turns from this index on. */
async function seen(app: RecordedApp, from = 0): Promise<string> {
  const records = await app.records();
  const rows = app.entries.map((entry) => entry.summary());
  expect(rows.length).toBeGreaterThan(from);
  for (const { hasContent } of rows.slice(from)) expect(hasContent).toBe(false);
  return JSON.stringify([records.slice(from), rows.slice(from)]);
}

async function send(app: RecordedApp, path: string, body: object, headers = {}) {
  const response = await app.post(path, body, headers);
  return { status: response.status, text: await response.text() };
}

describe.each([
  ["an answer", ANSWER],
  ["a call", CALL],
  ["a failure", { write: "<|channel|>final<|message|>xyzzy", fail: new Error("at frobozz") }],
] as const)("with the header, %s", (_, script) => {
  test.each(CASES)(
    "of %s, streamed: %s, is listed without content",
    async (_name, _s, path, body) => {
      const app = open(script);
      await send(app, path, body, OFF);
      expect(await seen(app)).not.toMatch(SECRET);
      expect(app.entries[0]?.summary()).toMatchObject({ tenant: "anonymous", model: MODEL });
      // A request without the header shows that the words would be found.
      await send(app, path, body);
      expect(JSON.stringify(await app.records())).toMatch(SECRET);
    },
  );
});

test("a running turn is not readable either", async () => {
  const app = open({ write: "<|channel|>final<|message|>xyzzy", hang: true });
  const abort = new AbortController();
  const response = await app.request("/v1/chat/completions", {
    method: "POST",
    headers: OFF,
    body: JSON.stringify({ ...APIS["chat completions"][1], stream: true }),
    signal: abort.signal,
  });
  await response.body?.getReader().read();
  const [entry] = app.entries;
  const since = { prompt: false, decisions: 0, call: 0, read: 0, recoveries: 0, events: 0 };
  const changes = await entry?.changes({ ...since, parts: 0, characters: 0 });
  expect(changes?.seen).toBeDefined();
  expect(JSON.stringify(changes)).not.toMatch(SECRET);
  abort.abort();
});

test("a refused request keeps neither its body nor the reason", async () => {
  const app = open();
  for (const [path, body] of Object.values(APIS)) {
    for (const wrong of [{ model: "gpt-4o" }, { temperature: "frobozz" }]) {
      const { status } = await send(app, path, { ...body, ...wrong }, OFF);
      expect(status).toBeGreaterThanOrEqual(400);
    }
  }
  expect(await seen(app)).not.toMatch(SECRET);
});

test("each of several choices is without content", async () => {
  const app = open();
  await send(app, "/v1/chat/completions", { ...APIS["chat completions"][1], n: 3 }, OFF);
  expect(app.entries).toHaveLength(3);
  expect(await seen(app)).not.toMatch(SECRET);
});

test("another request with the same id does not reveal a private turn", async () => {
  const hang = Promise.withResolvers<void>();
  const engine = scriptedEngine(() => ANSWER);
  const app = createRecordedApp({
    engine: {
      ...engine,
      async *complete(request, signal) {
        await hang.promise;
        yield* engine.complete(request, signal);
      },
    },
  });
  const [path, body] = APIS["chat completions"];
  const id = { "x-request-id": "same" };
  const hello = { model: MODEL, messages: [{ role: "user", content: "Hello" }] };
  const first = send(app, path, hello, id);
  await eventually(() => expect(app.entries).toHaveLength(1));
  const second = send(app, path, body, { ...id, ...OFF });
  await eventually(() => expect(app.entries.length).toBeGreaterThan(1));
  hang.resolve();
  await Promise.all([first, second]);
  const rows = app.entries.map((entry) => entry.summary());
  expect(JSON.stringify([rows, await app.records()])).not.toMatch(/plover/);
});

describe("what the gateway has stored of a private response", () => {
  const [path, body] = APIS.responses;
  const idOf = (text: string): string => JSON.parse(text).id;

  test("stays out of the records of what continues it, and of what continues that", async () => {
    const app = open();
    const first = await send(app, path, body, OFF);
    const next = { model: MODEL, input: "Go on." };
    const second = await send(app, path, { ...next, previous_response_id: idOf(first.text) });
    await send(app, path, { ...next, previous_response_id: idOf(second.text) });
    expect(app.entries).toHaveLength(3);
    expect(await seen(app)).not.toMatch(SECRET);
  });

  test("stays out of the record of what continues it with the id of another open request", async () => {
    const hang = Promise.withResolvers<void>();
    const engine = scriptedEngine(() => ANSWER);
    let calls = 0;
    const app = createRecordedApp({
      engine: {
        ...engine,
        async *complete(request, signal) {
          if (calls++ > 0) await hang.promise;
          yield* engine.complete(request, signal);
        },
      },
    });
    const kept = await send(app, path, body, OFF);
    const id = { "x-request-id": "same" };
    const hello = { model: MODEL, input: "Hello" };
    const first = send(app, path, hello, id);
    await eventually(() => expect(calls).toBe(2));
    const second = send(app, path, { ...hello, previous_response_id: idOf(kept.text) }, id);
    await eventually(() => expect(calls).toBe(3));
    hang.resolve();
    expect((await second).text).toMatch(SECRET);
    await first;
    expect(await seen(app)).not.toMatch(SECRET);
  });

  test("stays out of the record of a request that references an item", async () => {
    const app = open();
    const first = JSON.parse((await send(app, path, body, OFF)).text);
    const item = first.output.find(({ type }: { type: string }) => type === "message");
    const input = [
      { type: "item_reference", id: item.id },
      { type: "message", role: "user", content: "Go on." },
    ];
    await send(app, path, { model: MODEL, input });
    expect(await seen(app)).not.toMatch(SECRET);
  });

  test("stays out of the records of its conversation", async () => {
    const app = open();
    const conversation = idOf((await send(app, "/v1/conversations", {})).text);
    await send(app, path, { ...body, conversation }, OFF);
    await send(app, path, { model: MODEL, input: "Go on.", conversation });
    expect(await seen(app)).not.toMatch(SECRET);
    const other = await send(
      app,
      "/v1/conversations",
      { items: [{ type: "message", role: "user", content: "plover" }] },
      OFF,
    );
    await send(app, path, { model: MODEL, input: "Go on.", conversation: idOf(other.text) });
    expect(await seen(app, 2)).not.toMatch(SECRET);
  });

  test("is private in the background, whose turn begins when its request has been answered", async () => {
    const app = open();
    const { text } = await send(app, path, { ...body, background: true }, OFF);
    await eventually(async () => {
      const stored = await app.request(`${path}/${idOf(text)}`);
      expect(await stored.json()).toMatchObject({ status: "completed" });
    });
    expect(await seen(app)).not.toMatch(SECRET);
  });

  test("is private in a compaction", async () => {
    const app = open();
    const first = idOf((await send(app, path, body, OFF)).text);
    const { status } = await send(app, `${path}/compact`, {
      model: MODEL,
      previous_response_id: first,
    });
    expect(status).toBe(200);
    expect(await seen(app)).not.toMatch(SECRET);
  });
});

test("a key with record: false is listed without content, another key with it", async () => {
  const keys = [
    { name: "alice", sha256: hash("sha256", "key-of-alice"), record: false },
    { name: "bob", sha256: hash("sha256", "key-of-bob") },
  ];
  const app = open(ANSWER, { keys });
  for (const [path, body] of Object.values(APIS)) {
    await send(app, path, body, { authorization: "Bearer key-of-alice" });
  }
  expect(app.entries.map((entry) => entry.summary().tenant)).toEqual(["alice", "alice", "alice"]);
  expect(await seen(app)).not.toMatch(SECRET);
  const [path, body] = APIS.messages;
  await send(app, path, body, { "x-api-key": "key-of-bob" });
  expect(app.entries.at(-1)?.summary()).toMatchObject({ tenant: "bob", hasContent: true });
});

test.each(Object.entries(APIS))(
  "%s refuses another value of the header, on which its sender relies",
  async (_, [path, body]) => {
    const app = open();
    for (const value of ["false", "on", "none", ""]) {
      const { status, text } = await send(app, path, body, { "x-harmony-record": value });
      expect(status).toBe(400);
      expect(text).toContain(
        "The header x-harmony-record has the value off, or is left out: there is no other value.",
      );
    }
    expect(app.entries).toHaveLength(0);
    expect((await send(app, path, body, { "x-harmony-record": " OFF " })).status).toBe(200);
  },
);

test("what the vision model's server says of an image is not logged, even where content is", async () => {
  const error = JSON.stringify({ error: { message: "The image shows a plover." } });
  const vision = await startVisionServer(() => (response) => {
    response.writeHead(400, { "content-type": "application/json" }).end(error);
  });
  const settings = { ...vision.settings, log: "info", logContent: true };
  const gateway = await startTestGateway({ engine: scriptedEngine(() => ANSWER), settings });
  onTestFinished(() => gateway.close());
  const image_url = { url: `data:image/png;base64,${pngOf(1, 1)}` };
  const messages = [{ role: "user", content: [{ type: "image_url", image_url }] }];
  const response = await fetch(`${gateway.baseURL}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", ...OFF },
    body: JSON.stringify({ model: MODEL, messages }),
  });
  expect(await response.text()).toContain("plover");
  expect(gateway.logged).toContainEqual(
    expect.objectContaining({ event: "image not described", error: "bad-request", status: 400 }),
  );
  await eventually(() => {
    expect(gateway.logged.map(({ event }) => event)).toContain("turn");
  });
  expect(JSON.stringify(gateway.logged)).not.toMatch(SECRET);
});
