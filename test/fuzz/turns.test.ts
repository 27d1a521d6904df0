/**
 * A small search, so that a change that breaks a guarantee is noticed at once. `node proof/fuzz/turns/run.ts` runs a long one.
 */
import { describe, expect, test } from "vitest";
import { shrink } from "../../proof/fuzz/shrink.ts";
import { APIS } from "../../proof/fuzz/turns/apis.ts";
import {
  type Case,
  type Demands,
  PLAIN_ENGINE,
  PLAIN_SETTINGS,
  type PlannedMessage,
  type SearchSettings,
  type Wire,
  WIRES,
} from "../../proof/fuzz/turns/case.ts";
import { generateCase } from "../../proof/fuzz/turns/generate.ts";
import { runCase } from "../../proof/fuzz/turns/search.ts";
import { smallerCases } from "../../proof/fuzz/turns/smaller-cases.ts";
import { OPERATIONS } from "../helpers/openapi-check.ts";

const CASES = 60;

test("the search covers every route that begins a turn", () => {
  const begun = OPERATIONS.filter(({ method, hasEvents }) => method === "post" && hasEvents);
  expect(Object.values(APIS).map(({ path }) => path)).toEqual(begun.map(({ path }) => path));
});

describe.each(WIRES)("random turns over %s", (wire) => {
  test.each(Object.keys(APIS))("%s: every guarantee holds", async (api) => {
    const broken: string[] = [];
    for (let seed = 1; seed <= CASES; seed++) {
      const violations = await runCase(generateCase(seed, wire, api));
      const rules = violations.map(({ rule }) => rule);
      for (const rule of new Set(rules)) {
        broken.push(
          `node proof/fuzz/turns/run.ts --n 1 --seed ${seed} --wire ${wire} --api ${api} --rule ${rule}`,
        );
      }
    }
    expect(broken).toEqual([]);
  });
});

describe("regressions the search has found", () => {
  const demands: Demands = {
    tools: [],
    toolChoice: { type: "auto" },
    parallelToolCalls: true,
    format: "text",
    stop: [],
    hidesReasoning: false,
    n: 1,
  };
  const caseOf = (
    { wire, api, batches = [1] }: { wire: Wire; api: string; batches?: readonly number[] },
    messages: readonly PlannedMessage[],
    demanded: Partial<Demands> = {},
    set: Partial<SearchSettings> = {},
  ): Case => ({
    seed: 1,
    wire,
    api,
    engine: { ...PLAIN_ENGINE, batches },
    settings: { ...PLAIN_SETTINGS, ...set },
    demands: { ...demands, ...demanded },
    history: [{ role: "user", text: "hi" }],
    choices: [messages],
  });
  const analysis = (body: string): PlannedMessage => ({
    role: "analysis",
    header: "<|channel|>analysis<|message|>",
    body,
    end: "<|end|><|start|>assistant",
  });
  const callOf = (body: string, end: string): PlannedMessage => ({
    role: "call",
    header: " to=functions.get_weather<|channel|>commentary <|constrain|>json<|message|>",
    name: "get_weather",
    body,
    end,
  });

  test("a call that was not offered and has no body is not text", async () => {
    const calls = [callOf("", "<|end|><|start|>assistant"), callOf("{", "<|call|>")];
    expect(await runCase(caseOf({ wire: "ids", api: "chat" }, calls))).toEqual([]);
  });

  test("arguments that are no object do not come back through the Messages API", async () => {
    const given = caseOf({ wire: "ids", api: "messages" }, [callOf("arg4", "<|call|>")], {
      tools: [{ name: "get_weather", strict: false }],
    });
    expect(await runCase(given)).toEqual([]);
  });

  test("thinking after the last call comes back once through the Messages API", async () => {
    const call = callOf("{}", "<|end|><|start|>assistant");
    const given = caseOf(
      { wire: "ids", api: "messages" },
      [call, { ...analysis("tho2"), end: "<|return|>" }],
      { tools: [{ name: "get_weather", strict: false }] },
    );
    // With an even seed the client sends reasoning back, with an odd one it does not.
    for (const seed of [1, 2]) expect(await runCase({ ...given, seed })).toEqual([]);
  });

  test("words of a malformed header are reasoning if the output is truncated after them", async () => {
    const malformed: PlannedMessage = {
      role: "call",
      header: "<|channel|>odd1 words<|message|>",
      name: "search",
      body: "{",
      end: "<|call|>",
      isMalformed: true,
    };
    for (let maxTokens = 16; maxTokens < 28; maxTokens++) {
      const messages = [analysis("tho1 of some words and some more"), malformed];
      const given = caseOf({ wire: "ids", api: "responses" }, messages, { maxTokens });
      expect(await runCase(given)).toEqual([]);
    }
  });

  test("an engine known to show markers is not refused for an answer that is cut before the first", async () => {
    const headless: PlannedMessage = {
      ...analysis("odd1 odd2 odd3"),
      header: "",
      isMalformed: true,
    };
    // No other case has these settings, so that only the probe's result is known of the engine.
    const given = caseOf(
      { wire: "markers", api: "chat" },
      [headless],
      { maxTokens: 4 },
      { answerReserve: 3 },
    );
    expect(await runCase(given)).toEqual([]);
  });

  test.each(["pieces", "markers"] as const)(
    "a stop string that a preamble holds does not end the turn: %s",
    async (wire) => {
      const preamble: PlannedMessage = {
        role: "preamble",
        header: "<|channel|>commentary<|message|>",
        body: "数",
        end: "<|end|><|start|>assistant",
        isEndless: true,
      };
      const given = caseOf({ wire, api: "chat" }, [preamble], { stop: ["数数"], maxTokens: 40 });
      expect(await runCase(given)).toEqual([]);
    },
  );

  test("reasoning in pieces is cut at the same token within a character, however it arrives", async () => {
    for (let maxTokens = 26; maxTokens < 36; maxTokens++) {
      const given = caseOf(
        { wire: "pieces", api: "chat", batches: [16] },
        [analysis("tho1 line one\nline two tho2 👩‍🚀 lifts off")],
        { maxTokens },
        { answerReserve: 16 },
      );
      expect(await runCase(given)).toEqual([]);
    }
  });
});

describe("shrinking", () => {
  test("keeps what is needed to fail and drops the rest", async () => {
    const given = generateCase(4, "ids", "chat");
    const marked = {
      ...given,
      choices: [
        [
          { role: "analysis" as const, header: "", body: "x", end: "" },
          { role: "final" as const, header: "", body: "some words and needle", end: "" },
        ],
      ],
    };
    const isFailing = (candidate: typeof given) =>
      Promise.resolve(JSON.stringify(candidate.choices).includes("needle"));
    const smallest = await shrink(marked, smallerCases, isFailing);
    expect(smallest.choices).toHaveLength(1);
    expect(smallest.choices[0]).toHaveLength(1);
    expect(smallest.choices[0]?.[0]?.body.length).toBeLessThan(12);
  });
});
