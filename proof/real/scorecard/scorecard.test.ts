import { createServer } from "node:http";
import { describe, expect, test } from "vitest";
import { type Outcome, waitUntilReady } from "./client.ts";
import { type CorpusTurn, readCorpus } from "./corpus.ts";
import { judge } from "./judge.ts";
import { readPromptCalls } from "./prompt-calls.ts";
import { printScores, rightPercent } from "./table.ts";
import { spelledIds } from "../../../test/helpers/spelled.ts";

const DONE = { content: "Done.", reasoning: "", tool_calls: [] };
const TURN: CorpusTurn = { request: { messages: [] }, completion: [], accept: [DONE] };
const ANSWERED: Outcome = { status: 200, answer: DONE, finish: "stop", raw: "", callIds: [] };
const NOTHING = { ...DONE, content: "" };

function call(city: string): string {
  return `<|start|>assistant to=functions.f<|channel|>commentary json<|message|>{"city":"${city}"}<|call|>`;
}

function result(text: string): string {
  return `<|start|>functions.f to=assistant<|channel|>commentary<|message|>${text}<|end|>`;
}

function verdict(turn: Partial<CorpusTurn>, outcome: Partial<Outcome> = {}, prompt = "") {
  return judge(
    { ...TURN, ...turn },
    { ...ANSWERED, ...outcome },
    [spelledIds(prompt)],
    undefined,
    undefined,
  );
}

test("each case of the corpus has a name of its own, and an answer or a refusal that is right", () => {
  const corpus = readCorpus();
  expect(new Set(corpus.map(({ id }) => id)).size).toBe(corpus.length);
  const without = corpus.filter(({ turns }) =>
    turns.some(({ accept, may_refuse: mayRefuse }) => accept.length === 0 && mayRefuse !== true),
  );
  expect(without).toEqual([]);
});

describe("results are read as a model reads them", () => {
  test("a tool's results belong to its calls in their order, wherever the recipient stands", () => {
    const prompt = `${call("Paris")}<|start|>assistant<|channel|>commentary to=functions.g code<|message|>1<|call|>${call("Tokyo")}${result("18 C")}${result("9 C")}<|start|>assistant`;
    expect(readPromptCalls(spelledIds(prompt))).toEqual([
      { recipient: "functions.f", arguments: '{"city":"Paris"}', result: "18 C" },
      { recipient: "functions.g", arguments: "1" },
      { recipient: "functions.f", arguments: '{"city":"Tokyo"}', result: "9 C" },
    ]);
  });

  const rule = {
    prompt: { calls: [{ name: "f", arguments: '{ "city": "Paris" }', result: "18 C" }] },
  };

  test.each([
    [true, call("Paris") + result("18 C")],
    [true, call("Paris") + result('"18 C"')],
    [true, call("Paris") + call("Tokyo") + result("18 C") + result("9 C")],
    [false, call("Paris") + call("Tokyo") + result("9 C") + result("18 C")],
    [false, call("Paris")],
    [false, call("Tokyo") + result("18 C")],
    [false, ""],
  ])("%s: %s", (isTold, prompt) => {
    expect(verdict(rule, {}, prompt)).toMatchObject({
      told: isTold,
      right: isTold,
      silent: !isTold,
    });
  });
});

test.each([
  [true, { has: ["high"], lacks: ["low"] }],
  [false, { has: ["low"] }],
  [false, { lacks: ["high"] }],
])("texts of a prompt: %s", (right, prompt) => {
  expect(verdict({ prompt }, {}, "<|start|>system<|message|>high<|end|>")).toMatchObject({ right });
});

describe("errors", () => {
  const refused = { status: 400, error: "no", answer: NOTHING };

  test("a refusal is right where it may be, and announced anyway", () => {
    expect(verdict({ may_refuse: true }, refused)).toMatchObject({ right: true, silent: false });
    expect(verdict({}, refused)).toMatchObject({ right: false, silent: false, fails: false });
  });

  test("a broken stream is no refusal", () => {
    const broken = { ...refused, status: 200 };
    expect(verdict({ may_refuse: true }, broken)).toMatchObject({ right: false, fails: true });
  });

  test("a wrong answer without one is silent", () => {
    expect(verdict({}, { answer: NOTHING })).toMatchObject({ right: false, silent: true });
  });
});

test("what is not served has to be named, and a cut answer has to say so", () => {
  expect(verdict({ noted: "web_search" }).right).toBe(false);
  expect(verdict({ noted: "web_search" }, { raw: "x-skipped: web_search" }).right).toBe(true);
  expect(verdict({ finish: "length" }).right).toBe(false);
  expect(verdict({ finish: "length" }, { finish: "length" }).right).toBe(true);
});

test("only all of them are 100 %", () => {
  const verdicts = Array.from({ length: 1000 }, (_, index) => ({
    kind: "promise" as const,
    verdict: { right: index > 0, leaks: false, fails: false, silent: false },
  }));
  const score = { target: "t", verdicts };
  expect(rightPercent(score)).toBe(99);
  expect(rightPercent({ ...score, verdicts: verdicts.slice(1) })).toBe(100);
  expect(printScores([score], ["promise"])).toContain("| – promises | 999 of 1000 (99 %) |");
});

test("a gateway that is never ready ends the wait", async () => {
  const server = createServer((_, response) => response.writeHead(503).end());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  const baseURL = `http://127.0.0.1:${address.port}/v1`;
  try {
    await expect(waitUntilReady(baseURL, 300)).rejects.toThrow("was not ready within 300 ms");
  } finally {
    server.close();
  }
});
