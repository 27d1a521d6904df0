/** The command line of `node proof/bench/compare.ts`. */
import { parseArgs } from "node:util";
import { SCENARIOS } from "../streaming/scenarios.ts";
import type { Scenario } from "../streaming/scenario.ts";

export interface CompareOptions {
  /** Names of commits for git. Losses are judged against the first. */
  readonly commits: readonly string[];
  readonly scenarios: readonly Scenario[];
  /** The API that clients use. */
  readonly wire: "chat" | "responses";
  /** The share of CPU that may be lost: 0.1 is 10 %. */
  readonly maxLoss: number;
  /** Each with fresh processes. */
  readonly rounds: number;
  /** In each round. */
  readonly windows: number;
}

const DEFAULT_SCENARIOS = ["bulk", "paced-64", "paced-256", "first-token", "requests"];

/** Throws an error whose message states the problem of the arguments. */
export function parseCompareArguments(args: readonly string[]): CompareOptions {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      scenario: { type: "string", multiple: true },
      wire: { type: "string", default: "chat" },
      "max-loss": { type: "string", default: "10" },
      rounds: { type: "string", default: "6" },
      windows: { type: "string", default: "5" },
    },
  });
  if (positionals.length === 0) throw new Error("Give a commit: node proof/bench/compare.ts main");
  const { wire } = values;
  if (wire !== "chat" && wire !== "responses") {
    throw new Error(`--wire is chat or responses, not ${wire}`);
  }
  return {
    commits: positionals,
    scenarios: (values.scenario ?? DEFAULT_SCENARIOS)
      .flatMap((names) => names.split(","))
      .map(findScenario),
    wire,
    maxLoss: toNumber("max-loss", values["max-loss"], 0) / 100,
    rounds: toNumber("rounds", values.rounds, 1),
    windows: toNumber("windows", values.windows, 1),
  };
}

function findScenario(name: string): Scenario {
  const scenario = SCENARIOS.find((each) => each.name === name);
  if (scenario !== undefined) return scenario;
  throw new Error(
    `There is no scenario ${name}, only ${SCENARIOS.map((each) => each.name).join(", ")}`,
  );
}

function toNumber(option: string, given: string, least: number): number {
  const value = Number(given);
  if (given.trim() !== "" && value >= least && Number.isFinite(value)) return value;
  throw new Error(`--${option} is a number from ${least}, not ${given}`);
}
