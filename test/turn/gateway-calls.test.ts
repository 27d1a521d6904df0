import { describe, expect, test } from "vitest";
import { scriptedEngine, type ScriptedEngine } from "../helpers/scripted-engine.ts";
import { fakeBrowser, fakeTool } from "../helpers/fake-tool.ts";
import {
  type FinishedTurn,
  finishTurn,
  formedAnswer,
  offeredTool,
  startTurn,
  turnWithTools,
  type TurnEvent,
} from "../helpers/turns.ts";
import { parseJson } from "../../src/harmony/index.ts";

const ANALYSIS = "<|channel|>analysis<|message|>Let me compute.<|end|><|start|>assistant";
const CALL = "<|channel|>analysis to=python code<|message|>print(1)<|call|>";
const SEARCH = '<|channel|>analysis to=browser.search code<|message|>{"query":"x"}<|call|>';
/** A function of the server `files`. */
const OWN = (name: string) => ({
  name: `files.${name}`,
  recipient: `files.${name}`,
  shown: { name, description: "", namespace: { name: "files" } },
});
const FINAL = "<|channel|>final<|message|>One.<|return|>";

function outline({ parts }: FinishedTurn): string[] {
  return parts.map((part) =>
    part.kind === "builtin-call" || part.kind === "tool-call"
      ? `${part.kind} ${part.name} ${part.text}`
      : `${part.kind} ${part.text}`,
  );
}

/** The text that the prompt of the last engine call adds to the first call's prompt. */
function added(engine: ScriptedEngine): string {
  const [first = ""] = engine.prompts;
  const last = engine.prompts.at(-1) ?? "";
  expect(last.startsWith(first)).toBe(true);
  return last.slice(first.length);
}

async function readAll(events: AsyncIterable<TurnEvent>): Promise<TurnEvent[]> {
  const all: TurnEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
}

describe.each(["ids", "pieces", "text"] as const)("on an engine that gives %s", (form) => {
  test("a call is run, its result appended, and the model continues", async () => {
    const tool = fakeTool({ answer: () => "1\n" });
    const engine = scriptedEngine([ANALYSIS + CALL, FINAL], { form });
    const turn = await finishTurn(engine, turnWithTools([tool]));
    expect(outline(turn)).toEqual([
      "reasoning Let me compute.",
      "builtin-call python print(1)",
      "content One.",
    ]);
    expect(tool.calls).toMatchObject([{ recipient: "python", body: "print(1)" }]);
    expect(added(engine)).toBe(
      "<|channel|>analysis<|message|>Let me compute.<|end|><|start|>assistant" +
        "<|channel|>analysis to=python code<|message|>print(1)<|call|>" +
        "<|start|>python to=assistant<|channel|>analysis<|message|>1\n<|end|><|start|>assistant",
    );
    expect(turn.end).toMatchObject({
      finish: "stop",
      usage: { engineCalls: 2, gatewayTools: { requested: 1, executed: 1, searches: 0 } },
    });
    expect(tool.openRuns()).toBe(0);
  });
});

test("events: the call, its result, then what comes next", async () => {
  const engine = scriptedEngine([CALL, FINAL]);
  const events = await readAll(startTurn(engine, turnWithTools([fakeTool()])));
  const result = events.find((event) => event.type === "builtin-result");
  expect(events.filter(({ type }) => type !== "part-delta").map(({ type }) => type)).toEqual([
    "start",
    "part-start",
    "part-end",
    "builtin-result",
    "part-start",
    "part-end",
    "end",
  ]);
  expect(result).toMatchObject({
    id: "call_1",
    failed: false,
    messages: [
      {
        role: "assistant",
        recipient: "python",
        channel: "analysis",
        contentType: "code",
        content: "print(1)",
      },
      {
        role: "tool",
        name: "python",
        recipient: "assistant",
        channel: "analysis",
        content: "ok",
      },
    ],
  });
});

test("several calls of several tools share one transcript that only grows", async () => {
  const engine = scriptedEngine([SEARCH, CALL, SEARCH, FINAL]);
  const turn = await finishTurn(engine, turnWithTools([fakeTool(), fakeBrowser()]));
  expect(outline(turn)).toHaveLength(4);
  for (const [index, { prompt }] of engine.requests.entries()) {
    const before = engine.requests[index - 1]?.prompt.ids ?? [];
    expect(prompt.ids.slice(0, before.length)).toEqual(before);
  }
  expect(turn.end.usage.gatewayTools).toMatchObject({ requested: 3, executed: 3, searches: 2 });
});

test("calls and analysis count as reasoning, results do not", async () => {
  const tool = fakeTool({ answer: () => "result ".repeat(50) });
  const turn = await finishTurn(scriptedEngine([CALL, FINAL]), turnWithTools([tool]));
  const { completionTokens, reasoningTokens, gatewayTools } = turn.end.usage;
  expect(reasoningTokens).toBe(4);
  expect(completionTokens).toBeLessThan(20);
  expect(gatewayTools?.outputTokens).toBe(51);
});

describe("limits", () => {
  test("when the calls are used up, the result says so and the answer is opened", async () => {
    const tool = fakeTool();
    const engine = scriptedEngine([CALL, CALL, "One.<|return|>"]);
    const turn = await finishTurn(engine, turnWithTools([tool], { maxCalls: 1 }));
    expect(tool.calls).toHaveLength(1);
    expect(added(engine)).toMatch(
      /Error: no more tool calls are available\. Answer now\.<\|end\|><\|start\|>assistant<\|channel\|>final<\|message\|>$/,
    );
    expect(outline(turn).at(-1)).toBe("content One.");
    expect(turn.end.recoveries.get("exhausted-tools")).toBe(1);
    expect(turn.end.usage.gatewayTools).toMatchObject({ requested: 2, executed: 1 });
  });

  test("a result is cut so that the answer fits, and says so", async () => {
    const tool = fakeTool({ answer: () => "word ".repeat(100_000) });
    const engine = scriptedEngine([CALL, FINAL]);
    const turn = await finishTurn(engine, turnWithTools([tool]), { contextLength: 4096 });
    expect(outline(turn).at(-1)).toBe("content One.");
    const { prompt, maxTokens } = engine.requests.at(-1) ?? {};
    expect(prompt?.ids.length).toBeLessThan(4096 - 1000);
    expect(maxTokens).toBeGreaterThanOrEqual(1000);
    expect(added(engine)).toMatch(/\[The result was cut here: \d+ tokens of it fit\.\]/);
  });

  test("without room for a result the answer is opened", async () => {
    const tool = fakeTool({ answer: () => "word ".repeat(1000) });
    const engine = scriptedEngine([CALL, "One.<|return|>"]);
    const turn = await finishTurn(engine, turnWithTools([tool]), { contextLength: 400 });
    expect(outline(turn).at(-1)).toBe("content One.");
    expect(turn.end.recoveries.has("exhausted-tools")).toBe(true);
  });

  test("when the time for all calls is over, running calls are stopped and their results say so", async () => {
    let stopped = false;
    const tool = fakeTool({
      answer: (_, signal) =>
        new Promise((resolve) => {
          signal.addEventListener("abort", () => {
            stopped = true;
            resolve("late");
          });
        }),
    });
    const engine = scriptedEngine([CALL, FINAL]);
    const turn = await finishTurn(engine, turnWithTools([tool], { timeoutMs: 1 }));
    expect(stopped).toBe(true);
    expect(added(engine)).toContain("Error: the time for tool calls is over. Answer now.");
    expect(turn.end.finish).toBe("stop");
  });
});

describe("what goes wrong", () => {
  test("an exception of the tool is a result without its text", async () => {
    const tool = fakeTool({
      answer() {
        throw new Error("connect 10.0.0.7: secret");
      },
    });
    const engine = scriptedEngine([CALL, FINAL]);
    const turn = await finishTurn(engine, turnWithTools([tool]));
    expect(added(engine)).toContain("<|message|>Error: the tool failed.<|end|>");
    expect(turn.parts[0]?.result?.failed).toBe(true);
    expect(turn.end.finish).toBe("stop");
  });

  test("a tool that cannot be opened fails its call only", async () => {
    const tool = { ...fakeTool(), open: () => Promise.reject(new Error("no runtime")) };
    const turn = await finishTurn(scriptedEngine([CALL, FINAL]), turnWithTools([tool]));
    expect(turn.parts[0]?.result?.failed).toBe(true);
    expect(outline(turn).at(-1)).toBe("content One.");
  });

  test("an abort stops and closes a running tool", async () => {
    const abort = new AbortController();
    const tool = fakeTool({
      answer() {
        abort.abort(new Error("gone"));
        return new Promise(() => {});
      },
    });
    const running = finishTurn(scriptedEngine([CALL]), turnWithTools([tool]), {
      signal: abort.signal,
    });
    await expect(running).rejects.toThrow("gone");
    expect(tool.openRuns()).toBe(0);
  });

  test("a consumer that stops while a tool runs ends the turn", async () => {
    const tool = fakeTool();
    const engine = scriptedEngine([CALL, FINAL]);
    const events = startTurn(engine, turnWithTools([tool]));
    for await (const event of events) if (event.type === "part-end") break;
    expect(engine.open).toBe(0);
    expect(tool.openRuns()).toBe(0);
  });

  test("a call that the output limit cuts is not run", async () => {
    const tool = fakeTool();
    const turn = await finishTurn(
      scriptedEngine([CALL]),
      turnWithTools([tool], {}, { maxOutputTokens: 7 }),
    );
    expect(turn.end.finish).toBe("length");
    expect(tool.calls).toEqual([]);
  });

  test("a tool that was not offered is refused, not given to the client", async () => {
    const call = '<|channel|>analysis to=container.exec code<|message|>{"cmd":["ls"]}<|call|>';
    const engine = scriptedEngine([call, FINAL]);
    const turn = await finishTurn(engine, turnWithTools([fakeTool()]));
    expect(outline(turn)).toEqual(["content One."]);
    expect(added(engine)).toContain(
      'Error: the function \\"container.exec\\"'.replaceAll("\\", ""),
    );
    expect(added(engine)).toContain("Functions: python.");
  });
});

describe("beside functions of the client's", () => {
  const own = "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>";

  test("a call of the client's ends the turn, and built-in calls do not count", async () => {
    const engine = scriptedEngine([CALL, own]);
    const turn = await finishTurn(
      engine,
      turnWithTools([fakeTool()], {}, { tools: [offeredTool("f")], parallelToolCalls: false }),
    );
    expect(outline(turn)).toEqual(["builtin-call python print(1)", "tool-call f {}"]);
    expect(turn.end.finish).toBe("tool-calls");
  });

  test("where a function must be called, the model may use its own tools before", async () => {
    const engine = scriptedEngine([CALL, own]);
    const turn = await finishTurn(
      engine,
      turnWithTools(
        [fakeTool()],
        {},
        { tools: [offeredTool("f")], toolChoice: { type: "required", names: ["f"] } },
      ),
    );
    expect(outline(turn)).toEqual(["builtin-call python print(1)", "tool-call f {}"]);
  });

  test("a built-in call after a call to a client's tool is not run", async () => {
    const tool = fakeTool();
    const engine = scriptedEngine([own, CALL]);
    const turn = await finishTurn(
      engine,
      turnWithTools([tool], {}, { tools: [offeredTool("f")] }),
      { steering: { sampleMoreCalls: true } },
    );
    expect(tool.calls).toEqual([]);
    expect(outline(turn)).toEqual(["tool-call f {}"]);
  });

  test("a function that the gateway runs is called by name", async () => {
    const tool = fakeTool({
      name: "mcp:files",
      functions: [OWN("read")],
      rawBody: false,
      accepts: (recipient) => recipient === "files.read",
      origin: () => ({ server: "files", tool: "read" }),
    });
    const { namespace: _, ...functionsOnly } = tool;
    const call = '<|channel|>commentary to=files.read <|constrain|>json<|message|>{"p":1}<|call|>';
    const engine = scriptedEngine([call, FINAL]);
    const turn = await finishTurn(engine, turnWithTools([functionsOnly]));
    expect(turn.parts[0]).toMatchObject({
      kind: "builtin-call",
      name: "files.read",
      origin: { server: "files", tool: "read" },
      text: '{"p":1}',
    });
    expect(added(engine)).toContain(
      "<|start|>files.read to=assistant<|channel|>commentary<|message|>ok<|end|>",
    );
  });
});

describe("approvals", () => {
  const tool = () =>
    fakeTool({
      functions: [OWN("delete")],
      rawBody: false,
      accepts: (recipient) => recipient === "files.delete",
      origin: () => ({ server: "files", tool: "delete" }),
      needsApproval: () => true,
    });
  const call = '<|channel|>commentary to=files.delete <|constrain|>json<|message|>{"p":1}<|call|>';

  test("a call that needs one ends the turn and is not run", async () => {
    const guarded = tool();
    const turn = await finishTurn(scriptedEngine([call]), turnWithTools([guarded]));
    expect(guarded.calls).toEqual([]);
    expect(turn.parts).toMatchObject([{ kind: "builtin-call", awaitsApproval: true }]);
    expect(turn.end.finish).toBe("stop");
  });

  test("once approved, it is made before anything is sampled", async () => {
    const guarded = tool();
    const engine = scriptedEngine([FINAL]);
    const turn = await finishTurn(
      engine,
      turnWithTools([guarded], {
        approved: [{ recipient: "files.delete", body: '{"p":1}', requestId: "mcpr_1" }],
      }),
    );
    expect(guarded.calls).toMatchObject([{ body: '{"p":1}' }]);
    expect(engine.prompts[0]).toContain(
      'to=files.delete<|channel|>commentary <|constrain|>json<|message|>{"p":1}<|call|>' +
        "<|start|>files.delete to=assistant<|channel|>commentary<|message|>ok<|end|><|start|>assistant",
    );
    expect(outline(turn)).toEqual(['builtin-call files.delete {"p":1}', "content One."]);
  });
});

describe("code", () => {
  test("a first call can be forced", async () => {
    const tool = fakeTool();
    const engine = scriptedEngine(["print(2)<|call|>", FINAL]);
    const turn = await finishTurn(engine, turnWithTools([tool], { forced: ["python"] }));
    expect(engine.prompts[0]).toMatch(
      /<\|start\|>assistant to=python<\|channel\|>analysis code<\|message\|>$/,
    );
    expect(tool.calls).toMatchObject([{ body: "print(2)" }]);
    expect(outline(turn).at(-1)).toBe("content One.");
  });

  test("code that came as a JSON argument is unwrapped, and the transcript keeps what was written", async () => {
    const tool = fakeTool();
    const call =
      '<|channel|>commentary to=functions.python <|constrain|>json<|message|>{"code":"print(2)"}<|call|>';
    const engine = scriptedEngine([call, FINAL]);
    const turn = await finishTurn(engine, turnWithTools([tool]));
    expect(outline(turn)[0]).toBe("builtin-call python print(2)");
    expect(added(engine)).toContain('{"code":"print(2)"}<|call|><|start|>python to=assistant');
    expect([...turn.end.recoveries.keys()]).toEqual(["functions-prefix", "wrapped-code"]);
  });

  test("streams, and a dictionary is only code", async () => {
    const call = "<|channel|>analysis to=python code<|message|>{'a': 1}<|call|>";
    const turn = await finishTurn(scriptedEngine([call, FINAL]), turnWithTools([fakeTool()]));
    expect(outline(turn)[0]).toBe("builtin-call python {'a': 1}");
  });

  test("an empty call is run all the same", async () => {
    const tool = fakeTool();
    const call = "<|channel|>analysis to=python code<|message|><|call|>";
    const turn = await finishTurn(scriptedEngine([call, FINAL]), turnWithTools([tool]));
    expect(tool.calls).toMatchObject([{ body: "" }]);
    expect(outline(turn)).toEqual(["builtin-call python ", "content One."]);
  });
});

describe("state", () => {
  test("a tool gets back what it saved, and its new state comes at the end", async () => {
    const tool = fakeTool({ save: () => "two" });
    const turn = await finishTurn(
      scriptedEngine([CALL, FINAL]),
      turnWithTools([tool], {
        saved: new Map([
          ["python", "one"],
          ["browser", "kept"],
        ]),
      }),
    );
    expect(tool.sessions).toMatchObject([{ tenant: "anonymous", saved: "one" }]);
    expect(turn.end.toolStates).toEqual(
      new Map([
        ["python", "two"],
        ["browser", "kept"],
      ]),
    );
    expect(turn.parts[0]?.result?.state).toEqual({ tool: "python", saved: "two" });
  });

  test("a turn without calls opens no tool", async () => {
    const tool = fakeTool();
    await finishTurn(scriptedEngine([FINAL]), turnWithTools([tool]));
    expect(tool.sessions).toEqual([]);
  });
});

describe("citations", () => {
  const cite = () => ({ url: "https://a.example/x", title: "A page" });
  const browser = () => fakeBrowser({ cite: (cursor) => (cursor === 1 ? cite() : undefined) });
  const cited = "<|channel|>final<|message|>It is 0.5%【1†L1】.<|return|>";

  test.each(["ids", "pieces", "text"] as const)(
    "become links as they stream (%s)",
    async (form) => {
      const engine = scriptedEngine([SEARCH, cited], { form });
      const turn = await finishTurn(engine, turnWithTools([browser()]));
      const text = "It is 0.5% ([a.example](https://a.example/x)).";
      expect(turn.parts.at(-1)).toMatchObject({
        text,
        citations: [{ url: "https://a.example/x", title: "A page", start: 10, end: 45 }],
      });
      expect(text.slice(10, 45)).toBe(" ([a.example](https://a.example/x))");
    },
  );

  test.each([
    ["link", "I have found it."],
    ["raw", "I have found it【1†L1】."],
  ] as const)("of a preamble are removed, unless they stay raw: %s", async (citations, text) => {
    const preamble =
      "<|channel|>commentary<|message|>I have found it【1†L1】.<|end|><|start|>assistant";
    const engine = scriptedEngine([SEARCH, preamble + cited]);
    const turn = await finishTurn(engine, turnWithTools([browser()], { citations }));
    expect(turn.parts.find(({ kind }) => kind === "preamble")).toMatchObject({ text });
  });

  test("stop strings apply to what was sampled", async () => {
    const turn = await finishTurn(
      scriptedEngine([SEARCH, cited]),
      turnWithTools([browser()], {}, { stop: ["a.example", "."] }),
    );
    expect(turn.parts.at(-1)?.text).toBe("It is 0");
  });

  test("in a document the markers are cut, before it is checked", async () => {
    const format = formedAnswer("out", parseJson('{"type":"object"}'));
    const document = '<|channel|>final<|message|>{"a":"b【1†L3】"}<|return|>';
    const turn = await finishTurn(
      scriptedEngine([SEARCH, document]),
      turnWithTools([browser()], {}, { answer: format }),
    );
    expect(turn.parts.at(-1)).toMatchObject({ text: '{"a":"b"}' });
    expect(turn.parts.at(-1)).not.toHaveProperty("citations");
    expect(turn.end.finish).toBe("stop");
  });

  test("an annotation at the very end of an answer is not lost", async () => {
    const atEnd = "<|channel|>final<|message|>Yes【1†L1】<|return|>";
    const turn = await finishTurn(
      scriptedEngine([SEARCH, atEnd]),
      turnWithTools([browser()], { citations: "annotate" }),
    );
    expect(turn.parts.at(-1)).toMatchObject({
      text: "Yes",
      citations: [{ start: 3, end: 3 }],
    });
  });
});
