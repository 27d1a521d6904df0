import { describe, expect, test } from "vitest";
import { parseJson } from "../../../src/harmony/index.ts";
import { settlePrefill } from "../../../src/turn/prefill.ts";
import type { ScriptedEngine, ScriptedOptions } from "../../helpers/scripted-engine.ts";
import { scriptedEngine } from "../../helpers/scripted-engine.ts";
import { spelledIds } from "../../helpers/spelled.ts";
import {
  finishTurn,
  formedAnswer,
  offeredTool,
  partsOf,
  turnWith,
  type Turn,
} from "../../helpers/turns.ts";

const ANALYSIS = "<|channel|>analysis<|message|>Let me think.<|end|>";
const FINAL = "<|channel|>final<|message|>Hello!<|return|>";
const CITY = '{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}';
const WEATHER = offeredTool("get_weather", CITY);
const TIME = offeredTool("get_time");
const SCHEMA = formedAnswer("out", parseJson(CITY));
const CONSTRAINS: ScriptedOptions = {
  capabilities: { constraints: ["json-schema", "json-object", "choice"] },
};

/** The prompt of each engine call begins with the whole of the previous one: appended to, never rewritten. */
function expectGrowingPrompts(engine: ScriptedEngine): void {
  for (const [index, { prompt }] of engine.requests.entries()) {
    const before = engine.requests[index - 1]?.prompt.ids ?? [];
    expect(prompt.ids.slice(0, before.length)).toEqual(before);
  }
}

/** The text that the prompt of a call adds to the first call's prompt. */
function addedTo(engine: ScriptedEngine, call: number): string {
  const first = engine.prompts[0] ?? "";
  return (engine.prompts[call] ?? "").slice(first.length);
}

describe("a required call", () => {
  const required = turnWith({
    tools: [WEATHER],
    toolChoice: { type: "required", names: ["get_weather"] },
  });

  describe("within the limits", () => {
    const several = turnWith({
      tools: [WEATHER, TIME],
      toolChoice: { type: "required", names: ["get_weather", "get_time"] },
    });
    const analysisLength = spelledIds("Hm.<|end|>").length;

    test("the function's name uses no more than what is left of the request's limit", async () => {
      const engine = scriptedEngine(["Hm.<|end|>", ".get_time<|channel|>"]);
      const turn = await finishTurn(engine, { ...several, maxOutputTokens: analysisLength + 2 });
      expect(engine.requests.map(({ maxTokens }) => maxTokens)).toEqual([analysisLength + 2, 2]);
      expect(partsOf(turn)).toEqual([["reasoning", "Hm."]]);
      expect(turn.end).toMatchObject({
        finish: "length",
        usage: { completionTokens: analysisLength + 2 },
      });
    });

    test("nor more than what is left of the context", async () => {
      const room = 40;
      const first = scriptedEngine(["Hm.<|end|>", ".get_time<|channel|>", "{}<|call|>"]);
      await finishTurn(first, several);
      const contextLength = (first.requests[1]?.prompt.ids.length ?? 0) + room;
      const engine = scriptedEngine(["Hm.<|end|>", ".get_time<|channel|>", "{}<|call|>"]);
      await finishTurn(engine, several, { contextLength });
      for (const { prompt, maxTokens } of engine.requests) {
        expect(prompt.ids.length + maxTokens).toBeLessThanOrEqual(contextLength);
      }
    });

    test("if no tokens are left for the name, the engine is not called", async () => {
      const engine = scriptedEngine(["Hm.<|end|>"]);
      const turn = await finishTurn(engine, { ...several, maxOutputTokens: analysisLength });
      expect(turn.end.finish).toBe("length");
    });

    test("a call without any text is not emitted", async () => {
      const scripts = ["Hm.<|end|>", { write: "", finish: "length" as const }];
      for (const options of [CONSTRAINS, {}]) {
        const turn = await finishTurn(scriptedEngine(scripts, options), required);
        expect(partsOf(turn)).toEqual([["reasoning", "Hm."]]);
        expect(turn.end.finish).toBe("length");
      }
    });
  });

  test("reasoning ends however the model ends it", async () => {
    for (const analysis of ["x<|end|>", "x<|return|>", "x<|call|>", "x<|start|>assistant", "x"]) {
      const engine = scriptedEngine([analysis, '{"city":"Rome"}<|call|>'], CONSTRAINS);
      const turn = await finishTurn(engine, required);
      expect(partsOf(turn)).toEqual([
        ["reasoning", "x"],
        ["tool-call", '{"city":"Rome"}', "get_weather"],
      ]);
    }
  });

  test("invalid arguments are retried once with the reason, and never emitted", async () => {
    const engine = scriptedEngine(["x<|end|>", '{"town":1}<|call|>', '{"city":"Rome"}<|call|>']);
    const turn = await finishTurn(engine, required);
    expect(partsOf(turn)).toEqual([
      ["reasoning", "x"],
      ["tool-call", '{"city":"Rome"}', "get_weather"],
    ]);
    expect(addedTo(engine, 2)).toMatch(
      /\{"town":1\}<\|call\|><\|start\|>functions\.get_weather to=assistant<\|channel\|>commentary<\|message\|>Error: the arguments were rejected.*<\|end\|><\|start\|>assistant to=functions\.get_weather/s,
    );
    expect(turn.end.recoveries).toEqual(new Map([["invalid-arguments", 1]]));
    expectGrowingPrompts(engine);
  });

  test("arguments that stay invalid are an error", async () => {
    const engine = scriptedEngine(["x<|end|>", "nonsense<|call|>", "nonsense<|call|>"]);
    const turn = await finishTurn(engine, required);
    expect(partsOf(turn)).toEqual([["reasoning", "x"]]);
    expect(turn.end).toMatchObject({ finish: "error", failure: { kind: "invalid_tool_call" } });
  });
});

describe("an answer with a format", () => {
  const formed = turnWith({ answer: SCHEMA });

  test("is constrained from its first token, and reasoning is not", async () => {
    const engine = scriptedEngine(
      [
        `${ANALYSIS}<|start|>assistant<|channel|>final<|message|>{"wrong":`,
        '{"city":"Oslo"}<|return|>',
      ],
      CONSTRAINS,
    );
    const turn = await finishTurn(engine, formed);
    expect(partsOf(turn)).toEqual([
      ["reasoning", "Let me think."],
      ["content", '{"city":"Oslo"}'],
    ]);
    expect(engine.requests.map((request) => request.constraint)).toEqual([
      undefined,
      { type: "json-schema", schema: CITY },
    ]);
    expect(addedTo(engine, 1)).toBe(`${ANALYSIS}<|start|>assistant<|channel|>final<|message|>`);
    expect(engine.requests[1]?.sampling.logitBias?.get(200007)).toBe(-100);
    expectGrowingPrompts(engine);
  });

  test("is validated if the engine has no constraints, in the same engine call", async () => {
    const engine = scriptedEngine([
      `${ANALYSIS}<|start|>assistant<|channel|>final<|message|>{"city":"Oslo"}<|return|>`,
      '{"city":"Oslo"}<|return|>',
    ]);
    const turn = await finishTurn(engine, formed);
    expect(partsOf(turn).at(-1)).toEqual(["content", '{"city":"Oslo"}']);
    expect(turn.end.usage.engineCalls).toBe(1);
  });

  test("is retried once with the reason if it is invalid, and the invalid one is never emitted", async () => {
    const engine = scriptedEngine([
      `${ANALYSIS}<|start|>assistant<|channel|>final<|message|>not json<|return|>`,
      '{"city":"Oslo"}<|return|>',
    ]);
    const turn = await finishTurn(engine, formed);
    expect(partsOf(turn)).toEqual([
      ["reasoning", "Let me think."],
      ["content", '{"city":"Oslo"}'],
    ]);
    expect(addedTo(engine, 1)).toMatch(
      /not json<\|end\|><\|start\|>developer<\|message\|>The answer was rejected.*<\|end\|><\|start\|>assistant<\|channel\|>final <\|constrain\|>json<\|message\|>$/s,
    );
    expectGrowingPrompts(engine);
  });

  test("that stays invalid is an error", async () => {
    const wrong = "<|channel|>final<|message|>[]<|return|>";
    const turn = await finishTurn(scriptedEngine([wrong, "[]<|return|>"]), formed);
    expect(partsOf(turn)).toEqual([]);
    expect(turn.end).toMatchObject({ finish: "error", failure: { kind: "invalid_answer" } });
  });

  test("that is invalid despite the engine's constraint is an error", async () => {
    const engine = scriptedEngine(
      ["<|channel|>final<|message|>", '{"town":1}<|return|>'],
      CONSTRAINS,
    );
    const turn = await finishTurn(engine, formed);
    expect(turn.end).toMatchObject({ finish: "error", failure: { kind: "invalid_answer" } });
  });

  test("that is invalid is an error even if reasoning after it would be valid", async () => {
    const engine = scriptedEngine([' json[]<|start|> to=python userfunctions{"city":"Oslo"}'], {
      form: "text",
      batch: 5,
      capabilities: { constraints: ["json-schema", "token-grammar"] },
    });
    const turn = await finishTurn(engine, turnWith({ answer: SCHEMA }), {
      steering: { allowHiddenMarkers: true, singleCallConstraint: true },
    });
    expect(partsOf(turn)).toEqual([
      ["content", " json[]"],
      ["reasoning", '{"city":"Oslo"}'],
    ]);
    expect(turn.end.failure?.kind).toBe("invalid_answer");
  });

  test("that reaches the limit is truncated, not invalid", async () => {
    const engine = scriptedEngine([
      { write: '<|channel|>final<|message|>{"city":"Os', finish: "length" },
    ]);
    const turn = await finishTurn(engine, formed);
    expect(partsOf(turn)).toEqual([["content", '{"city":"Os']]);
    expect(turn.end.finish).toBe("length");
  });

  test("is opened if the model writes none", async () => {
    const engine = scriptedEngine([ANALYSIS, '{"city":"Oslo"}<|return|>'], CONSTRAINS);
    const turn = await finishTurn(engine, formed);
    expect(partsOf(turn).at(-1)).toEqual(["content", '{"city":"Oslo"}']);
    expect(engine.prompts[1]).toMatch(
      /<\|start\|>assistant<\|channel\|>final <\|constrain\|>json<\|message\|>$/,
    );
  });

  test("leaves the model free to call a tool first", async () => {
    const call =
      '<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city":"Oslo"}<|call|>';
    const engine = scriptedEngine([`${ANALYSIS}<|start|>assistant${call}`], CONSTRAINS);
    const turn = await finishTurn(engine, turnWith({ answer: SCHEMA, tools: [WEATHER] }));
    expect(partsOf(turn).at(-1)).toEqual(["tool-call", '{"city":"Oslo"}', "get_weather"]);
    expect(turn.end.finish).toBe("tool-calls");
  });

  test("is one document: preambles are emitted as reasoning, and text after it is dropped", async () => {
    const engine = scriptedEngine([
      '<|channel|>commentary<|message|>Here it comes.<|end|><|start|>assistant<|channel|>final<|message|>{"city":"Oslo"}<|end|>' +
        "<|start|>assistant<|channel|>final<|message|>And more.<|return|>",
    ]);
    const turn = await finishTurn(engine, formed);
    expect(partsOf(turn)).toEqual([
      ["reasoning", "Here it comes."],
      ["content", '{"city":"Oslo"}'],
    ]);
  });

  test("of a JSON object accepts any object and nothing else", async () => {
    const object = turnWith({ answer: { type: "json-object" } });
    const good = scriptedEngine(['<|channel|>final<|message|>{"a":1}<|return|>']);
    expect(partsOf(await finishTurn(good, object))).toEqual([["content", '{"a":1}']]);
    const bad = scriptedEngine(["<|channel|>final<|message|>[1]<|return|>", "2<|return|>"]);
    expect((await finishTurn(bad, object)).end.finish).toBe("error");
  });
});

describe("a strict tool", () => {
  const strict = turnWith({ tools: [offeredTool("get_weather", CITY, true), TIME] });
  const header = "<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>";

  test("has its arguments constrained from their first token", async () => {
    const engine = scriptedEngine([`${header}{"to`, '{"city":"Oslo"}<|call|>'], CONSTRAINS);
    const turn = await finishTurn(engine, strict);
    expect(partsOf(turn)).toEqual([["tool-call", '{"city":"Oslo"}', "get_weather"]]);
    expect(engine.requests[1]?.constraint).toEqual({ type: "json-schema", schema: CITY });
    expectGrowingPrompts(engine);
  });

  test.each(["ids", "pieces", "text"] as const)(
    "is checked although reasoning comes in the same read of %s",
    async (form) => {
      const engine = scriptedEngine(
        [
          header,
          "{}<|end|><|start|>assistant<|channel|>analysis<|message|>Now wait.<|end|><|return|>",
        ],
        { ...CONSTRAINS, form, batch: 100 },
      );
      const turn = await finishTurn(engine, strict);
      expect(turn.end).toMatchObject({ finish: "error", failure: { kind: "invalid_tool_call" } });
    },
  );

  test("beside one that is not strict: that one is passed on as the model wrote it", async () => {
    const other = "<|channel|>commentary to=functions.get_time<|message|>whatever<|call|>";
    const turn = await finishTurn(scriptedEngine([other]), strict);
    expect(partsOf(turn)).toEqual([["tool-call", "whatever", "get_time"]]);
  });
});

test("a call without a check is not overtaken by what follows it", async () => {
  const engine = scriptedEngine([
    " to=functions.get_time<|channel|>commentary <|constrain|>json<|message|>{}<|end|><|start|>assistant" +
      "<|channel|>analysis<|message|>Now wait.<|end|><|return|>",
  ]);
  const turn = await finishTurn(engine, turnWith({ tools: [TIME, { ...WEATHER, strict: true }] }));
  expect(partsOf(turn)).toEqual([
    ["tool-call", "{}", "get_time"],
    ["reasoning", "Now wait."],
  ]);
  expect(turn.end.finish).toBe("tool-calls");
});

describe("the reasoning budget", () => {
  const budget = (maxTokens: number) => ({ reasoning: { enabled: true, maxTokens } });
  const long = "<|channel|>analysis<|message|>one two three four five six seven";

  test("is kept to the token, then the answer is opened", async () => {
    for (const form of ["ids", "pieces"] as const) {
      const engine = scriptedEngine([long, "Done.<|return|>"], { form, batch: 5 });
      const turn = await finishTurn(engine, turnWith(budget(3)));
      expect(partsOf(turn)).toEqual([
        ["reasoning", "one two three"],
        ["content", "Done."],
      ]);
      expect(turn.end.usage.reasoningTokens).toBe(3);
    }
  });

  test("is never exceeded on text, in which tokens cannot be distinguished", async () => {
    const engine = scriptedEngine([long, "Done.<|return|>"], { form: "text", batch: 5 });
    const turn = await finishTurn(engine, turnWith(budget(3)));
    expect(turn.end.usage.reasoningTokens).toBeLessThanOrEqual(3);
    expect(partsOf(turn).at(-1)).toEqual(["content", "Done."]);
  });

  test("with tools the model may still choose to call one", async () => {
    const call =
      "<|channel|>commentary to=functions.get_time <|constrain|>json<|message|>{}<|call|>";
    const engine = scriptedEngine([long, call]);
    const turn = await finishTurn(engine, turnWith({ ...budget(3), tools: [TIME] }));
    expect(partsOf(turn).at(-1)).toEqual(["tool-call", "{}", "get_time"]);
    expect(engine.prompts[1]).toMatch(/one two three<\|end\|><\|start\|>assistant$/);
  });

  test("with tools, no second analysis message is begun", async () => {
    const engine = scriptedEngine([long, long, "Done.<|return|>"]);
    const turn = await finishTurn(engine, turnWith({ ...budget(3), tools: [TIME] }));
    expect(partsOf(turn)).toEqual([
      ["reasoning", "one two three"],
      ["content", "Done."],
    ]);
    expect(turn.end.usage.reasoningTokens).toBe(3);
    expectGrowingPrompts(engine);
  });

  test("a reserve for the answer cuts reasoning before the limit", async () => {
    const engine = scriptedEngine([long, "Done.<|return|>"]);
    const turn = await finishTurn(engine, turnWith({ maxOutputTokens: 10 }), {
      steering: { answerReserve: 4 },
    });
    expect(partsOf(turn)).toEqual([
      ["reasoning", "one two three"],
      ["content", "Done."],
    ]);
    expect(engine.requests[1]?.maxTokens).toBe(4);
  });

  test("reasoning that repeats itself is cut", async () => {
    const circle = spelledIds("<|channel|>analysis<|message|>" + " again and".repeat(2000));
    const engine = scriptedEngine([circle, "Done.<|return|>"], { batch: 8 });
    const turn = await finishTurn(engine, turnWith());
    expect(partsOf(turn).at(-1)).toEqual(["content", "Done."]);
    expect(turn.end.usage.reasoningTokens).toBeLessThan(1000);
    expect(turn.end.recoveries).toEqual(new Map([["cut-reasoning", 1]]));
  });

  test("the position of the cut does not depend on how the text arrived", async () => {
    const circle = spelledIds("<|channel|>analysis<|message|>" + " again and".repeat(2000));
    const analysis = await Promise.all(
      [1, 7, 32, 1000, 5000].map(async (batch) => {
        const engine = scriptedEngine([circle, "Done.<|return|>"], { batch });
        return partsOf(await finishTurn(engine, turnWith()))[0]?.[1];
      }),
    );
    expect(new Set(analysis).size).toBe(1);
  });

  test.each([
    // Whole tokens, because a part of a token is encoded as other tokens.
    ["pieces", /^(?: again and)*(?: again)?$/],
    ["text", /^ again and again/],
  ] as const)("nor on %s", async (form, shape) => {
    const circle = spelledIds("<|channel|>analysis<|message|>" + " again and".repeat(2000));
    const analysis = await Promise.all(
      [1, 7, 1000].map(async (batch) => {
        const engine = scriptedEngine([circle, "Done.<|return|>"], { form, batch });
        return partsOf(await finishTurn(engine, turnWith()))[0]?.[1];
      }),
    );
    expect(new Set(analysis).size).toBe(1);
    expect(analysis[0]).toMatch(shape);
  });

  test("on pieces the reserve for the answer is counted piece by piece, however they arrived", async () => {
    for (const batch of [1, 1000]) {
      const engine = scriptedEngine([long, "Done.<|return|>"], {
        form: "pieces",
        batch,
        counts: false,
      });
      const turn = await finishTurn(engine, turnWith({ maxOutputTokens: 10 }), {
        steering: { answerReserve: 4 },
      });
      expect(partsOf(turn)[0]).toEqual(["reasoning", "one two three"]);
      expect(engine.requests[1]?.maxTokens).toBe(4);
    }
  });

  test.each(["pieces", "text"] as const)("it is cut on engines that give %s, too", async (form) => {
    const circle = spelledIds("<|channel|>analysis<|message|>" + " again and".repeat(2000));
    const engine = scriptedEngine([circle, "Done.<|return|>"], { form, batch: 5 });
    const turn = await finishTurn(engine, turnWith());
    expect(partsOf(turn).at(-1)).toEqual(["content", "Done."]);
    expect(turn.end.usage.reasoningTokens).toBeLessThan(1000);
  });
});

describe("no reasoning", () => {
  test("the answer is opened at once", async () => {
    const engine = scriptedEngine(["Hi.<|return|>"]);
    const turn = await finishTurn(engine, turnWith({ reasoning: { enabled: false } }));
    expect(engine.prompts[0]).toMatch(/<\|start\|>assistant<\|channel\|>final<\|message\|>$/);
    expect(partsOf(turn)).toEqual([["content", "Hi."]]);
    expect(turn.end.usage.reasoningTokens).toBe(0);
  });

  test("with tools an empty analysis message is closed, so that the model may call one", async () => {
    const engine = scriptedEngine([FINAL]);
    const turn = await finishTurn(
      engine,
      turnWith({ reasoning: { enabled: false }, tools: [TIME] }),
    );
    expect(engine.prompts[0]).toMatch(
      /<\|start\|>assistant<\|channel\|>analysis<\|message\|><\|end\|><\|start\|>assistant$/,
    );
    expect(partsOf(turn)).toEqual([["content", "Hello!"]]);
  });

  test("with a format the answer is opened under its constraint", async () => {
    const engine = scriptedEngine(['{"city":"Oslo"}<|return|>'], CONSTRAINS);
    const turn = await finishTurn(
      engine,
      turnWith({ reasoning: { enabled: false }, answer: SCHEMA }),
    );
    expect(partsOf(turn)).toEqual([["content", '{"city":"Oslo"}']]);
    expect(engine.requests[0]?.constraint).toEqual({ type: "json-schema", schema: CITY });
  });
});

describe("analysis that is begun without reasoning", () => {
  const none = { reasoning: { enabled: false } };

  test.each(["ids", "pieces", "text"] as const)("is cut and not shown: %s", async (form) => {
    const engine = scriptedEngine([`${ANALYSIS}<|start|>assistant${FINAL}`, FINAL], {
      form,
      batch: 4,
    });
    const turn = await finishTurn(engine, turnWith({ ...none, tools: [TIME] }));
    expect(partsOf(turn)).toEqual([["content", "Hello!"]]);
    expect(turn.end.usage.reasoningTokens).toBe(0);
    expect(turn.end.recoveries).toEqual(new Map([["cut-reasoning", 1]]));
    expectGrowingPrompts(engine);
  });

  test("twice: the answer is opened", async () => {
    const engine = scriptedEngine([ANALYSIS, ANALYSIS, "Hi.<|return|>"]);
    const turn = await finishTurn(engine, turnWith({ ...none, tools: [TIME] }));
    expect(partsOf(turn)).toEqual([["content", "Hi."]]);
  });

  test("after the answer: only the answer is emitted", async () => {
    const engine = scriptedEngine([`Hi.<|end|><|start|>assistant${ANALYSIS}`]);
    const turn = await finishTurn(engine, turnWith(none));
    expect(partsOf(turn)).toEqual([["content", "Hi."]]);
    expect(turn.end.usage.reasoningTokens).toBe(0);
  });
});

describe("a stop string", () => {
  const early = '<|channel|>final<|message|>{"city": "Oslo STOP';

  test("that cuts a document does not end it: it is retried", async () => {
    const engine = scriptedEngine([early, '{"city":"Oslo"}<|return|>']);
    const turn = await finishTurn(engine, turnWith({ answer: SCHEMA, stop: ["STOP"] }));
    expect(partsOf(turn)).toEqual([["content", '{"city":"Oslo"}']]);
    expect(turn.end.finish).toBe("stop");
    expect(turn.end).not.toHaveProperty("stopSequence");
  });

  test("that cuts it again is an error", async () => {
    const engine = scriptedEngine([early, '{"city": "STOP']);
    const turn = await finishTurn(engine, turnWith({ answer: SCHEMA, stop: ["STOP"] }));
    expect(partsOf(turn)).toEqual([]);
    expect(turn.end).toMatchObject({
      finish: "error",
      failure: { message: expect.stringContaining('the stop string "STOP" ended it') },
    });
  });

  test("after a document ends it", async () => {
    const engine = scriptedEngine(['<|channel|>final<|message|>{"city":"Oslo"}STOP and more']);
    const turn = await finishTurn(engine, turnWith({ answer: SCHEMA, stop: ["STOP"] }));
    expect(partsOf(turn)).toEqual([["content", '{"city":"Oslo"}']]);
    expect(turn.end).toMatchObject({ finish: "stop", stopSequence: "STOP" });
  });

  test.each(["ids", "pieces"] as const)(
    "ends what is counted at its last token, however %s arrived",
    async (form) => {
      const write = " one two STOP three four<|return|>";
      const counts = await Promise.all(
        [1, 3, 1000].map(async (batch) => {
          const engine = scriptedEngine([write], { form, batch });
          const { end } = await finishTurn(engine, turnWith({ prefill: "Zero", stop: ["STOP"] }));
          return end.usage.completionTokens;
        }),
      );
      const read = spelledIds(" one two STOP").length;
      expect(counts).toEqual([read, read, read]);
    },
  );

  describe("across preamble and answer, if a client reads them as one text", () => {
    const write =
      "<|channel|>commentary<|message|>One moment<|end|><|start|>assistant" +
      "<|channel|>final<|message|>Hello there<|return|>";

    test.each([
      ["\n\n", [["preamble", "One moment"]]],
      ["ent\n\nHel", [["preamble", "One moment"]]],
      ["\n\nHello t", [["preamble", "One moment"]]],
      [
        "moment",
        [
          ["preamble", "One moment"],
          ["content", "Hello there"],
        ],
      ],
      [
        "ent\n\nHex",
        [
          ["preamble", "One moment"],
          ["content", "Hello there"],
        ],
      ],
    ])("%j", async (stop, expected) => {
      for (const batch of [1, 3, 50]) {
        const turn = await finishTurn(
          scriptedEngine([write], { batch }),
          turnWith({ stop: [stop], textSeparator: "\n\n" }),
        );
        expect(partsOf(turn)).toEqual(expected);
      }
    });

    test.each([
      ["\n\n", [["content", "Hello there"]]],
      ["ere\n\nOne", [["content", "Hello there"]]],
      [
        "moment",
        [
          ["content", "Hello there"],
          ["preamble", "One moment"],
        ],
      ],
      [
        "ere\n\nOnx",
        [
          ["content", "Hello there"],
          ["preamble", "One moment"],
        ],
      ],
    ])("and across an answer and the preamble after it: %j", async (stop, expected) => {
      const script =
        "<|channel|>final<|message|>Hello there<|end|><|start|>assistant" +
        "<|channel|>commentary<|message|>One moment<|end|><|return|>";
      for (const batch of [1, 3, 50]) {
        const turn = await finishTurn(
          scriptedEngine([script], { batch }),
          turnWith({ stop: [stop], textSeparator: "\n\n" }),
        );
        expect(partsOf(turn)).toEqual(expected);
        expect(turn.end.stopSequence).toBe(expected.length === 1 ? stop : undefined);
      }
    });

    test("a match inside the preamble does not hide one that reaches into the answer, or the answer", async () => {
      const finish = async (stop: readonly string[], script = write) =>
        partsOf(
          await finishTurn(scriptedEngine([script]), turnWith({ stop, textSeparator: "\n\n" })),
        );
      expect(await finish(["mom", "a longer stop string"])).toEqual([
        ["preamble", "One moment"],
        ["content", "Hello there"],
      ]);
      expect(await finish(["mom", "moment\n\nHel"])).toEqual([["preamble", "One moment"]]);
    });

    test("nor does one inside an earlier preamble end the turn before a later one", async () => {
      const script =
        "<|channel|>commentary<|message|>One moment<|end|><|start|>assistant" +
        "<|channel|>final<|message|>Hi<|end|><|start|>assistant" +
        "<|channel|>commentary<|message|>Done<|end|><|return|>";
      const turn = await finishTurn(
        scriptedEngine([script]),
        turnWith({ stop: ["mom", "mentHiDone and more"], textSeparator: "\n\n" }),
      );
      expect(partsOf(turn)).toEqual([
        ["preamble", "One moment"],
        ["content", "Hi"],
        ["preamble", "Done"],
      ]);
    });

    test("and not if they are separate", async () => {
      const turn = await finishTurn(scriptedEngine([write]), turnWith({ stop: ["\n\n"] }));
      expect(partsOf(turn).length).toBe(2);
    });
  });
});

describe("a missing answer", () => {
  test.each([
    ["only an analysis message", `${ANALYSIS}<|return|>`],
    ["nothing at all", "<|return|>"],
  ])("after %s the answer is opened once", async (_, write) => {
    const engine = scriptedEngine([write, "Here.<|return|>"]);
    const turn = await finishTurn(engine, turnWith());
    expect(partsOf(turn).at(-1)).toEqual(["content", "Here."]);
    expect(turn.end.recoveries.get("missing-answer")).toBe(1);
    expectGrowingPrompts(engine);
  });

  test.each([
    ["is empty", `${ANALYSIS}<|start|>assistant<|channel|>final<|message|><|return|>`],
    [
      "is empty before more reasoning",
      `<|channel|>final<|message|><|end|><|start|>assistant${ANALYSIS}<|return|>`,
    ],
  ])("that %s counts as none", async (_, write) => {
    for (const form of ["ids", "pieces", "text"] as const) {
      const engine = scriptedEngine([write, "Here.<|return|>"], { form });
      const turn = await finishTurn(engine, turnWith());
      expect(partsOf(turn).filter(([kind]) => kind === "content")).toEqual([["content", "Here."]]);
      expect(turn.end.recoveries.get("missing-answer")).toBe(1);
      expectGrowingPrompts(engine);
    }
  });

  test("that is empty does not undo one with text", async () => {
    const final = "<|channel|>final<|message|>";
    const engine = scriptedEngine([
      `${final}Here.<|end|><|start|>assistant${final}<|return|>`,
      "Again.<|return|>",
    ]);
    const turn = await finishTurn(engine, turnWith());
    expect(partsOf(turn)).toEqual([["content", "Here."]]);
    expect(turn.end.recoveries).toEqual(new Map());
  });

  test("is none where the prefill is all of it", async () => {
    const engine = scriptedEngine(["<|return|>"]);
    const turn = await finishTurn(engine, turnWith({ prefill: "It is 4." }));
    expect(engine.requests.length).toBe(1);
    expect(turn.end).toMatchObject({ finish: "stop", recoveries: new Map() });
  });

  test("is reported as it is if openMissingAnswer is off", async () => {
    const engine = scriptedEngine([`${ANALYSIS}<|return|>`]);
    const turn = await finishTurn(engine, turnWith(), { steering: { openMissingAnswer: false } });
    expect(partsOf(turn)).toEqual([["reasoning", "Let me think."]]);
    expect(turn.end.finish).toBe("stop");
  });

  test("that must be a document is an error if it is not opened", async () => {
    const engine = scriptedEngine([`${ANALYSIS}<|return|>`]);
    const turn = await finishTurn(engine, turnWith({ answer: SCHEMA }), {
      steering: { openMissingAnswer: false },
    });
    expect(turn.end).toMatchObject({ finish: "error", failure: { kind: "invalid_answer" } });
  });

  test.each([
    ["<|return|>", ""],
    [`${ANALYSIS}<|start|>assistant<|return|>`, ANALYSIS],
    [
      "<|channel|>analysis<|message|>x<|start|>assistant<|return|>",
      "<|channel|>analysis<|message|>x",
    ],
  ])("leaves no empty message in the prompt: %s", async (write, kept) => {
    for (const form of ["ids", "pieces", "text"] as const) {
      const engine = scriptedEngine([write, "Here.<|return|>"], { form });
      await finishTurn(engine, turnWith());
      const start = kept === "" ? "" : `${kept}<|start|>assistant`;
      expect(addedTo(engine, 1)).toBe(`${start}<|channel|>final<|message|>`);
      expectGrowingPrompts(engine);
    }
  });

  test("is not opened if the limit cut the reasoning", async () => {
    const engine = scriptedEngine([
      { write: "<|channel|>analysis<|message|>hm", finish: "length" },
    ]);
    const turn = await finishTurn(engine, turnWith({ maxOutputTokens: 4 }));
    expect(turn.end.finish).toBe("length");
    expect(engine.requests.length).toBe(1);
  });

  test("text without a header is an answer", async () => {
    const engine = scriptedEngine(["Just this.<|return|>"]);
    expect(partsOf(await finishTurn(engine, turnWith()))).toEqual([["content", "Just this."]]);
  });
});

describe("which tools may be called", () => {
  const allowed = turnWith({
    tools: [WEATHER, TIME],
    toolChoice: { type: "allowed", names: ["get_time"] },
  });
  const forbidden =
    '<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city":"Oslo"}<|call|>';

  test("a forbidden call is answered with an error the client never sees", async () => {
    const engine = scriptedEngine([forbidden, FINAL]);
    const turn = await finishTurn(engine, allowed);
    expect(partsOf(turn)).toEqual([["content", "Hello!"]]);
    expect(engine.prompts[1]).toMatch(/cannot be called now.*<\|start\|>assistant$/s);
    expectGrowingPrompts(engine);
  });

  test("a second forbidden call opens the answer", async () => {
    const engine = scriptedEngine([forbidden, forbidden, "Sorry.<|return|>"]);
    expect(partsOf(await finishTurn(engine, allowed))).toEqual([["content", "Sorry."]]);
  });

  test.each([
    ["nothing else", "", []],
    ["an answer before each", "Sorry.<|end|><|start|>assistant", [["content", "Sorry."]]],
  ])("a model that makes forbidden calls without end is stopped: %s", async (_, before, parts) => {
    const engine = scriptedEngine((__, call) => (call < 2 ? forbidden : before + forbidden));
    const turn = await finishTurn(engine, allowed);
    expect(partsOf(turn)).toEqual(parts);
    expect(turn.end.finish).toBe("stop");
    expect(engine.requests.length).toBeLessThan(6);
  });

  test("a tool that was not offered is passed on, so that the client can report it", async () => {
    const engine = scriptedEngine(["<|channel|>commentary to=functions.fly<|message|>{}<|call|>"]);
    const turn = await finishTurn(engine, turnWith({ tools: [TIME] }));
    expect(partsOf(turn)).toEqual([["tool-call", "{}", "fly"]]);
  });

  test("a tool that was not offered is refused if configured", async () => {
    const engine = scriptedEngine([
      "<|channel|>commentary to=functions.fly<|message|>{}<|call|>",
      FINAL,
    ]);
    const turn = await finishTurn(engine, turnWith({ tools: [TIME] }), {
      steering: { refuseUnofferedTools: true },
    });
    expect(partsOf(turn)).toEqual([["content", "Hello!"]]);
  });
});

describe("several calls", () => {
  const one = "<|channel|>commentary to=functions.get_time <|constrain|>json<|message|>{}<|call|>";
  const two = `${one}<|start|>assistant${one}`;

  test("that the model wrote are all returned", async () => {
    // A server would have stopped at the first `<|call|>`; one that does not must not lose the second.
    const engine = scriptedEngine([two]);
    const whole = spelledIds(two);
    engine.complete = async function* () {
      await Promise.resolve();
      yield { type: "open" };
      yield { type: "ids", ids: whole };
      yield { type: "finish", reason: "stop", nativeReason: "stop" };
    };
    const turn = await finishTurn(engine, turnWith({ tools: [TIME] }));
    expect(partsOf(turn).length).toBe(2);
  });

  test("are sampled if configured, until the model does something else", async () => {
    const engine = scriptedEngine([one, one, "<|channel|>final<|message|>made up"]);
    const turn = await finishTurn(engine, turnWith({ tools: [TIME] }), {
      steering: { sampleMoreCalls: true },
    });
    expect(partsOf(turn)).toEqual([
      ["tool-call", "{}", "get_time"],
      ["tool-call", "{}", "get_time"],
    ]);
    expectGrowingPrompts(engine);
  });

  test("are not sampled if the request allows one at most", async () => {
    const engine = scriptedEngine([one]);
    const turn = await finishTurn(engine, turnWith({ tools: [TIME], parallelToolCalls: false }), {
      steering: { sampleMoreCalls: true },
    });
    expect(partsOf(turn).length).toBe(1);
    expect(engine.requests.length).toBe(1);
  });
});

describe("engine output after the end of a turn", () => {
  // A message of another role ends it; a batch contains more than the message.
  const made = "<|channel|>final<|message|>Hi.<|end|><|start|>user<|message|>And you?<|end|>";

  test.each(["ids", "pieces"] as const)("counts nothing, however it arrives: %s", async (form) => {
    const ends = await Promise.all(
      [1, 1000].map(async (batch) => {
        const engine = scriptedEngine([made], { form, batch });
        const turn = await finishTurn(engine, turnWith());
        expect(partsOf(turn)).toEqual([["content", "Hi."]]);
        return turn.end;
      }),
    );
    expect(ends[1]).toEqual(ends[0]);
    expect(ends[0]).toMatchObject({ nativeReason: null, usage: { completionTokens: 9 } });
  });
});

describe("a client that leaves between two engine calls", () => {
  test.each([
    [
      "an answer of a form",
      turnWith({ answer: SCHEMA }),
      `${ANALYSIS}<|start|>assistant<|channel|>final<|message|>`,
    ],
    [
      "a required call",
      turnWith({ tools: [WEATHER], toolChoice: { type: "required", names: ["get_weather"] } }),
      "Hm.<|end|>",
    ],
  ])("leaves nothing behind: %s", async (_, turn, first) => {
    const engine = scriptedEngine([first, { write: '{"ci', hang: true }], CONSTRAINS);
    const abort = new AbortController();
    const finished = finishTurn(engine, turn, { signal: abort.signal });
    await expect.poll(() => engine.requests.length).toBe(2);
    abort.abort();
    await expect(finished).rejects.toThrow(/abort/);
    expect(engine.open).toBe(0);
  });
});

describe("a trailing assistant message", () => {
  const settled = (fields: Partial<Turn>) => settlePrefill(turnWith(fields));

  test("is the beginning of the answer: it is continued and not repeated", async () => {
    const engine = scriptedEngine([" a time.<|return|>"]);
    const turn = await finishTurn(engine, turnWith({ prefill: "Once upon" }));
    expect(engine.prompts[0]).toMatch(
      /<\|start\|>assistant<\|channel\|>final<\|message\|>Once upon$/,
    );
    expect(partsOf(turn)).toEqual([["content", " a time."]]);
  });

  test("is history if a call is required", async () => {
    const engine = scriptedEngine(["Hm.<|end|>", '{"city":"Oslo"}<|call|>']);
    const toolChoice = { type: "required", names: ["get_weather"] } as const;
    await finishTurn(engine, settled({ prefill: "Sunny.", tools: [WEATHER], toolChoice }));
    expect(engine.prompts[0]).toMatch(
      /<\|start\|>assistant<\|channel\|>final<\|message\|>Sunny\.<\|end\|><\|start\|>assistant<\|channel\|>analysis<\|message\|>$/,
    );
  });

  test.each([
    ['{"ci', "a document that has begun"],
    ['{"city": "Os', "one that ends in a string"],
    ['{"city": "a\\u00', "one that ends in an escape"],
    ['{"a": tr', "one that ends in a word"],
    ['{"a": -1.', "one that ends in a number"],
    ['{"a": 1,', "one that ends between members"],
    [" \n{", "white space before it"],
  ])("%j is the beginning of a document: %s", async (prefill) => {
    const engine = scriptedEngine(["x<|return|>", "x<|return|>"]);
    await finishTurn(engine, settled({ prefill, answer: SCHEMA }));
    expect(engine.prompts[0]?.endsWith(`<|message|>${prefill}`)).toBe(true);
  });

  test.each([
    ["It is sunny in Oslo.", "prose"],
    ['{"city":"Oslo"}', "a document that is complete"],
    ["[1,", "a document of another type"],
    ["{city", "no JSON"],
    ['{"a": 1 2', "JSON that is broken before its end"],
  ])("%j is history if a document is demanded: %s", async (prefill) => {
    const engine = scriptedEngine(['<|channel|>final<|message|>{"city":"Oslo"}<|return|>']);
    const turn = await finishTurn(engine, settled({ prefill, answer: SCHEMA }));
    expect(engine.prompts[0]?.endsWith(`${prefill}<|end|><|start|>assistant`)).toBe(true);
    expect(partsOf(turn)).toEqual([["content", '{"city":"Oslo"}']]);
  });

  test("of a document is also the beginning of the retry", async () => {
    const engine = scriptedEngine(['": 1}<|return|>', '": "Oslo"}<|return|>']);
    const turn = await finishTurn(engine, settled({ prefill: '{"city', answer: SCHEMA }));
    expect(partsOf(turn)).toEqual([["content", '": "Oslo"}']]);
    expect(engine.prompts[1]?.endsWith('final<|message|>{"city')).toBe(true);
  });
});
