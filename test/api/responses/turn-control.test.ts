import { describe, expect, test } from "vitest";
import { z } from "zod";
import { EngineError } from "../../../src/index.ts";
import { appOf } from "../../helpers/app.ts";
import { testSettings } from "../../helpers/gateway.ts";
import { scriptedEngine, type Script } from "../../helpers/scripted-engine.ts";
import { errorBody } from "./schemas.ts";
import { MODEL, readEvents, responsesApp, SEALING_KEY } from "./support.ts";

const echoed = z.looseObject({
  reasoning: z.unknown().optional(),
  text: z.looseObject({ format: z.unknown() }).optional(),
});
const HI = "<|channel|>final<|message|>Hi.<|return|>";
const HEADERS = { "content-type": "application/json" };

/** A stream as Codex requests it. */
async function codexEvents(script: Script, body: object, contextLength?: number) {
  const engine = scriptedEngine([script, script]);
  const model = { id: MODEL, engine, layout: "reference" as const };
  const app = appOf(testSettings(), [{ ...model, ...(contextLength && { contextLength }) }], {
    randomId: () => "0",
  });
  const response = await app.request("/v1/responses", {
    method: "POST",
    headers: { ...HEADERS, originator: "codex_exec" },
    body: JSON.stringify({ model: MODEL, input: "Hi.", stream: true, ...body }),
  });
  return readEvents(response);
}

describe("generate: false", () => {
  test("samples nothing, and its id can be continued", async () => {
    const engine = scriptedEngine([HI]);
    const app = responsesApp({ engine });
    const input = [{ role: "developer", content: "Be brief." }];
    for (const ask of [app.create, app.stream]) {
      const first = await ask({ input, generate: false });
      expect(first).toMatchObject({ status: "completed", output: [] });
      expect(first.usage).toMatchObject({ output_tokens: 0 });
      expect(first.usage?.input_tokens).toBeGreaterThan(10);
    }
    expect(engine.requests).toEqual([]);
    const first = await app.create({ input, generate: false });
    await app.create({ previous_response_id: first.id, input: "Hello!" });
    expect(engine.prompts[0]).toContain("Be brief.<|end|><|start|>user<|message|>Hello!");
  });

  test("is checked like any other request", async () => {
    const app = responsesApp({ engine: scriptedEngine([]), contextLength: 8 });
    const body = { model: MODEL, input: "Hi.", generate: false };
    const response = await app.send("POST", "/v1/responses", body);
    expect(errorBody.parse(await response.json()).error.code).toBe("context_length_exceeded");
  });
});

test("reasoning.context all_turns is accepted, and the reasoning of the current turn is used", async () => {
  const app = responsesApp({ engine: scriptedEngine([HI]) });
  const { reasoning } = await app.create({ input: "Hi.", reasoning: { context: "all_turns" } });
  expect(reasoning).toMatchObject({ context: "current_turn" });
});

describe("a compaction trigger", () => {
  const TRIGGER = { type: "compaction_trigger" };
  const SUMMARY =
    "<|channel|>analysis<|message|>Sum up.<|end|><|start|>assistant<|channel|>final<|message|>They said hi.<|return|>";
  const settings = { sealingKeys: [SEALING_KEY] };
  const tools = [{ type: "function", name: "f" }];

  test.each(["create", "stream"] as const)("gives exactly one compaction item: %s", async (how) => {
    const engine = scriptedEngine([SUMMARY, HI]);
    const app = responsesApp({ engine, settings });
    const input = [{ role: "user", content: "Hi." }, TRIGGER];
    const body = { input, tools, max_output_tokens: 16, reasoning: { effort: "high" } };
    const { output, usage, reasoning } = await app[how](body);
    expect(output).toEqual([expect.objectContaining({ type: "compaction" })]);
    expect(usage?.output_tokens).toBeGreaterThan(0);
    expect(reasoning).toMatchObject({ effort: "low" });
    expect(engine.prompts[0]).toContain("Reasoning: low");
    expect(engine.prompts[0]).toContain("Summarize this conversation");
    expect(engine.prompts[0]).not.toContain("# Tools");

    await app.create({ input: [...output, { role: "user", content: "And now?" }], tools });
    expect(engine.prompts[1]).toContain("They said hi.<|end|><|start|>user<|message|>And now?");
  });

  test("continues a response by its id", async () => {
    const engine = scriptedEngine([HI, SUMMARY]);
    const app = responsesApp({ engine, settings });
    const { id } = await app.create({ input: "Hello!" });
    const { output } = await app.create({ previous_response_id: id, input: [TRIGGER] });
    expect(output).toHaveLength(1);
    expect(engine.prompts[1]).toContain("Hello!");
  });

  test("is refused anywhere but at the end", async () => {
    const app = responsesApp({ engine: scriptedEngine([HI]), settings });
    const input = [TRIGGER, { role: "user", content: "Hi." }];
    const response = await app.send("POST", "/v1/responses", { model: MODEL, input });
    expect(errorBody.parse(await response.json()).error.param).toBe("input[0]");
  });

  test("fails if its summary is incomplete", async () => {
    const engine = scriptedEngine([{ write: "<|channel|>final<|message|>They", finish: "length" }]);
    const { status, output } = await responsesApp({ engine, settings }).create({
      input: [{ role: "user", content: "Hi." }, TRIGGER],
    });
    expect({ status, output }).toEqual({ status: "failed", output: [] });
  });
});

describe("for Codex", () => {
  const STRICT = {
    type: "function",
    name: "f",
    strict: true,
    parameters: { type: "object", properties: { a: { type: "string" } }, required: ["a"] },
  };
  const WRONG = "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>";

  test("a failure of the model has a code that is not retried", async () => {
    const engine = scriptedEngine([WRONG, "{}<|call|>"]);
    const plain = await responsesApp({ engine }).create({ input: "Hi.", tools: [STRICT] });
    expect(plain.error?.code).toBe("model_error");
    const events = await codexEvents(WRONG, { tools: [STRICT] });
    expect(events.at(-1)).toMatchObject({
      type: "response.failed",
      response: { error: { code: "invalid_prompt", message: expect.stringContaining("schema") } },
    });
  });

  test("a full context has its own code, so that the next turn compacts", async () => {
    const script = { write: "<|channel|>final<|message|>Too long", finish: "length" } as const;
    const events = await codexEvents(script, {}, 4096);
    expect(events.at(-1)).toMatchObject({
      type: "response.failed",
      response: {
        error: {
          code: "context_length_exceeded",
          message: "The conversation and its answer do not fit into the model's context together.",
        },
      },
    });
    // A limit set by the request is intended.
    const limited = await codexEvents(script, { max_output_tokens: 100 }, 4096);
    expect(limited.at(-1)).toMatchObject({ type: "response.incomplete" });
  });

  test.each([
    [undefined, /Please try again in 5s\.$/],
    [2, /Please try again in 2s\.$/],
  ])("an engine that is busy within a stream says when to try again", async (retryAfter, words) => {
    const busy = new EngineError("overloaded", "busy", retryAfter ? { retryAfter } : {});
    const script = { write: "<|channel|>final<|message|>Hel", fail: busy };
    const events = await codexEvents(script, {});
    expect(events.at(-1)).toMatchObject({
      type: "response.failed",
      response: {
        error: { code: "rate_limit_exceeded", message: expect.stringMatching(words) },
      },
    });
  });
});

describe("configuration_update items", () => {
  const FORMAT = {
    type: "json_schema",
    name: "later",
    schema: { type: "object", properties: { a: { type: "integer" } }, required: ["a"] },
  };
  const user = (content: string) => ({ role: "user", content });
  const update = (fields: object) => ({ type: "configuration_update", ...fields });

  async function sent(input: readonly object[], fields: object = {}) {
    const engine = scriptedEngine(['<|channel|>final<|message|>{"a":1}<|return|>']);
    const app = responsesApp({ engine });
    const body = { model: MODEL, input, ...fields };
    const response = await app.send("POST", "/v1/responses", body);
    const reply = echoed.parse(await response.json());
    const effort = response.headers.get("x-harmony-reasoning-effort");
    return { reply, effort, status: response.status, prompt: engine.prompts[0] ?? "" };
  }

  test("the last effort holds, whatever the request's field says", async () => {
    const items = [
      user("A"),
      update({ reasoning: { effort: "low" } }),
      user("B"),
      update({ reasoning: { effort: "high" } }),
      user("C"),
      update({ text: { format: { type: "text" } } }),
    ];
    const { prompt, effort, reply } = await sent(items, { reasoning: { effort: "medium" } });
    expect(prompt).toContain("Reasoning: high");
    expect(effort).toBe("high");
    expect(reply.reasoning).toMatchObject({ effort: "high" });
  });

  test("so does the last format, and text ends it", async () => {
    const { prompt, reply } = await sent([user("A"), update({ text: { format: FORMAT } })]);
    expect(prompt).toContain("## later");
    expect(prompt).toContain('"a":{"type":"integer"}');
    expect(reply.text?.format).toMatchObject({ type: "json_schema", name: "later" });
    const plain = update({ text: { format: { type: "text" } } });
    const ended = await sent([user("A"), update({ text: { format: FORMAT } }), plain, user("B")]);
    expect(ended.prompt).not.toContain("## later");
  });

  test("an effort of tomorrow is the highest, and other members are skipped", async () => {
    const item = update({ reasoning: { effort: "ultra", mode: "x" }, tools: 5, id: null });
    expect(await sent([user("A"), item])).toMatchObject({ status: 200, effort: "high" });
    expect((await sent([user("A"), update({})])).status).toBe(200);
  });

  test("in a response that is continued", async () => {
    const engine = scriptedEngine([
      "<|channel|>final<|message|>1<|return|>",
      "<|channel|>final<|message|>2<|return|>",
    ]);
    const app = responsesApp({ engine });
    const input = [user("A"), update({ reasoning: { effort: "low" } })];
    const { id } = await app.create({ input });
    await app.create({ previous_response_id: id, input: "B" });
    expect(engine.prompts[1]).toContain("Reasoning: low");
    const items = await app.send("GET", `/v1/responses/${id}/input_items?order=asc`);
    expect(await items.json()).toMatchObject({
      data: [{ type: "message" }, { type: "configuration_update" }],
    });
  });

  test("a wrong one is the client's mistake", async () => {
    const { status } = await sent([
      user("A"),
      update({ text: { format: { type: "json_schema" } } }),
    ]);
    expect(status).toBe(400);
  });
});
