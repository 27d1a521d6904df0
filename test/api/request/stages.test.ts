/** Requests of megabytes yield to the event loop between the stages of reading them. Pauses are counted. */
import { describe, expect, test } from "vitest";
import { createStages } from "../../../src/api/request/stages.ts";
import { testSettings } from "../../helpers/gateway.ts";
import { scriptedEngine } from "../../helpers/scripted-engine.ts";
import { appOf } from "../../helpers/app.ts";

const LARGE = 100_001;

function* work(steps: number): Generator<void, string> {
  for (let step = 1; step < steps; step++) yield;
  return "done";
}

function countedPause() {
  let pauses = 0;
  return {
    pause: async () => {
      pauses++;
    },
    get pauses() {
      return pauses;
    },
  };
}

describe("the stages of a request", () => {
  test("are one for an ordinary request", () => {
    const counted = countedPause();
    const stages = createStages(1000, counted.pause);
    expect(stages.next()).toBeUndefined();
    expect(stages.run(work(5))).toBe("done");
    expect(counted.pauses).toBe(0);
  });

  test("of a large one have a pause after each", async () => {
    const counted = countedPause();
    const stages = createStages(LARGE, counted.pause);
    await stages.next();
    expect(counted.pauses).toBe(1);
    expect(await stages.run(work(5))).toBe("done");
    expect(counted.pauses).toBe(6);
  });
});

const schema = (properties: number) => ({
  type: "object",
  properties: Object.fromEntries(
    Array.from({ length: properties }, (_, at) => [`property${at}`, { type: "string" }]),
  ),
});

const chatTool = (properties: number) => ({
  type: "function",
  function: { name: "f", strict: true, parameters: schema(properties) },
});
const responsesTool = (properties: number) => ({
  type: "function",
  name: "f",
  strict: true,
  parameters: schema(properties),
});
const messages = [{ role: "user", content: "hi" }];
const model = "openai/gpt-oss-20b";

/** Number of pauses of a request. Its prompt exceeds the context, so it never reaches the engine. */
async function pausesOf(path: string, body: object): Promise<number> {
  const counted = countedPause();
  const served = { id: model, engine: scriptedEngine([]), contextLength: 10 };
  const app = appOf(testSettings({}), [served], { pause: counted.pause });
  const response = await app.request(path, { method: "POST", body: JSON.stringify(body) });
  expect(await response.text()).toMatch(/maximum context length|"input_tokens":\d/);
  return counted.pauses;
}

describe("reading a request", () => {
  // Before and after the schema of the body, and before it is parsed where it is only text; after reading the tools, before and
  // after compiling them.
  test.each([
    ["/v1/chat/completions", { messages, tools: [chatTool(4000)] }, 5],
    ["/v1/responses", { model, input: "hi", tools: [responsesTool(4000)], store: false }, 7],
    ["/v1/responses/input_tokens", { model, input: "hi", tools: [responsesTool(4000)] }, 7],
  ])("of 150 KB takes stages: %s", async (path, body, stages) => {
    expect(JSON.stringify(body).length).toBeGreaterThan(LARGE);
    expect(await pausesOf(path, body)).toBe(stages);
  });

  test.each([
    ["/v1/chat/completions", { messages, tools: [chatTool(100)] }],
    ["/v1/responses", { model, input: "hi", tools: [responsesTool(100)], store: false }],
    ["/v1/responses/input_tokens", { model, input: "hi", tools: [responsesTool(100)] }],
  ])("of ordinary size takes none: %s", async (path, body) => {
    expect(await pausesOf(path, body)).toBe(0);
  });
});
