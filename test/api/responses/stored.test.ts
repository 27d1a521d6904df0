import { hash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { createMemoryStore, type Store } from "../../../src/index.ts";
import { StoreRefusal } from "../../../src/store/store-error.ts";
import { scriptedEngine } from "../../helpers/scripted-engine.ts";
import { errorBody, responseObject } from "./schemas.ts";
import { MODEL, type ResponsesApp, responsesApp } from "./support.ts";

const ANALYSIS = "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant";
const answer = (text: string) => `${ANALYSIS}<|channel|>final<|message|>${text}<|return|>`;
const CALL = `${ANALYSIS}<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>`;

const NOW = 1_800_000_000_000;

const list = z.strictObject({
  object: z.literal("list"),
  data: z.array(z.looseObject({ id: z.string(), type: z.string() })),
  first_id: z.string().nullable(),
  last_id: z.string().nullable(),
  has_more: z.boolean(),
});

function memoryStore(now: () => number = Date.now): Store {
  return createMemoryStore({ maxEntries: 1000, maxBytes: 10_000_000, now });
}

async function errorOf(response: Response) {
  return { status: response.status, ...errorBody.parse(await response.json()).error };
}

describe("a stored response", () => {
  test("is returned as it was created", async () => {
    const app = responsesApp({ engine: scriptedEngine([answer("Hi."), answer("Hi.")]) });
    for (const ask of [app.create, app.stream]) {
      const made = await ask({ input: "Hello!", metadata: { a: "b" } });
      const read = await app.send("GET", `/v1/responses/${made.id}`);
      expect(responseObject.parse(await read.json())).toEqual(made);
    }
  });

  test("is read back without reasoning text if the policy hides it", async () => {
    const app = responsesApp({
      engine: scriptedEngine([answer("Hi.")]),
      settings: { reasoningPolicy: "none" },
    });
    const made = await app.create({ input: "Hello!" });
    const read = await app.send("GET", `/v1/responses/${made.id}`);
    expect(await read.json()).toEqual(made);
  });

  test("lists its input, every item with an id, the newest first", async () => {
    const app = responsesApp({ engine: scriptedEngine([answer("Hi.")]) });
    const made = await app.create({
      input: [
        { role: "user", content: "One" },
        { type: "message", id: "msg_mine", role: "assistant", content: "Two" },
        { role: "user", content: [{ type: "input_text", text: "Three" }] },
      ],
    });
    const items = async (query: string) =>
      list.parse(
        await (await app.send("GET", `/v1/responses/${made.id}/input_items${query}`)).json(),
      );
    const all = await items("");
    expect(all).toEqual({
      object: "list",
      data: [
        {
          id: expect.stringMatching(/^msg_/),
          type: "message",
          status: "completed",
          role: "user",
          content: [{ type: "input_text", text: "Three" }],
        },
        {
          id: "msg_mine",
          type: "message",
          status: "completed",
          role: "assistant",
          content: [{ type: "output_text", text: "Two", annotations: [], logprobs: [] }],
        },
        {
          id: expect.stringMatching(/^msg_/),
          type: "message",
          status: "completed",
          role: "user",
          content: [{ type: "input_text", text: "One" }],
        },
      ],
      first_id: all.data[0]?.id,
      last_id: all.data[2]?.id,
      has_more: false,
    });
    const ids = all.data.map(({ id }) => id);
    expect(new Set(ids).size).toBe(3);

    const oldest = await items("?order=asc&limit=2");
    expect(oldest).toMatchObject({
      data: [{ id: ids[2] }, { id: ids[1] }],
      first_id: ids[2],
      last_id: ids[1],
      has_more: true,
    });
    expect(await items(`?order=asc&after=${oldest.last_id}`)).toMatchObject({
      data: [{ id: ids[0] }],
      has_more: false,
    });
    const wrong = await app.send("GET", `/v1/responses/${made.id}/input_items?limit=1000`);
    expect(await errorOf(wrong)).toMatchObject({ status: 400, param: "limit" });
  });

  test("cannot be read, continued or referenced after it is deleted", async () => {
    const app = responsesApp({ engine: scriptedEngine([answer("Hi.")]) });
    const made = await app.create({ input: "Hello!" });
    const path = `/v1/responses/${made.id}`;
    expect(await (await app.send("DELETE", path)).json()).toEqual({
      id: made.id,
      object: "response",
      deleted: true,
    });
    for (const [method, end] of [
      ["GET", ""],
      ["DELETE", ""],
      ["GET", "/input_items"],
      ["POST", "/cancel"],
    ] as const) {
      expect(await errorOf(await app.send(method, path + end))).toMatchObject({
        status: 404,
        type: "not_found",
        code: "response_not_found",
      });
    }
    await expectForgotten(app, made.id, made.output[0]?.id);
  });

  test("is not stored if store is false", async () => {
    const app = responsesApp({ engine: scriptedEngine([answer("Hi.")]) });
    const made = await app.create({ input: "Hello!", store: false });
    expect((await app.send("GET", `/v1/responses/${made.id}`)).status).toBe(404);
    await expectForgotten(app, made.id, made.output[0]?.id);
  });

  test("expires", async () => {
    let now = NOW;
    const store = memoryStore(() => now);
    const app = responsesApp({
      engine: scriptedEngine([answer("Hi.")]),
      store,
      settings: { storeTtlSeconds: 60 },
    });
    const made = await app.create({ input: "Hello!" });
    now = NOW + 59_000;
    expect((await app.send("GET", `/v1/responses/${made.id}`)).status).toBe(200);
    now = NOW + 61_000;
    expect((await app.send("GET", `/v1/responses/${made.id}`)).status).toBe(404);
  });

  test("cannot be cancelled or followed unless it is a background response", async () => {
    const app = responsesApp({ engine: scriptedEngine([answer("Hi.")]) });
    const made = await app.create({ input: "Hello!" });
    const path = `/v1/responses/${made.id}`;
    expect((await app.send("POST", `${path}/cancel`)).status).toBe(400);
    expect((await app.send("GET", `${path}?stream=true`)).status).toBe(400);
  });
});

async function expectForgotten(app: ResponsesApp, id: string, itemId = ""): Promise<void> {
  const continued = { model: MODEL, input: "And?", previous_response_id: id };
  expect(await errorOf(await app.send("POST", "/v1/responses", continued))).toMatchObject({
    status: 400,
    code: "previous_response_not_found",
  });
  const referring = { model: MODEL, input: [{ type: "item_reference", id: itemId }] };
  expect(await errorOf(await app.send("POST", "/v1/responses", referring))).toMatchObject({
    status: 404,
    code: "item_not_found",
  });
}

test.each([undefined, null, "item_reference"])(
  "an item is referred to by its id with the type %s",
  async (type) => {
    const engine = scriptedEngine([answer("Hello."), answer("Bye.")]);
    const app = responsesApp({ engine });
    const { output } = await app.create({ input: "Hi!" });
    const id = output.find((item) => item.type === "message")?.id;
    await app.create({
      input: [
        { id, type },
        { role: "user", content: "And?" },
      ],
    });
    expect(engine.prompts[1]).toContain("<|channel|>final<|message|>Hello.<|end|>");
  },
);

describe("a response continued by its id", () => {
  const TOOLS = [{ type: "function", name: "f" }];

  test("has everything before it in its prompt, in order, and no instructions or tools", async () => {
    const engine = scriptedEngine([CALL, answer("Done."), answer("Bye.")]);
    const app = responsesApp({ engine });
    const first = await app.create({ input: "Go.", instructions: "Be brief.", tools: TOOLS });
    const call = first.output.find((item) => item.type === "function_call");
    const second = await app.create({
      previous_response_id: first.id,
      input: [{ type: "function_call_output", call_id: call?.call_id, output: "ok" }],
      tools: TOOLS,
    });
    expect(second.previous_response_id).toBe(first.id);
    expect(second.instructions).toBeNull();
    await app.create({ previous_response_id: second.id, input: "Bye?" });
    const bodies = engine.prompts.map((prompt) =>
      prompt.replace(/^<\|start\|>system.*?<\|end\|>/s, ""),
    );
    const user = (text: string) => `<|start|>user<|message|>${text}<|end|>`;
    const exchange =
      "<|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>" +
      "<|start|>functions.f to=assistant<|channel|>commentary<|message|>ok<|end|>";
    const reasoning = "<|start|>assistant<|channel|>analysis<|message|>Hm.<|end|>";
    expect(bodies[1]).toContain(`<|end|>${user("Go.")}${reasoning}${exchange}<|start|>assistant`);
    expect(bodies[1]).not.toContain("Be brief.");
    expect(bodies[2]).toBe(
      `${user("Go.")}${exchange}<|start|>assistant<|channel|>final<|message|>Done.<|end|>` +
        `${user("Bye?")}<|start|>assistant`,
    );
  });

  test("can be continued twice, each time on its own", async () => {
    const engine = scriptedEngine(Array.from({ length: 4 }, (_, n) => answer(`answer ${n}`)));
    const app = responsesApp({ engine });
    const root = await app.create({ input: "root" });
    await app.create({ input: "left", previous_response_id: root.id });
    await app.create({ input: "right", previous_response_id: root.id });
    expect(engine.prompts[2]).toContain("root");
    expect(engine.prompts[2]).not.toContain("left");
  });

  test("can be continued without input", async () => {
    const engine = scriptedEngine([answer("One."), answer("Two.")]);
    const app = responsesApp({ engine });
    const first = await app.create({ input: "Go." });
    expect((await app.create({ previous_response_id: first.id })).status).toBe("completed");
  });

  test("expires after its last continuation, not after its oldest turn", async () => {
    let now = NOW;
    const engine = scriptedEngine((_, turn) => answer(`answer ${turn}`));
    const app = responsesApp({
      engine,
      store: memoryStore(() => now),
      now: () => now,
      settings: { storeTtlSeconds: 100 },
    });
    let previous = (await app.create({ input: "turn 0" })).id;
    for (let turn = 1; turn <= 6; turn++) {
      now += 40_000;
      previous = (await app.create({ input: `turn ${turn}`, previous_response_id: previous })).id;
    }
    for (let turn = 0; turn <= 6; turn++) expect(engine.prompts.at(-1)).toContain(`turn ${turn}`);
  });

  test("expires after its last continuation, even if the clock of the first gateway was far ahead", async () => {
    let now = NOW;
    const store = memoryStore(() => now);
    const settings = { storeTtlSeconds: 100 };
    const ahead = responsesApp({
      engine: scriptedEngine([answer("Hi.")]),
      store,
      now: () => now + 86_400_000,
      settings,
    });
    const engine = scriptedEngine((_, turn) => answer(`answer ${turn}`));
    const app = responsesApp({ engine, store, now: () => now, settings });
    let previous = (await ahead.create({ input: "turn 0" })).id;
    for (let turn = 1; turn <= 6; turn++) {
      now += 40_000;
      previous = (await app.create({ input: `turn ${turn}`, previous_response_id: previous })).id;
    }
    for (let turn = 0; turn <= 6; turn++) expect(engine.prompts.at(-1)).toContain(`turn ${turn}`);
  });

  test("can be continued while the store can only be read", async () => {
    let now = NOW;
    const memory = memoryStore(() => now);
    const state = { isFull: false };
    const store: Store = {
      ...memory,
      set: async (...entry) => {
        if (state.isFull) throw new StoreRefusal("OOM", "it answered: OOM");
        return memory.set(...entry);
      },
    };
    const app = responsesApp({
      engine: scriptedEngine((_, turn) => answer(`answer ${turn}`)),
      store,
      now: () => now,
      settings: { storeTtlSeconds: 100 },
    });
    const first = await app.create({ input: "turn 0" });
    const { id } = await app.create({ input: "turn 1", previous_response_id: first.id });
    now += 60_000;
    state.isFull = true;
    const next = { input: "turn 2", previous_response_id: id, store: false };
    expect((await app.create(next)).status).toBe("completed");
  });

  test("is found by another gateway with the same store, even after the first has stopped", async () => {
    const store = memoryStore();
    const one = responsesApp({ engine: scriptedEngine([answer("Hi.")]), store });
    const made = await one.create({ input: "Remember 42." });
    const engine = scriptedEngine([answer("42.")]);
    const other = responsesApp({ engine, store });
    expect(await (await other.send("GET", `/v1/responses/${made.id}`)).json()).toEqual(made);
    await other.create({ input: "What was it?", previous_response_id: made.id });
    expect(engine.prompts[0]).toContain("Remember 42.");
  });
});

describe("tenants", () => {
  test("never see, continue, list, cancel or delete each other's responses and conversations", async () => {
    const keys = [`alice:${hash("sha256", "a")}`, `bob:${hash("sha256", "b")}`];
    const app = responsesApp({ engine: scriptedEngine([answer("Hi.")]), settings: { keys } });
    const made = await app.create({ input: "Hello!" }, "a");
    const conversation = await (await app.send("POST", "/v1/conversations", {}, "a")).json();
    const { id } = z.object({ id: z.string() }).parse(conversation);
    for (const [method, path] of [
      ["GET", `/v1/responses/${made.id}`],
      ["GET", `/v1/responses/${made.id}?stream=true`],
      ["GET", `/v1/responses/${made.id}/input_items`],
      ["POST", `/v1/responses/${made.id}/cancel`],
      ["DELETE", `/v1/responses/${made.id}`],
      ["GET", `/v1/conversations/${id}`],
      ["GET", `/v1/conversations/${id}/items`],
      ["DELETE", `/v1/conversations/${id}`],
    ] as const) {
      expect((await app.send(method, path, undefined, "b")).status).toBe(404);
    }
    const using = { model: MODEL, input: "Hi", conversation: id };
    expect((await app.send("POST", "/v1/responses", using, "b")).status).toBe(404);
    expect((await app.send("GET", `/v1/responses/${made.id}`, undefined, "a")).status).toBe(200);
    expect((await app.send("GET", `/v1/conversations/${id}`, undefined, "a")).status).toBe(200);
  });

  test("in any order on one store, each prompt contains one client's text only", async () => {
    const names = ["ada", "bea", "cyd"];
    const keys = names.map((name) => `${name}:${hash("sha256", name)}`);
    const engine = scriptedEngine((request, call) => {
      void request;
      return answer(`answer ${call}`);
    });
    const app = responsesApp({ engine, settings: { keys } });
    // Each holds a chain of five turns; all chains run at once.
    await Promise.all(
      names.map(async (name) => {
        let previous: string | undefined;
        for (let turn = 0; turn < 5; turn++) {
          const ask = turn % 2 === 0 ? app.create : app.stream;
          const made = await ask(
            {
              input: `${name} says ${turn}`,
              ...(previous !== undefined && { previous_response_id: previous }),
            },
            name,
          );
          previous = made.id;
        }
      }),
    );
    expect(engine.prompts.length).toBe(15);
    const said = engine.prompts.map((prompt) => [...prompt.matchAll(/(\w+) says (\d)/g)]);
    for (const words of said) {
      expect(new Set(words.map(([, name]) => name)).size).toBe(1);
      expect(words.map(([, , turn]) => Number(turn))).toEqual(words.map((_, index) => index));
    }
  });
});

describe("input_tokens", () => {
  test("counts what a response with the same request uses", async () => {
    const engine = scriptedEngine([answer("Hi."), answer("Hi.")]);
    const app = responsesApp({ engine });
    const first = await app.create({ input: "Hello!" });
    for (const body of [
      { input: "Hello!" },
      { input: "And?", previous_response_id: first.id, instructions: "Be brief." },
      {
        input: [{ role: "user", content: "Go." }],
        tools: [{ type: "function", name: "f", parameters: { type: "object" } }],
        reasoning: { effort: "high" },
      },
    ]) {
      const counted = await app.send("POST", "/v1/responses/input_tokens", {
        model: MODEL,
        ...body,
      });
      const fresh = responsesApp({ engine: scriptedEngine([answer("Hi.")]) });
      const used = "previous_response_id" in body ? app : fresh;
      const { usage } = await used.create(body);
      expect(await counted.json()).toEqual({
        object: "response.input_tokens",
        input_tokens: usage?.input_tokens,
      });
    }
  });

  const functions = ["f", "g"].map((name) => ({ type: "function", name, parameters: {} }));
  const none = { effort: "none" };

  test.each([
    ["an answer", { reasoning: none }, ["Hi.<|return|>"]],
    [
      "a document",
      { reasoning: none, text: { format: { type: "json_object" } } },
      ["{}<|return|>"],
    ],
    [
      "an empty reasoning item",
      { reasoning: none, tools: functions },
      ["<|channel|>final<|message|>Hi.<|return|>"],
    ],
    [
      "a reasoning item",
      { tools: functions.slice(0, 1), tool_choice: "required" },
      ["Hm.<|end|>", "{}<|call|>"],
    ],
    [
      "a call",
      { reasoning: none, tools: functions.slice(0, 1), tool_choice: "required" },
      ["{}<|call|>"],
    ],
    [
      "a choice of functions",
      { reasoning: none, tools: functions, tool_choice: "required" },
      [".f<|channel|>", "{}<|call|>"],
    ],
  ])("counts the header that is opened: of %s", async (_, body, scripts) => {
    const app = responsesApp({ engine: scriptedEngine(scripts) });
    const request = { model: MODEL, input: "Go.", ...body };
    const counted = await app.send("POST", "/v1/responses/input_tokens", request);
    const { usage } = await app.create(request);
    expect(await counted.json()).toMatchObject({ input_tokens: usage?.input_tokens });
  });

  test("refuses what a response would refuse", async () => {
    const app = responsesApp({ engine: scriptedEngine([]) });
    const wrong = await app.send("POST", "/v1/responses/input_tokens", { input: 5 });
    expect(await errorOf(wrong)).toMatchObject({ status: 400, param: "input" });
  });
});

const compacted = z.strictObject({
  id: z.string(),
  object: z.literal("response.compaction"),
  created_at: z.int(),
  output: z.array(z.looseObject({ type: z.string() })),
  usage: responseObject.shape.usage,
});

describe("compact", () => {
  const history = [
    { role: "developer", content: "Be brief." },
    { role: "user", content: "Remember 42." },
    { role: "assistant", content: "I will." },
  ];

  test("replaces a conversation by an encrypted summary, from which it continues", async () => {
    const engine = scriptedEngine([answer("The user wants 42 remembered."), answer("42.")]);
    const app = responsesApp({ engine });
    const response = await app.send("POST", "/v1/responses/compact", {
      model: MODEL,
      input: history,
      instructions: "Be kind.",
    });
    expect(response.status).toBe(200);
    const { output } = compacted.parse(await response.json());
    expect(output).toMatchObject([
      {
        type: "message",
        status: "completed",
        role: "developer",
        content: [{ type: "input_text", text: "Be brief." }],
      },
      {
        type: "message",
        status: "completed",
        role: "user",
        content: [{ type: "input_text", text: "Remember 42." }],
      },
      {
        type: "compaction",
        id: expect.stringMatching(/^cmp_/),
        encrypted_content: expect.any(String),
      },
    ]);
    expect(JSON.stringify(output)).not.toContain("42 remembered");
    expect(engine.prompts[0]).toContain("Be kind.");
    expect(engine.prompts[0]).toContain("Remember 42.");

    await app.create({ input: [...output, { role: "user", content: "What was it?" }] });
    expect(engine.prompts[1]).toContain("# Instructions\n\nBe brief.<|end|>");
    expect(engine.prompts[1]).toContain(
      "<|start|>user<|message|>Remember 42.<|end|>" +
        "<|start|>user<|message|>Summary of the conversation so far:\n\nThe user wants 42 remembered.<|end|>" +
        "<|start|>user<|message|>What was it?<|end|>",
    );
    expect(engine.prompts[1]).not.toContain("I will.");
  });

  test("can compact what it has compacted, and a stored conversation", async () => {
    const engine = scriptedEngine([answer("Hi."), answer("First."), answer("Second.")]);
    const app = responsesApp({ engine });
    const made = await app.create({ input: "Hello!" });
    const once = await app.send("POST", "/v1/responses/compact", {
      model: MODEL,
      previous_response_id: made.id,
    });
    const { output } = compacted.parse(await once.json());
    expect(engine.prompts[1]).toContain("Hello!");
    await app.send("POST", "/v1/responses/compact", { model: MODEL, input: output });
    expect(engine.prompts[2]).toContain("Summary of the conversation so far:\n\nFirst.");
  });

  test("needs a model", async () => {
    const app = responsesApp({ engine: scriptedEngine([]) });
    const response = await app.send("POST", "/v1/responses/compact", { input: history });
    expect(await errorOf(response)).toMatchObject({ status: 400, param: "model" });
  });

  test.each([
    ["cut", { write: answer("Half a"), finish: "length" as const }],
    ["empty", "<|channel|>final<|message|> <|return|>"],
  ])("does not pass on a summary that is %s", async (_, script) => {
    const app = responsesApp({ engine: scriptedEngine([script, script]) });
    const response = await app.send("POST", "/v1/responses/compact", {
      model: MODEL,
      input: history,
    });
    expect(await errorOf(response)).toMatchObject({
      status: 502,
      type: "model_error",
      code: "model_error",
    });
  });

  test("cannot be read by another key", async () => {
    const keys = [`alice:${hash("sha256", "a")}`, `bob:${hash("sha256", "b")}`];
    const app = responsesApp({ engine: scriptedEngine([answer("Sum.")]), settings: { keys } });
    const body = { model: MODEL, input: history };
    const response = await app.send("POST", "/v1/responses/compact", body, "a");
    const { output } = compacted.parse(await response.json());
    const foreign = await app.send("POST", "/v1/responses", { model: MODEL, input: output }, "b");
    expect(await errorOf(foreign)).toMatchObject({
      status: 400,
      code: "invalid_encrypted_content",
    });
  });
});

describe("conversations", () => {
  const conversation = z.strictObject({
    id: z.string().regex(/^conv_/),
    object: z.literal("conversation"),
    created_at: z.int(),
    metadata: z.record(z.string(), z.string()),
  });

  test("are created, read, changed and deleted", async () => {
    const app = responsesApp({ engine: scriptedEngine([]) });
    const made = conversation.parse(
      await (await app.send("POST", "/v1/conversations", { metadata: { a: "b" } })).json(),
    );
    expect(made.metadata).toEqual({ a: "b" });
    const path = `/v1/conversations/${made.id}`;
    expect(await (await app.send("GET", path)).json()).toEqual(made);
    const changed = await app.send("POST", path, { metadata: { c: "d" } });
    expect(await changed.json()).toEqual({ ...made, metadata: { c: "d" } });
    expect(await (await app.send("DELETE", path)).json()).toEqual({
      id: made.id,
      object: "conversation.deleted",
      deleted: true,
    });
    for (const method of ["GET", "DELETE"]) {
      expect(await errorOf(await app.send(method, path))).toMatchObject({
        status: 404,
        code: "conversation_not_found",
      });
    }
  });

  test("hold items, which are listed, read and deleted one by one", async () => {
    const app = responsesApp({ engine: scriptedEngine([]) });
    const items = [{ role: "user", content: "One" }];
    const { id } = conversation.parse(
      await (await app.send("POST", "/v1/conversations", { items })).json(),
    );
    const path = `/v1/conversations/${id}/items`;
    const added = list.parse(
      await (await app.send("POST", path, { items: [{ role: "user", content: "Two" }] })).json(),
    );
    expect(added.data).toMatchObject([{ content: [{ type: "input_text", text: "Two" }] }]);
    const all = list.parse(await (await app.send("GET", `${path}?order=asc`)).json());
    expect(all.data.map(({ content }) => content)).toEqual([
      [{ type: "input_text", text: "One" }],
      [{ type: "input_text", text: "Two" }],
    ]);
    const [first] = all.data;
    expect(await (await app.send("GET", `${path}/${first?.id}`)).json()).toEqual(first);
    expect((await app.send("DELETE", `${path}/${first?.id}`)).status).toBe(200);
    expect((await app.send("GET", `${path}/${first?.id}`)).status).toBe(404);
    expect((await app.send("DELETE", `${path}/${first?.id}`)).status).toBe(404);
    const left = list.parse(await (await app.send("GET", path)).json());
    expect(left.data).toEqual(added.data);
    const behind = await app.send("GET", `${path}?order=asc&after=${first?.id}`);
    expect(await errorOf(behind)).toMatchObject({
      status: 400,
      param: "after",
      message: `after: the list has no item "${first?.id}"`,
    });
  });

  test("are continued and extended by responses, including reasoning", async () => {
    const engine = scriptedEngine([CALL, answer("Done."), answer("Bye.")]);
    const app = responsesApp({ engine });
    const items = [{ role: "user", content: "My name is Ada." }];
    const { id } = conversation.parse(
      await (await app.send("POST", "/v1/conversations", { items })).json(),
    );
    const tools = [{ type: "function", name: "f" }];
    const first = await app.create({ conversation: id, input: "Go.", tools });
    expect(first.conversation).toEqual({ id });
    const call = first.output.find((item) => item.type === "function_call");
    await app.stream({
      conversation: { id },
      input: [{ type: "function_call_output", call_id: call?.call_id, output: "ok" }],
      tools,
    });
    expect(engine.prompts[1]).toContain("My name is Ada.");
    expect(engine.prompts[1]).toContain("<|channel|>analysis<|message|>Hm.<|end|>");
    await app.create({ conversation: id, input: "Bye?" });
    expect(engine.prompts[2]).toContain("<|channel|>final<|message|>Done.<|end|>");
    const all = list.parse(
      await (await app.send("GET", `/v1/conversations/${id}/items?limit=100&order=asc`)).json(),
    );
    expect(all.data.map(({ type }) => type)).toEqual([
      "message",
      "message",
      "reasoning",
      "function_call",
      "function_call_output",
      "reasoning",
      "message",
      "message",
      "reasoning",
      "message",
    ]);
  });

  test("lose nothing when several responses extend one at the same time", async () => {
    const app = responsesApp({ engine: scriptedEngine((_, call) => answer(`answer ${call}`)) });
    const { id } = conversation.parse(await (await app.send("POST", "/v1/conversations")).json());
    await Promise.all(
      Array.from({ length: 8 }, (_, n) => app.create({ conversation: id, input: `question ${n}` })),
    );
    const all = list.parse(
      await (await app.send("GET", `/v1/conversations/${id}/items?limit=100`)).json(),
    );
    expect(all.data.length).toBe(24);
  });
});
