import { describe, expect, test } from "vitest";
import type { CompletionRequest } from "../../../src/engines/engine.ts";
import { EngineError } from "../../../src/engines/engine-error.ts";
import { o200kHarmony } from "../../../src/tokenizer/index.ts";
import { scriptedEngine, type Script } from "../../helpers/scripted-engine.ts";
import { MODEL, readEvents, responsesApp } from "./support.ts";

const ANALYSIS = "I wonder which of the two is larger. ".repeat(10).trim();
const TURN = `<|channel|>analysis<|message|>${ANALYSIS}<|end|><|start|>assistant<|channel|>final<|message|>Hi.<|return|>`;
const SUMMARY = "**Comparing**\n\nTwo things are compared.";
const SUMMARIES = { reasoningSummaries: true };

const isSummary = ({ prompt }: CompletionRequest) =>
  o200kHarmony().decode(prompt.ids).includes("Summarize the reasoning");

function engineWith(summary: Script, turn: Script = TURN) {
  return scriptedEngine((request) => (isSummary(request) ? summary : turn));
}

const ASKED = { input: "Hi.", reasoning: { summary: "auto" } };

describe("a summary of the reasoning", () => {
  test.each(["create", "stream"] as const)("is made when asked for: %s", async (how) => {
    const engine = engineWith(`${SUMMARY}<|return|>`);
    const { output } = await responsesApp({ engine, settings: SUMMARIES })[how](ASKED);
    expect(output[0]).toMatchObject({
      type: "reasoning",
      summary: [{ type: "summary_text", text: SUMMARY }],
      content: [{ type: "reasoning_text", text: ANALYSIS }],
    });
    const [, second] = engine.requests;
    expect(second?.maxTokens).toBeLessThanOrEqual(192);
    expect(engine.prompts[1]).toContain("Reasoning: low");
    expect(engine.prompts[1]).toContain(ANALYSIS);
  });

  test("is sent before the answer, in events", async () => {
    const engine = engineWith(`${SUMMARY}<|return|>`);
    const app = responsesApp({ engine, settings: SUMMARIES });
    const request = { model: MODEL, stream: true, ...ASKED };
    const events = await readEvents(await app.send("POST", "/v1/responses", request));
    const types = events.map(({ type }) => type);
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

  test.each<[string, object, object]>([
    ["the operator has not enabled them", {}, ASKED],
    ["nobody asks", SUMMARIES, { input: "Hi." }],
    ["the client may not see reasoning", { ...SUMMARIES, reasoningPolicy: "none" }, ASKED],
  ])("costs nothing when %s", async (_, settings, request) => {
    const engine = engineWith(`${SUMMARY}<|return|>`);
    const { output } = await responsesApp({ engine, settings: { ...settings } }).create(request);
    expect(output[0]).toMatchObject({ summary: [] });
    expect(engine.requests).toHaveLength(1);
  });

  test("is not made of short reasoning", async () => {
    const engine = engineWith("", TURN.replace(ANALYSIS, "Easy."));
    await responsesApp({ engine, settings: SUMMARIES }).create(ASKED);
    expect(engine.requests).toHaveLength(1);
  });

  test("that is late is left out, and its completion cancelled", async () => {
    const engine = engineWith({ write: "**Comp", hang: true });
    const settings = { ...SUMMARIES, reasoningSummaryWaitMs: 1 };
    const { status, output } = await responsesApp({ engine, settings }).create(ASKED);
    expect(status).toBe("completed");
    expect(output[0]).toMatchObject({ summary: [] });
    expect(engine.open).toBe(0);
  });
});

describe("with the policy `summary`", () => {
  const settings = { ...SUMMARIES, reasoningPolicy: "summary" };

  test("a client gets the summary and never the reasoning, also from the store", async () => {
    const engine = engineWith(`${SUMMARY}<|return|>`);
    const app = responsesApp({ engine, settings });
    const { id, output } = await app.create({ input: "Hi." });
    const item = { summary: [{ type: "summary_text", text: SUMMARY }], content: [] };
    expect(output[0]).toMatchObject(item);
    const stored = await (await app.send("GET", `/v1/responses/${id}`)).text();
    expect(JSON.parse(stored).output[0]).toMatchObject(item);
    expect(stored).not.toContain("I wonder");
  });

  test.each<[string, Script]>([
    ["fails", { refuse: new EngineError("overloaded", "busy") }],
    ["is empty", "<|return|>"],
  ])("a summary that %s is not replaced by the reasoning", async (_, script) => {
    const app = responsesApp({ engine: engineWith(script), settings });
    for (const ask of [app.create, app.stream]) {
      const response = await ask({ input: "Hi." });
      expect(response.output[0]).toMatchObject({ summary: [], content: [] });
      expect(JSON.stringify(response)).not.toContain("I wonder");
    }
  });

  test("the Messages API shows no reasoning at all", async () => {
    const app = responsesApp({ engine: engineWith(`${SUMMARY}<|return|>`), settings });
    const messages = [{ role: "user", content: "Hi." }];
    const claude = await app.send("POST", "/v1/messages", {
      model: MODEL,
      messages,
      max_tokens: 999,
    });
    const reply = await claude.text();
    expect(reply).toContain("Hi.");
    expect(reply).not.toContain("I wonder");
  });
});
