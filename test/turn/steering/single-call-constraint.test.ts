import { describe, expect, test } from "vitest";
import { parseJson } from "../../../src/harmony/index.ts";
import { scriptedEngine } from "../../helpers/scripted-engine.ts";
import { finishTurn, formedAnswer, offeredTool, partsOf, turnWith } from "../../helpers/turns.ts";
import type { Capabilities } from "../../../src/index.ts";

const CITY = '{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}';
const ANALYSIS = "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant";
const JSON_BODY = "<|constrain|>json<|message|>";
const formed = turnWith({ answer: formedAnswer("out", parseJson(CITY)) });
const required = turnWith({
  tools: [offeredTool("find", CITY)],
  toolChoice: { type: "required", names: ["find"] },
});
const singleCall = { steering: { singleCallConstraint: true } };

const able = (...constraints: Capabilities["constraints"][number][]) => ({
  capabilities: { constraints: ["json-schema" as const, ...constraints] },
});

describe("one call for a whole turn", () => {
  test("a structural tag leaves reasoning free and lists every ending", async () => {
    const engine = scriptedEngine(
      [`${ANALYSIS}<|channel|>final ${JSON_BODY}{"city":"Oslo"}<|return|>`],
      able("structural-tag"),
    );
    const turn = await finishTurn(
      engine,
      { ...formed, tools: [offeredTool("find", CITY)] },
      singleCall,
    );
    expect(partsOf(turn)).toEqual([
      ["reasoning", "Hm."],
      ["content", '{"city":"Oslo"}'],
    ]);
    expect(engine.requests.length).toBe(1);
    const [request] = engine.requests;
    const tag = request?.constraint?.type === "structural-tag" ? request.constraint.tag : "null";
    const ending = (begin: string) => ({
      type: "tag",
      begin,
      content: { type: "json_schema", json_schema: JSON.parse(CITY), max_whitespace_cnt: 64 },
      end: ["<|end|>", ""],
    });
    expect(JSON.parse(tag)).toEqual({
      type: "structural_tag",
      format: {
        type: "sequence",
        elements: [
          {
            type: "optional",
            content: {
              type: "sequence",
              elements: [
                {
                  type: "tag",
                  begin: "<|channel|>analysis<|message|>",
                  content: { type: "any_text" },
                  end: "<|end|>",
                },
                { type: "const_string", value: "<|start|>assistant" },
              ],
            },
          },
          {
            type: "or",
            elements: [
              ending(`<|channel|>final ${JSON_BODY}`),
              ending(`<|channel|>commentary to=functions.find ${JSON_BODY}`),
              ending(` to=functions.find<|channel|>commentary ${JSON_BODY}`),
            ],
          },
        ],
      },
    });
  });

  test.each(["structural-tag", "token-grammar"] as const)(
    "a %s holds no schema that was not compiled with the request",
    async (type) => {
      const engine = scriptedEngine(
        [`${ANALYSIS}<|channel|>final ${JSON_BODY}{"city":"Oslo"}<|return|>`],
        able(type),
      );
      const shown = { name: "find", strict: false, parameters: parseJson('{"pattern":"(?<=a)b"}') };
      await finishTurn(engine, { ...formed, tools: [shown] }, singleCall);
      const constraint = JSON.stringify(engine.requests[0]?.constraint);
      expect(constraint).toContain("functions.find");
      expect(constraint).not.toContain("(?<=a)b");
    },
  );

  test("a required call leaves no room for an answer", async () => {
    const engine = scriptedEngine(
      [`${ANALYSIS} to=functions.find<|channel|>commentary ${JSON_BODY}{"city":"Oslo"}<|call|>`],
      able("token-grammar"),
    );
    const turn = await finishTurn(engine, required, singleCall);
    expect(partsOf(turn).at(-1)).toEqual(["tool-call", '{"city":"Oslo"}', "find"]);
    expect(engine.requests[0]?.constraint).toEqual({
      type: "token-grammar",
      grammar: expect.not.stringContaining('"final"'),
    });
  });

  test.each([
    ["", '{"city":"Oslo"}<|call|>'],
    ["<|end|>", '{"city":"Oslo"}<|call|>'],
    [
      `<|end|><|start|>assistant to=functions.find<|channel|>commentary ${JSON_BODY}{"city":"Oslo"}<|call|>`,
    ],
  ])("a preamble that a server allows nevertheless stays: …%j", async (rest, ...forced) => {
    const engine = scriptedEngine(
      [`<|channel|>commentary<|message|>One moment${rest}`, ...forced],
      able("token-grammar"),
    );
    const turn = await finishTurn(engine, required, singleCall);
    expect(partsOf(turn)).toEqual([
      ["preamble", "One moment"],
      ["tool-call", '{"city":"Oslo"}', "find"],
    ]);
    expect(turn.end.finish).toBe("tool-calls");
  });

  test("a server that ignores the constraint costs a call, not the guarantee", async () => {
    const engine = scriptedEngine(
      [`${ANALYSIS}<|channel|>final<|message|>No.<|return|>`, '{"city":"Oslo"}<|call|>'],
      able("structural-tag"),
    );
    const turn = await finishTurn(engine, required, singleCall);
    expect(partsOf(turn)).toEqual([
      ["reasoning", "Hm."],
      ["tool-call", '{"city":"Oslo"}', "find"],
    ]);
    expect(engine.requests.length).toBe(2);
  });

  describe("reasoning before a required call", () => {
    const long = "<|channel|>analysis<|message|>one two three four five six seven";
    const call = '{"city":"Oslo"}<|call|>';

    test("is limited by its budget", async () => {
      const engine = scriptedEngine([long, call], able("structural-tag"));
      const turn = await finishTurn(
        engine,
        { ...required, reasoning: { enabled: true, maxTokens: 3 } },
        singleCall,
      );
      expect(partsOf(turn)).toEqual([
        ["reasoning", "one two three"],
        ["tool-call", '{"city":"Oslo"}', "find"],
      ]);
      expect(turn.end.recoveries).toEqual(new Map([["cut-reasoning", 1]]));
    });

    test("does not use the answer's reserve", async () => {
      const engine = scriptedEngine([long, call], able("structural-tag"));
      const turn = await finishTurn(
        engine,
        { ...required, maxOutputTokens: 13 },
        { steering: { ...singleCall.steering, answerReserve: 7 } },
      );
      expect(partsOf(turn)).toEqual([
        ["reasoning", "one two three"],
        ["tool-call", '{"city":"Oslo"}', "find"],
      ]);
    });

    test("is cut when it repeats itself", async () => {
      const circle = "<|channel|>analysis<|message|>" + " again and".repeat(2000);
      const engine = scriptedEngine([circle, call], able("structural-tag"));
      const turn = await finishTurn(engine, required, singleCall);
      expect(partsOf(turn).at(-1)).toEqual(["tool-call", '{"city":"Oslo"}', "find"]);
      expect(turn.end.usage.reasoningTokens).toBeLessThan(1000);
    });
  });

  test("a call that a server generates against its constraint is passed on", async () => {
    const engine = scriptedEngine(
      [
        "<|channel|>commentary to=functions.plain<|message|>{}<|end|><|start|>assistant" +
          `<|channel|>final ${JSON_BODY}{"city":"Oslo"}<|return|>`,
      ],
      able("structural-tag"),
    );
    const tools = [offeredTool("find", CITY, true), offeredTool("plain")];
    const turn = await finishTurn(engine, { ...formed, tools }, singleCall);
    expect(turn.end.finish).toBe("tool-calls");
    expect(partsOf(turn)).toContainEqual(["tool-call", "{}", "plain"]);
  });

  test.each([
    ["the operator does not want it", formed, {}, able("structural-tag")],
    ["the engine cannot", formed, singleCall, able()],
    ["nothing is demanded", turnWith(), singleCall, able("structural-tag")],
    [
      "reasoning is off",
      { ...formed, reasoning: { enabled: false } },
      singleCall,
      able("structural-tag"),
    ],
  ])("there is none when %s", async (_, turn, options, capabilities) => {
    const engine = scriptedEngine(
      () => '<|channel|>final<|message|>{"city":"Oslo"}<|return|>',
      capabilities,
    );
    await finishTurn(engine, turn, options);
    const types = engine.requests.map((request) => request.constraint?.type);
    expect(types).not.toContain("structural-tag");
  });
});
