import { describe, expect, onTestFinished, test } from "vitest";
import { o200kHarmony } from "../../../src/tokenizer/index.ts";
import { startTestGateway } from "../../helpers/gateway.ts";
import { scriptedEngine, type Script } from "../../helpers/scripted-engine.ts";
import {
  forgetful,
  loopScripts,
  type Post,
  runLoop,
  STEP_TOOL,
  analysisIn,
} from "../../helpers/tool-loop.ts";
import { readChatMessage } from "../../helpers/replies.ts";

const ANALYSIS = "I wonder which of the two is larger. ".repeat(10).trim();
const TURN = `<|channel|>analysis<|message|>${ANALYSIS}<|end|><|start|>assistant<|channel|>final<|message|>Hi.<|return|>`;
const SUMMARY = "**Comparing**\n\nTwo things are compared.";
const ENABLED = { reasoningSummaries: true };
const detail = (index: number) => ({
  type: "reasoning.summary",
  summary: SUMMARY,
  id: "harmony_summary_0",
  format: "unknown",
  index,
});

async function start(settings: object, turns: readonly Script[], summary: Script = SUMMARY) {
  const rest = [...turns];
  const engine = scriptedEngine(({ prompt }) => {
    const isSummary = o200kHarmony().decode(prompt.ids).includes("Summarize the reasoning");
    return isSummary ? summary : (rest.shift() ?? TURN);
  });
  const gateway = await startTestGateway({ engine, settings: { ...settings } });
  onTestFinished(() => gateway.close());
  const post: Post = (body, headers) =>
    fetch(`${gateway.baseURL}/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    });
  const ask = async (body: object) =>
    readChatMessage(await post({ messages: [{ role: "user", content: "Hi." }], ...body }));
  return { engine, post, ask };
}

describe.each([{ stream: false }, { stream: true }])("a summary, %o", (how) => {
  const asked = { ...how, reasoning: { summary: "auto" } };

  test("is returned beside the reasoning when requested", async () => {
    const { ask } = await start(ENABLED, []);
    const { reasoning, reasoning_details: details, content } = await ask(asked);
    expect({ reasoning, content }).toEqual({ reasoning: ANALYSIS, content: "Hi." });
    expect(details).toEqual([
      { type: "reasoning.text", text: ANALYSIS, format: "unknown", index: 0 },
      detail(1),
    ]);
  });

  test("replaces the reasoning with the policy `summary`", async () => {
    const { ask } = await start({ ...ENABLED, reasoningPolicy: "summary" }, []);
    const reply = await ask(how);
    expect(reply.reasoning_details).toEqual([detail(0)]);
    expect(JSON.stringify(reply)).not.toContain("I wonder");
  });

  test("that could not be made is left out, and the reasoning is not shown instead", async () => {
    const { ask } = await start({ ...ENABLED, reasoningPolicy: "summary" }, [], "<|return|>");
    const reply = await ask(how);
    expect(reply.content).toBe("Hi.");
    expect(JSON.stringify(reply)).not.toContain("I wonder");
    expect(reply.reasoning_details).toBeUndefined();
  });

  test.each([
    ["the operator has not enabled them", {}, asked],
    ["nobody asks", ENABLED, how],
    [
      "the reasoning is excluded",
      ENABLED,
      { ...how, reasoning: { summary: "auto", exclude: true } },
    ],
    ["the client may not see any", { ...ENABLED, reasoningPolicy: "none" }, asked],
  ])("costs nothing when %s", async (_, settings, body) => {
    const { ask, engine } = await start(settings, []);
    expect(JSON.stringify(await ask(body))).not.toContain("Comparing");
    expect(engine.requests).toHaveLength(1);
  });
});

test("a summary that is sent back does not replace the reasoning in the prompt", async () => {
  const scripts = loopScripts(ANALYSIS);
  const { post, engine } = await start({ ...ENABLED, reasoningPolicy: "summary" }, scripts);
  const { outcomes } = await runLoop(post, {
    remember: (reply) => ({ ...forgetful(reply), reasoning_details: reply.reasoning_details }),
    body: { tools: [STEP_TOOL] },
  });
  expect(outcomes).toEqual([null, "stored", "stored", "stored"]);
  const last = engine.prompts.findLast((prompt) => !prompt.includes("Summarize the reasoning"));
  expect(analysisIn(last)).toEqual([1, 2, 3].map((step) => `${ANALYSIS} ${step}`));
});

test("a summary that is no text is refused", async () => {
  const { post } = await start(ENABLED, []);
  const response = await post({
    messages: [{ role: "user", content: "Hi." }],
    reasoning: { summary: 1 },
  });
  expect(response.status).toBe(400);
  expect(await response.text()).toContain("reasoning.summary");
});
