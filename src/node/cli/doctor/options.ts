/** The doctor's own flags. What is not among them is a setting of the gateway. */
import { SettingsError } from "../../../config/resolve.ts";
import { suggest } from "../../../config/suggest.ts";
import { CHECKS } from "../../../doctor/doctor.ts";
import { readOwnFlags } from "../own-flags.ts";

export interface DoctorFlags {
  readonly format: "text" | "json" | "markdown";
  readonly isQuick: boolean;
  /** Ids of checks. Absent: all. */
  readonly only: readonly string[] | undefined;
  readonly turns: number;
  readonly streams: readonly number[];
  readonly budgetMs: number;
  /** Flags of the gateway's settings. */
  readonly rest: readonly string[];
}

const MAX_TURNS = 10_000;
const MAX_STREAMS = 1024;
const MAX_BUDGET_SECONDS = 86_400;

const OWN = {
  switches: ["--quick", "--json", "--markdown"],
  values: {
    "--checks": "a value",
    "--turns": "a value",
    "--streams": "a value",
    "--budget": "a value",
  },
};

/** @throws SettingsError */
export function readDoctorFlags(args: readonly string[]): DoctorFlags {
  const { switches, values, rest } = readOwnFlags(args, OWN);
  if (switches.has("--json") && switches.has("--markdown")) {
    throw new SettingsError(["--markdown: choose one of --json and --markdown."]);
  }
  const format = switches.has("--json") ? "json" : switches.has("--markdown") ? "markdown" : "text";
  return {
    format,
    isQuick: switches.has("--quick"),
    only: readChecks(values.get("--checks")),
    turns: readNumber("--turns", values.get("--turns"), 8, 0, MAX_TURNS),
    streams: (values.get("--streams") ?? "1,8,64")
      .split(",")
      .map((text) => readNumber("--streams", text, 1, 1, MAX_STREAMS)),
    budgetMs: 1000 * readNumber("--budget", values.get("--budget"), 300, 1, MAX_BUDGET_SECONDS),
    rest,
  };
}

function readChecks(text: string | undefined): string[] | undefined {
  if (text === undefined) return undefined;
  const known = CHECKS.map(({ id }) => id);
  const ids = text.split(",").map((id) => id.trim());
  const unknown = ids.find((id) => !known.includes(id));
  if (unknown === undefined) return ids;
  const hint = suggest(unknown, known) || ` There are ${known.join(", ")}.`;
  throw new SettingsError([`--checks: there is no check ${unknown}.${hint}`]);
}

function readNumber(
  flag: string,
  text: string | undefined,
  fallback: number,
  least: number,
  most: number,
): number {
  if (text === undefined) return fallback;
  const number = Number(text);
  if (text.trim() !== "" && Number.isInteger(number) && number >= least && number <= most) {
    return number;
  }
  throw new SettingsError([
    `${flag}: expected a whole number from ${least} to ${most}, got ${JSON.stringify(text)}.`,
  ]);
}
