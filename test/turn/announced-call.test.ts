/** A turn that ends after a preamble, though tools are offered: the model begins another message before the answer is opened. */
import { describe, expect, test } from "vitest";
import { TURN_REPAIRS } from "../../src/turn/repairs.ts";
import { fakeTool } from "../helpers/fake-tool.ts";
import { type Script, scriptedEngine, type ScriptedOptions } from "../helpers/scripted-engine.ts";
import {
  finishTurn,
  formedAnswer,
  offeredTool,
  partsOf,
  turnWith,
  type Turn,
} from "../helpers/turns.ts";
import { parseJson } from "../../src/harmony/index.ts";

const TEXT = "I will look at the tests first.";
const PREAMBLE = `<|channel|>commentary<|message|>${TEXT}`;
const CALL = ' to=functions.f<|channel|>commentary json<|message|>{"a":1}<|call|>';
const FINAL = "<|channel|>final<|message|>Done.<|return|>";
const THOUGHT = "<|channel|>analysis<|message|>Hm.<|end|>";
const REPAIR = "announced-call";

const tools = [offeredTool("f")];
const offered = turnWith({ tools });
const gatewayTools: NonNullable<Turn["gatewayTools"]> = {
  tools: [fakeTool({ answer: () => "1" })],
  maxCalls: 3,
  citations: "raw",
};

/** `repairs` are the turn's own. */
async function run(
  scripts: readonly Script[],
  turn: Turn = offered,
  { steering = {}, ...options }: ScriptedOptions & { steering?: object } = {},
) {
  const engine = scriptedEngine(scripts, options);
  const { end, ...finished } = await finishTurn(engine, turn, { steering });
  return {
    parts: partsOf({ end, ...finished }),
    finish: end.finish,
    repairs: Object.fromEntries([...end.recoveries].filter(([name]) => name in TURN_REPAIRS)),
    calls: engine.requests.length,
    added: engine.prompts.map((prompt) => prompt.slice(engine.prompts[0]?.length)),
    end,
  };
}

describe("the model chooses again", () => {
  test("and calls the tool that it has announced", async () => {
    const { added, parts, finish, repairs } = await run([
      `${THOUGHT}<|start|>assistant${PREAMBLE}<|return|>`,
      CALL,
    ]);
    expect(parts).toEqual([
      ["reasoning", "Hm."],
      ["preamble", TEXT],
      ["tool-call", '{"a":1}', "f"],
    ]);
    expect([finish, repairs]).toEqual(["tool-calls", { [REPAIR]: 1 }]);
    expect(added[1]).toBe(`${THOUGHT}<|start|>assistant${PREAMBLE}<|end|><|start|>assistant`);
  });

  test("and answers, if that was all that it wanted", async () => {
    const { parts, finish, repairs, calls } = await run([`${PREAMBLE}<|return|>`, FINAL]);
    expect(parts).toEqual([
      ["preamble", TEXT],
      ["content", "Done."],
    ]);
    expect([finish, repairs, calls]).toEqual(["stop", { [REPAIR]: 1 }, 2]);
  });

  test.each([
    ["<|end|> and nothing else", `${PREAMBLE}<|end|>`],
    ["<|end|> and a message that was only begun", `${PREAMBLE}<|end|><|start|>assistant<|return|>`],
    ["a stop token that the engine hides", PREAMBLE],
    ["<|endoftext|>", `${PREAMBLE}<|endoftext|>`],
  ])("behind %s", async (_, write) => {
    for (const form of ["ids", "pieces", "text"] as const) {
      const { added, repairs } = await run([write, CALL], offered, { form });
      expect(added[1]).toBe(`${PREAMBLE}<|end|><|start|>assistant`);
      expect(repairs).toEqual({ [REPAIR]: 1 });
    }
  });

  test("among the tools that are allowed", async () => {
    const toolChoice = { type: "allowed", names: ["f"] } as const;
    const { parts } = await run([`${PREAMBLE}<|return|>`, CALL], { ...offered, toolChoice });
    expect(parts.at(-1)).toEqual(["tool-call", '{"a":1}', "f"]);
  });

  test("among tools that the gateway runs", async () => {
    const call = "<|channel|>analysis to=python code<|message|>1<|call|>";
    const { parts, repairs } = await run(
      [`${PREAMBLE}<|return|>`, call, FINAL],
      turnWith({ gatewayTools }),
    );
    expect(parts.map(([kind]) => kind)).toEqual(["preamble", "builtin-call", "content"]);
    expect(repairs).toEqual({ [REPAIR]: 1 });
  });

  test("also with one call at most", async () => {
    const { parts } = await run([`${PREAMBLE}<|return|>`, CALL], {
      ...offered,
      parallelToolCalls: false,
    });
    expect(parts.at(-1)).toEqual(["tool-call", '{"a":1}', "f"]);
  });
});

describe("it chooses once: then the answer is opened as without a preamble", () => {
  test.each([
    ["another preamble", `${PREAMBLE}<|return|>`],
    ["reasoning only", `${THOUGHT}<|return|>`],
    ["nothing", "<|return|>"],
  ])("%s", async (_, second) => {
    const { added, repairs, calls, parts } = await run([
      `${PREAMBLE}<|return|>`,
      second,
      "Done.<|return|>",
    ]);
    expect(repairs).toEqual({ [REPAIR]: 1, "missing-answer": 1 });
    expect(calls).toBe(3);
    expect(added[2]?.endsWith("<|start|>assistant<|channel|>final<|message|>")).toBe(true);
    expect(parts.at(-1)).toEqual(["content", "Done."]);
  });

  test("reasoning that uses up its budget is cut, and the model does not choose again", async () => {
    const { repairs, calls } = await run(
      [
        `${PREAMBLE}<|return|>`,
        "<|channel|>analysis<|message|>One two three.<|end|>",
        "Done.<|return|>",
      ],
      turnWith({ tools, reasoning: { enabled: true, maxTokens: 2 } }),
    );
    expect(repairs).toEqual({ [REPAIR]: 1, "cut-reasoning": 1 });
    expect(calls).toBe(3);
  });
});

describe("the turn goes on as before, if", () => {
  const none = { "missing-answer": 1 };
  const ended = `${PREAMBLE}<|return|>`;
  test.each<{ why: string; write?: string; turn?: Turn; steering?: object; repairs?: object }>([
    { why: "no tools are offered", turn: turnWith(), repairs: none },
    {
      why: "the tools may not be called",
      turn: { ...offered, toolChoice: { type: "none" } },
      repairs: none,
    },
    {
      why: "none of the tools is allowed",
      turn: { ...offered, toolChoice: { type: "allowed", names: [] } },
      repairs: none,
    },
    { why: "the setting is off", steering: { continueAnnouncedCalls: false }, repairs: none },
    {
      why: "the preamble is empty",
      write: "<|channel|>commentary<|message|><|return|>",
      repairs: none,
    },
    {
      why: "the preamble is white space",
      write: "<|channel|>commentary<|message|> \n<|return|>",
      repairs: none,
    },
    {
      why: "reasoning follows the preamble",
      write: `${PREAMBLE}<|end|><|start|>assistant${THOUGHT}<|return|>`,
      repairs: none,
    },
    { why: "there is reasoning only", write: `${THOUGHT}<|return|>`, repairs: none },
    {
      why: "the answer must be a document",
      turn: turnWith({ tools, answer: formedAnswer("out", parseJson('{"type":"string"}')) }),
      repairs: none,
    },
    {
      why: "there is an answer",
      write: `${FINAL.replace("<|return|>", "<|end|>")}<|start|>assistant${ended}`,
    },
    { why: "there is a call", write: `${PREAMBLE}<|end|><|start|>assistant${CALL}` },
    {
      why: "the limit has cut the preamble",
      turn: { ...offered, maxOutputTokens: 6 },
    },
    {
      why: "a stop string has cut the preamble",
      turn: { ...offered, stop: ["tests"], textSeparator: "\n\n" },
      write: `${PREAMBLE}<|end|><|start|>assistant<|channel|>final<|message|>tests<|return|>`,
    },
  ])("$why", async ({ write = ended, turn, steering = {}, repairs = {} }) => {
    const outcome = await run([write, '"Done."<|return|>'], turn, { steering });
    expect(outcome.repairs).toEqual(repairs);
  });

  test("a refused call follows the preamble: its error is the last message", async () => {
    const refused = " to=functions.g<|channel|>commentary json<|message|>{}<|call|>";
    const { repairs } = await run(
      [`${PREAMBLE}<|end|><|start|>assistant${refused}`, "<|return|>", "Done.<|return|>"],
      { ...offered, toolChoice: { type: "allowed", names: ["f"] } },
    );
    expect(repairs).toEqual({ "refused-call": 1, "missing-answer": 1 });
  });
});
