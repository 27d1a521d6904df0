import { describe, expect, test } from "vitest";
import { parseCompareArguments } from "./compare/arguments.ts";
import { describeLoss, findLosses, toTables } from "./compare/verdict.ts";
import { toMeasured } from "./statistics.ts";
import { SCENARIOS } from "./streaming/scenarios.ts";

describe("the arguments", () => {
  test("are one or several commits, and by default every scenario that is measured at once", () => {
    const { commits, scenarios, ...options } = parseCompareArguments(["main", "v0.1.0"]);
    expect(commits).toEqual(["main", "v0.1.0"]);
    expect(scenarios.map(({ name }) => name)).toEqual([
      "bulk",
      "paced-64",
      "paced-256",
      "first-token",
      "requests",
    ]);
    expect(options).toEqual({ wire: "chat", maxLoss: 0.1, rounds: 6, windows: 5 });
  });

  test("choose scenarios, the API and what may be lost", () => {
    const options = parseCompareArguments(
      "main --scenario bulk,requests --scenario open --wire responses --max-loss 2.5".split(" "),
    );
    expect(options).toMatchObject({ wire: "responses", maxLoss: 0.025 });
    expect(options.scenarios.map(({ name }) => name)).toEqual(["bulk", "requests", "open"]);
  });

  test.each([
    ["", "Give a commit: node proof/bench/compare.ts main"],
    ["main --wire grpc", "--wire is chat or responses, not grpc"],
    ["main --max-loss much", "--max-loss is a number from 0, not much"],
    ["main --max-loss=-1", "--max-loss is a number from 0, not -1"],
    ["main --windows 0", "--windows is a number from 1, not 0"],
    [
      "main --scenario none",
      `There is no scenario none, only ${SCENARIOS.map(({ name }) => name).join(", ")}`,
    ],
  ])("%j is refused", (line, message) => {
    expect(() => parseCompareArguments(line.split(" ").filter(Boolean))).toThrow(
      new Error(message),
    );
  });
});

describe("a loss", () => {
  const scenarios = SCENARIOS.filter(({ name }) => name === "paced-64" || name === "open");
  /** The time of each contender in three windows, of which the third is slow. */
  const measure = (head: number) => ({
    "paced-64": Object.fromEntries(
      Object.entries({ head, abc1234: 40, "hono-pipe": 20 }).map(([name, value]) => [
        name,
        { cpuPerToken: toMeasured([value, value, 3 * value]) },
      ]),
    ),
    open: {
      head: { rssPerStream: toMeasured([900]) },
      abc1234: { rssPerStream: toMeasured([100]) },
    },
  });

  test("is what lies beyond the bound with the whole interval, in scenarios measured at once", () => {
    expect(findLosses(measure(43), scenarios, ["abc1234"], 0.1)).toEqual([]);
    const losses = findLosses(measure(48), scenarios, ["abc1234"], 0.1);
    expect(losses.map(describeLoss)).toEqual([
      "paced-64, µs CPU / token: 1.20 [1.20, 1.20] × abc1234",
    ]);
  });

  test("an interval that reaches below the bound is none", () => {
    const results = {
      "paced-64": {
        head: { cpuPerToken: toMeasured([1, 1.3, 1.3, 1, 1.3]) },
        abc1234: { cpuPerToken: toMeasured([1, 1, 1, 1, 1]) },
      },
    };
    expect(findLosses(results, scenarios, ["abc1234"], 0.1)).toEqual([]);
  });

  test("stands in the tables, of each number that is compared", () => {
    const text = toTables(measure(48), scenarios, ["head", "abc1234", "hono-pipe"]);
    expect(text.split("\n\n").slice(0, 2)).toEqual([
      "### paced-64: 64 streams × 50 tokens/s, in lockstep",
      [
        "|  | head / this | × hono-pipe | µs CPU / token |",
        "| --- | ---: | ---: | ---: |",
        "| head |  | 2.40 [2.40, 2.40] | 48.0 |",
        "| abc1234 | 1.20 [1.20, 1.20] | 2.00 [2.00, 2.00] | 40.0 |",
        "| hono-pipe | 2.40 [2.40, 2.40] |  | 20.0 |",
      ].join("\n"),
    ]);
  });
});
