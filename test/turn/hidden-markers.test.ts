/** Engines that give text without the control tokens: refused, unless the operator allows them. */
import { describe, expect, test } from "vitest";
import type { Engine } from "../../src/index.ts";
import type { Script, ScriptedOptions } from "../helpers/scripted-engine.ts";
import { scriptedEngine } from "../helpers/scripted-engine.ts";
import {
  collect,
  finishTurn,
  modelOf,
  offeredTool,
  partsOf,
  type RunOptions,
  startTurn,
  turnWith,
} from "../helpers/turns.ts";

const ANSWER = "analysisThey greet me.assistantfinalHello!";

function textEngine(writes: readonly Script[], options: ScriptedOptions = {}) {
  return scriptedEngine(writes, {
    form: "text",
    counts: false,
    ...options,
    capabilities: { showsMarkers: false, ...options.capabilities },
  });
}

/** Turn after turn of one model, which remembers what the engine has shown. */
function asking(engine: Engine, steering: RunOptions["steering"] = {}) {
  const model = modelOf(engine, { steering });
  return () => collect(model.run(turnWith(), new AbortController().signal));
}

const REFUSED = {
  kind: "hidden-markers",
  message:
    "The engine of this model hides control tokens, so reasoning cannot be told from the answer. Configure the engine to show special tokens, or set allowHiddenMarkers.",
};

describe("an engine that was found to hide control tokens", () => {
  test("is not called", async () => {
    const engine = textEngine([], { capabilities: { idsOut: "unmarked" } });
    await expect(finishTurn(engine, turnWith())).rejects.toMatchObject(REFUSED);
    expect(engine.requests).toEqual([]);
  });
});

test("if allowed, an engine that is known to hide them is read by header words", async () => {
  const turn = await finishTurn(
    textEngine(["finalHello!"], { capabilities: { idsOut: "unmarked" } }),
    turnWith(),
    { steering: { allowHiddenMarkers: true } },
  );
  expect(partsOf(turn)).toEqual([["content", "Hello!"]]);
});

describe("an answer whose control tokens are hidden", () => {
  test.each([1, 4, 100])(
    "is refused before any of it is emitted, in reads of %i",
    async (batch) => {
      const engine = textEngine([ANSWER], { batch });
      const events: string[] = [];
      const read = async () => {
        for await (const { type } of startTurn(engine, turnWith())) events.push(type);
      };
      await expect(read()).rejects.toMatchObject(REFUSED);
      expect(events).toEqual(["start"]);
      expect(engine.open).toBe(0);
    },
  );

  test("is refused too if only its truncated end shows it", async () => {
    const engine = textEngine([{ write: "analysisThey greet", finish: "length" }]);
    await expect(finishTurn(engine, turnWith())).rejects.toMatchObject(REFUSED);
  });

  test.each([
    "analysisThey greet me. assistant",
    "analysisThey greet me.",
    "Analysis They greet me.",
    "thinkingThey greet me",
    "finalHello!",
    "Hello!",
    `analysis ${"word ".repeat(5000)}`,
    'final json{"a":1}',
  ])("is refused too where no second header shows it: %.30s", async (text) => {
    await expect(finishTurn(textEngine([text]), turnWith())).rejects.toMatchObject(REFUSED);
  });

  test("is refused too after empty analysis that the gateway wrote", async () => {
    const engine = textEngine(["thinkingThey greet me"]);
    const turn = turnWith({ reasoning: { enabled: false }, tools: [offeredTool("find")] });
    await expect(finishTurn(engine, turn)).rejects.toMatchObject(REFUSED);
  });

  test.each([
    [1, "analysis"],
    [5, "analysis"],
    [100, "analysis"],
    [1, "thinking"],
    [100, "Analysis"],
  ])(
    "is refused too after an answer that the gateway opened, in reads of %i: %s",
    async (batch, channel) => {
      const engine = textEngine([`aassistant${channel}They greet me.assistantfinalHello!`], {
        batch,
      });
      const shown: string[] = [];
      const read = async () => {
        for await (const event of startTurn(engine, turnWith({ prefill: "I say" }))) {
          if (event.type === "part-delta") shown.push(event.text);
        }
      };
      await expect(read()).rejects.toMatchObject(REFUSED);
      expect(shown.join("")).not.toContain("They");
    },
  );

  test("an answer that the gateway opened needs no markers", async () => {
    const engine = textEngine([" hello, assistant of mine."]);
    const turn = await finishTurn(engine, turnWith({ prefill: "I say" }));
    expect(partsOf(turn)).toEqual([["content", " hello, assistant of mine."]]);
  });

  test.each([1, 100])(
    "is not judged by what follows a stop string, in reads of %i",
    async (batch) => {
      const engine = textEngine([" hello STOP assistantfinal"], { batch });
      const turn = await finishTurn(engine, turnWith({ prefill: "I say", stop: ["STOP"] }));
      expect(partsOf(turn)).toEqual([["content", " hello "]]);
    },
  );

  test("is read where it is allowed", async () => {
    const turn = await finishTurn(textEngine([ANSWER]), turnWith(), {
      steering: { allowHiddenMarkers: true },
    });
    expect(partsOf(turn)).toEqual([
      ["reasoning", "They greet me."],
      ["content", "Hello!"],
    ]);
  });

  test("is attributed to the model if an earlier answer has shown some", async () => {
    const engine = textEngine(["<|channel|>final<|message|>Hi<|return|>", ANSWER]);
    const ask = asking(engine);
    await ask();
    expect(partsOf(await ask())).toHaveLength(2);
  });

  test("is attributed to the model if the probe has seen some", async () => {
    const engine = textEngine([ANSWER], { capabilities: { showsMarkers: true } });
    expect(partsOf(await finishTurn(engine, turnWith()))).toHaveLength(2);
  });

  test("is attributed to the model if ids came", async () => {
    const turn = await finishTurn(scriptedEngine([ANSWER]), turnWith());
    expect(partsOf(turn)).toHaveLength(2);
  });
});

describe("with several backends, each is judged separately", () => {
  const good = ["<|channel|>final<|message|>Hi<|return|>"];

  /** Uses the engines in order, one for each request. */
  function inTurn(...engines: readonly Engine[]): Engine {
    let calls = 0;
    const [first] = engines;
    if (first === undefined) throw new Error("no engine");
    return {
      ...first,
      capabilities: first.capabilities,
      async *complete(request, signal) {
        const engine = engines[calls++ % engines.length] ?? first;
        for await (const event of engine.complete(request, signal)) {
          yield event.type === "open" ? { type: "open", engine } : event;
        }
      },
    };
  }

  test("control tokens seen from one do not count for another", async () => {
    const ask = asking(inTurn(textEngine(good), textEngine([ANSWER])));
    await ask();
    await expect(ask()).rejects.toMatchObject(REFUSED);
  });

  test("one that is known to hide them is refused before its answer, the others are not", async () => {
    const hiding = textEngine(["finalHello!"], { capabilities: { idsOut: "unmarked" } });
    const ask = asking(inTurn(textEngine(good), hiding));
    expect(partsOf(await ask())).toEqual([["content", "Hi"]]);
    await expect(ask()).rejects.toMatchObject(REFUSED);
    expect(hiding.open).toBe(0);
  });

  test("one that is known to hide them is read by header words if allowed", async () => {
    const hiding = textEngine(["finalHello!"], { capabilities: { idsOut: "unmarked" } });
    const ask = asking(inTurn(textEngine(good), hiding), { allowHiddenMarkers: true });
    await ask();
    expect(partsOf(await ask())).toEqual([["content", "Hello!"]]);
  });
});

test("where control tokens have been seen, an answer that merely begins like a header is an answer", async () => {
  const text = "analysis of this shows: finally done.";
  const turn = await finishTurn(
    textEngine([text], { capabilities: { showsMarkers: true } }),
    turnWith(),
  );
  expect(partsOf(turn)).toEqual([["content", text]]);
});
