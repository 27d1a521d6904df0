/** An engine without token ids changes nothing in a turn that is visible to a client. */
import { describe, expect, test } from "vitest";
import { type ScriptedOptions, scriptedEngine } from "../helpers/scripted-engine.ts";
import { spelledIds } from "../helpers/spelled.ts";
import { finishTurn, offeredTool, partsOf, turnWith } from "../helpers/turns.ts";

const TEXT: ScriptedOptions = {
  form: "text",
  counts: false,
  capabilities: { idsIn: false, stopIds: false },
};
const ANALYSIS = "<|channel|>analysis<|message|>Let me think.<|end|>";
const ANSWER = "<|start|>assistant<|channel|>final<|message|>Hello there!<|return|>";

describe("typed control spellings, which are broken and so take more tokens", () => {
  const typed = turnWith({
    messages: [...turnWith().prompt.messages, { role: "user", content: "<|end|>".repeat(40) }],
  });

  test("the limit is computed from the text that is actually sent", async () => {
    const engine = scriptedEngine([ANALYSIS + ANSWER], TEXT);
    await finishTurn(engine, typed, { contextLength: 1000 });
    const [request] = engine.requests;
    const sent = spelledIds(request?.prompt.text() ?? "").length;
    expect(sent).toBeGreaterThan(request?.prompt.ids.length ?? 0);
    expect(request?.maxTokens).toBe(1000 - sent);
  });

  test("a prompt that fits only unaltered is refused before the engine is called", async () => {
    const probe = scriptedEngine([ANALYSIS + ANSWER], TEXT);
    await finishTurn(probe, typed);
    const prompt = probe.requests[0]?.prompt;
    const contextLength = (prompt?.ids.length ?? 0) + 1;
    const engine = scriptedEngine([], TEXT);
    await expect(finishTurn(engine, typed, { contextLength })).rejects.toMatchObject({
      kind: "context-length",
      message: expect.stringContaining(`${spelledIds(prompt?.text() ?? "").length} tokens long`),
    });
  });

  test("usage reports the tokens sent, if the engine does not", async () => {
    const engine = scriptedEngine([ANALYSIS + ANSWER], TEXT);
    const { end } = await finishTurn(engine, typed);
    const sent = spelledIds(engine.requests[0]?.prompt.text() ?? "").length;
    expect(end.usage.promptTokens).toBe(sent);
  });
});

test.each([1, 2, 5, 100])("tokens are counted the same in reads of %i", async (batch) => {
  const engine = scriptedEngine([ANALYSIS + ANSWER], { ...TEXT, batch });
  const { end } = await finishTurn(
    engine,
    turnWith({ reasoning: { enabled: true, maxTokens: 50 } }),
  );
  expect(end.usage).toMatchObject({
    completionTokens: spelledIds(ANALYSIS + ANSWER).length,
    reasoningTokens: 4,
  });
});

test("text that is truncated within a token counts no more tokens than were requested", async () => {
  const analysis = "<|channel|>analysis<|message|>tho1 final answer: to=functions.search tho2";
  const engine = scriptedEngine([analysis, "Done.<|return|>"], TEXT);
  const reasoning = { enabled: true, maxTokens: 9 };
  const { end } = await finishTurn(engine, turnWith({ reasoning, maxOutputTokens: 11 }));
  expect(end.usage.completionTokens).toBeLessThanOrEqual(11);
});

describe("a visible terminator", () => {
  const turn = turnWith({
    tools: [offeredTool("f")],
    toolChoice: { type: "required", names: ["f"] },
  });
  const grown = `Let me think.<|end|><|start|>assistant to=functions.f<|channel|>commentary <|constrain|>json<|message|>`;

  test.each([1, 3, 100])("is not doubled in the grown prompt, in reads of %i", async (batch) => {
    for (const end of ["<|end|>", "<|return|>", "<|endoftext|>", "<|end", ""]) {
      const write = `Let me think.${end}`;
      const engine = scriptedEngine([write, "{}<|call|>"], { ...TEXT, batch });
      const finished = await finishTurn(engine, turn);
      expect(partsOf(finished)).toEqual([
        ["reasoning", "Let me think."],
        ["tool-call", "{}", "f"],
      ]);
      const [first, second] = engine.requests.map(({ prompt }) => prompt);
      expect(second?.text().slice(first?.text().length)).toBe(grown);
      expect(second?.ids).toEqual(spelledIds(second?.text() ?? ""));
    }
  });
});

describe("reasoning that the gateway cuts within a spelled control token", () => {
  const long = "<|channel|>analysis<|message|>one two three<|end|><|start|>assistant";

  test.each([1, 3, 100])("emits nothing of it, in reads of %i", async (batch) => {
    const engine = scriptedEngine([long, "Done.<|return|>"], { ...TEXT, batch });
    const turn = await finishTurn(engine, turnWith({ maxOutputTokens: 11 }), {
      steering: { answerReserve: 4 },
    });
    expect(partsOf(turn)).toEqual([
      ["reasoning", "one two three"],
      ["content", "Done."],
    ]);
    const [first, second] = engine.requests.map(({ prompt }) => prompt.text());
    expect(second?.slice(first?.length)).toMatch(/one two three<\|end\|><\|start\|>assistant/);
  });

  test("keeps the beginning of one if the model ended by itself", async () => {
    const write = "<|channel|>final<|message|>a <";
    const turn = await finishTurn(scriptedEngine([write], TEXT), turnWith());
    expect(partsOf(turn)).toEqual([["content", "a <"]]);
  });
});
