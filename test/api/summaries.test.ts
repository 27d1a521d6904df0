/** Summaries of the reasoning: the promises that hold on each API that has them, and then the forms of each. */
import { describe, expect, test } from "vitest";
import { type CompletionRequest, EngineError } from "../../src/index.ts";
import { o200kHarmony } from "../../src/tokenizer/index.ts";
import { createBrowsingApp } from "../helpers/browsing-app.ts";
import { readChatMessage, responsesReply } from "../helpers/replies.ts";
import { type Script, scriptedEngine } from "../helpers/scripted-engine.ts";
import { analysisIn, forgetful, loopScripts, runLoop, STEP_TOOL } from "../helpers/tool-loop.ts";
import { chat, type Client, messages, responses } from "../never-silently-wrong/clients.ts";
import { consume } from "./responses/consumer.ts";
import { readEvents, responsesApp } from "./responses/support.ts";

const ANALYSIS = "I wonder which of the two is larger. ".repeat(10).trim();
const TURN = `<|channel|>analysis<|message|>${ANALYSIS}<|end|><|start|>assistant<|channel|>final<|message|>Hi.<|return|>`;
const SUMMARY = "**Comparing**\n\nTwo things are compared.";
const ENABLED = { reasoningSummaries: true };
const INSTEAD = { ...ENABLED, reasoningPolicy: "summary" };
const ASKED = { reasoning: { summary: "auto" } };
const HI = [{ type: "user", text: "Hi." }] as const;

const isSummary = ({ prompt }: CompletionRequest) =>
  o200kHarmony().decode(prompt.ids).includes("Summarize the reasoning");

function engineWith(summary: Script, turns: readonly Script[] = []) {
  const rest = [...turns];
  return scriptedEngine((request) => (isSummary(request) ? summary : (rest.shift() ?? TURN)));
}

/** The client's reply, and the engine's requests. */
async function ask(
  { path, toBody }: Client,
  fields: object,
  settings: object,
  summary: Script = `${SUMMARY}<|return|>`,
) {
  const engine = engineWith(summary);
  const { post } = createBrowsingApp({ engine, toolbox: {}, settings: { ...settings } });
  const response = await post(path, { ...toBody(HI), ...fields });
  expect(response.status).toBe(200);
  return { engine, response, reply: await readWhole(response.clone(), path) };
}

/** The reply as JSON; a stream is collected. */
async function readWhole(response: Response, path: string): Promise<string> {
  if (path === chat.path) return JSON.stringify(await readChatMessage(response));
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") ?? false;
  return isStream ? JSON.stringify(consume(await readEvents(response))) : response.text();
}

describe.each([chat, responses])("$name", (client) => {
  describe.each([{ stream: false }, { stream: true }])("a summary, %o", (how) => {
    const asked = { ...how, ...ASKED };

    test("is made of the reasoning when requested, and returned beside it", async () => {
      const { engine, reply } = await ask(client, asked, ENABLED);
      expect(reply).toContain("Comparing");
      expect(reply).toContain("I wonder");
      expect(engine.requests).toHaveLength(2);
      expect(engine.requests[1]?.maxTokens).toBeLessThanOrEqual(192);
      expect(engine.prompts[1]).toContain("Reasoning: low");
      expect(engine.prompts[1]).toContain(ANALYSIS);
    });

    test("replaces the reasoning with the policy `summary`", async () => {
      const { reply } = await ask(client, how, INSTEAD);
      expect(reply).toContain("Comparing");
      expect(reply).not.toContain("I wonder");
    });

    test.each<[string, Script]>([
      ["fails", { refuse: new EngineError("overloaded", "busy") }],
      ["is empty", "<|return|>"],
    ])("that %s is left out, and the reasoning is not shown instead", async (_, summary) => {
      const { reply } = await ask(client, how, INSTEAD, summary);
      expect(reply).toContain("Hi.");
      expect(reply).not.toMatch(/I wonder|reasoning\.summary"|summary_text/);
    });

    test.each<[string, object, object]>([
      ["the operator has not enabled them", {}, asked],
      ["nobody asks", ENABLED, how],
      ["the client may not see any", { ...ENABLED, reasoningPolicy: "none" }, asked],
    ])("costs nothing when %s", async (_, settings, fields) => {
      const { engine, reply } = await ask(client, fields, settings);
      expect(reply).not.toContain("Comparing");
      expect(engine.requests).toHaveLength(1);
    });
  });

  test("a summary that is no text is refused", async () => {
    const { post } = createBrowsingApp({ engine: engineWith(SUMMARY), settings: ENABLED });
    const response = await post(client.path, { ...client.toBody(HI), reasoning: { summary: 1 } });
    expect(response.status).toBe(400);
    expect(await response.text()).toContain("reasoning.summary");
  });
});

test("Messages, which has no place for a summary, shows no reasoning with the policy `summary`", async () => {
  const { reply } = await ask(messages, { thinking: undefined }, INSTEAD);
  expect(reply).toContain("Hi.");
  expect(reply).not.toContain("I wonder");
});

describe("Chat Completions", () => {
  const detail = (index: number) => ({
    type: "reasoning.summary",
    summary: SUMMARY,
    id: "harmony_summary_0",
    format: "unknown",
    index,
  });

  test.each([{ stream: false }, { stream: true }])("is a detail of its own, %o", async (how) => {
    const both = await readChatMessage((await ask(chat, { ...how, ...ASKED }, ENABLED)).response);
    expect(both).toMatchObject({ reasoning: ANALYSIS, content: "Hi." });
    expect(both.reasoning_details).toEqual([
      { type: "reasoning.text", text: ANALYSIS, format: "unknown", index: 0 },
      detail(1),
    ]);
    const alone = await readChatMessage((await ask(chat, how, INSTEAD)).response);
    expect(alone.reasoning_details).toEqual([detail(0)]);
    const none = await readChatMessage((await ask(chat, how, INSTEAD, "<|return|>")).response);
    expect(none.reasoning_details).toBeUndefined();
  });

  test.each([false, true])("costs nothing when the reasoning is excluded", async (stream) => {
    const fields = { stream, reasoning: { summary: "auto", exclude: true } };
    const { engine, reply } = await ask(chat, fields, ENABLED);
    expect(reply).not.toContain("Comparing");
    expect(engine.requests).toHaveLength(1);
  });

  test("a summary that is sent back does not replace the reasoning in the prompt", async () => {
    const engine = engineWith(SUMMARY, loopScripts(ANALYSIS));
    const { post } = createBrowsingApp({ engine, toolbox: {}, settings: INSTEAD });
    const { outcomes } = await runLoop((body) => post(chat.path, body), {
      remember: (reply) => ({ ...forgetful(reply), reasoning_details: reply.reasoning_details }),
      body: { tools: [STEP_TOOL] },
    });
    expect(outcomes).toEqual([null, "stored", "stored", "stored"]);
    const last = engine.prompts.findLast((prompt) => !prompt.includes("Summarize the reasoning"));
    expect(analysisIn(last)).toEqual([1, 2, 3].map((step) => `${ANALYSIS} ${step}`));
  });
});

describe("Responses", () => {
  const BESIDE = { input: "Hi.", ...ASKED };
  const summary = [{ type: "summary_text", text: SUMMARY }];

  test.each(["create", "stream"] as const)("is a part of the item: %s", async (how) => {
    const engine = engineWith(`${SUMMARY}<|return|>`);
    const both = await responsesApp({ engine, settings: ENABLED })[how](BESIDE);
    const content = [{ type: "reasoning_text", text: ANALYSIS }];
    expect(both.output[0]).toMatchObject({ type: "reasoning", summary, content });
    const empty = engineWith("<|return|>");
    const none = await responsesApp({ engine: empty, settings: INSTEAD })[how]({ input: "Hi." });
    expect(none.output[0]).toMatchObject({ summary: [], content: [] });
    const unasked = await responsesApp({ engine, settings: ENABLED })[how]({ input: "Hi." });
    expect(unasked.output[0]).toMatchObject({ summary: [] });
  });

  test("is sent before the answer, in events", async () => {
    const { response } = await ask(responses, { stream: true, ...ASKED }, ENABLED);
    const types = (await readEvents(response)).map(({ type }) => type);
    const first = types.indexOf("response.reasoning_summary_part.added");
    expect(types.slice(first, first + 6)).toEqual([
      "response.reasoning_summary_part.added",
      "response.reasoning_summary_text.delta",
      "response.reasoning_summary_text.done",
      "response.reasoning_summary_part.done",
      "response.output_item.done",
      "response.output_item.added",
    ]);
  });

  test("is not made of short reasoning", async () => {
    const engine = engineWith("", [TURN.replace(ANALYSIS, "Easy.")]);
    await responsesApp({ engine, settings: ENABLED }).create(BESIDE);
    expect(engine.requests).toHaveLength(1);
  });

  test("that is late is left out, and its completion cancelled", async () => {
    const engine = engineWith({ write: "**Comp", hang: true });
    const settings = { ...ENABLED, reasoningSummaryWaitMs: 1 };
    const { status, output } = await responsesApp({ engine, settings }).create(BESIDE);
    expect(status).toBe("completed");
    expect(output[0]).toMatchObject({ summary: [] });
    expect(engine.open).toBe(0);
  });

  test("with the policy `summary`, a stored response has no reasoning either", async () => {
    const app = responsesApp({ engine: engineWith(`${SUMMARY}<|return|>`), settings: INSTEAD });
    const { id, output } = await app.create({ input: "Hi." });
    expect(output[0]).toMatchObject({ summary, content: [] });
    const stored = await (await app.send("GET", `/v1/responses/${id}`)).text();
    expect(responsesReply.parse(JSON.parse(stored)).output[0]).toMatchObject({
      summary,
      content: [],
    });
    expect(stored).not.toContain("I wonder");
  });
});
