/** `harmony-gateway usage`: adds up the lines of the audit file by key, model or day. */
import { SettingsError } from "../../config/resolve.ts";
import { suggest } from "../../config/suggest.ts";
import { getOrCreate } from "../../lazy.ts";
import { toTable } from "../console/paint.ts";
import { explainFile } from "../explain-file.ts";
import { addLine, createSum, readAudit, type UsageSum } from "../telemetry/read-audit.ts";
import type { Command, CommandIo } from "./command-io.ts";
import { readOwnFlags } from "./own-flags.ts";
import { loadSettings } from "./settings.ts";

export const USAGE: Command = {
  usage: `\
harmony-gateway usage [file …] [settings] [options]

Adds up the requests and tokens in the audit file: the one of the settings (--audit-file, --config), or the named ones, such as files
that were rotated.

  --since <time>  30d, 12h, 45m, or a date such as 2026-11-01, in UTC; default: 30d
  --until <time>  the same; default: now
  --by <group>    key, model or day; default: key
  --json          print one JSON object

A request failed if its status is 500 or more, or its turn failed. It was rejected if its status is 400 to 498.`,
  async run(args, io) {
    io.print(await runUsage(args, io));
    return 0;
  },
};

const GROUPS = ["key", "model", "day"] as const;
type Group = (typeof GROUPS)[number];

/**
 * Adds up the lines and returns the output.
 *
 * @throws SettingsError if the arguments are wrong, or a file cannot be read
 */
async function runUsage(
  args: readonly string[],
  { environment }: Pick<CommandIo, "environment">,
): Promise<string> {
  const now = Date.now();
  const firstFlag = args.findIndex((arg) => arg.startsWith("--"));
  const named = firstFlag < 0 ? args : args.slice(0, firstFlag);
  const { switches, values, rest } = readOwnFlags(args.slice(named.length), {
    switches: ["--json"],
    values: { "--since": "a time", "--until": "a time", "--by": "key, model or day" },
  });
  const by = values.get("--by") ?? "key";
  if (!isGroup(by)) {
    throw new SettingsError([`--by: expected key, model or day.${suggest(by, GROUPS)}`]);
  }
  const since = toTime("--since", values.get("--since") ?? "30d", now);
  const until = toTime("--until", values.get("--until") ?? "0m", now);
  const { auditFile } = loadSettings(rest, environment, { public: false, isDry: true }).settings;
  const files = named.length > 0 || auditFile === undefined ? named : [auditFile];
  if (files.length === 0) {
    throw new SettingsError([
      "usage: there is no audit file. Name it: --audit-file audit.jsonl, or --config.",
    ]);
  }

  const total = createSum();
  const sums = new Map<string, UsageSum>();
  let unreadable = 0;
  for (const file of files) {
    for await (const line of readLines(file)) {
      if (line === undefined) unreadable += 1;
      else if (line.time >= since && line.time < until) {
        const name = (by === "day" ? line.time.slice(0, 10) : line[by]) ?? "(none)";
        addLine(getOrCreate(sums, name, createSum), line);
        addLine(total, line);
      }
    }
  }
  const rows = [...sums].toSorted(([a, { completionTokens: x }], [b, { completionTokens: y }]) =>
    by === "day" ? (a < b ? -1 : 1) : y - x,
  );
  if (switches.has("--json")) {
    const groups = rows.map(([name, sum]) => ({ [by]: name, ...sum }));
    return JSON.stringify({ since, until, by, groups, total, unreadable });
  }
  return [
    `${files.join(", ")}: ${since} to ${until}`,
    ...toTable([[by, ...COLUMNS], ...rows.map(toRow), toRow(["total", total])]),
    ...(unreadable > 0 ? [`Lines that could not be read: ${unreadable}`] : []),
  ].join("\n");
}

const COLUMNS = ["requests", "failed", "rejected", "prompt", "cached", "completion", "reasoning"];

function toRow([name, sum]: readonly [string, UsageSum]): string[] {
  const { promptTokens, cachedTokens, completionTokens, reasoningTokens } = sum;
  const counts = [sum.requests, sum.failed, sum.rejected, promptTokens, cachedTokens];
  return [name, ...[...counts, completionTokens, reasoningTokens].map(String)];
}

function isGroup(text: string): text is Group {
  return GROUPS.some((each) => each === text);
}

const UNITS: Readonly<Record<string, number>> = { d: 86_400_000, h: 3_600_000, m: 60_000 };

/** A time in the format of the audit's `time`, so that times compare as text. */
function toTime(flag: string, text: string, now: number): string {
  const [, count = "", unit = ""] = /^(\d{1,5})([dhm])$/.exec(text) ?? [];
  const isDate = /^\d{4}-\d{2}-\d{2}(?:T[\d:.]+Z)?$/.test(text);
  const at = isDate ? Date.parse(text) : now - Number(count) * (UNITS[unit] ?? NaN);
  if (Number.isNaN(at)) {
    throw new SettingsError([`${flag}: expected 30d, 12h, 45m or a date such as 2026-11-01.`]);
  }
  return new Date(at).toISOString();
}

async function* readLines(file: string): ReturnType<typeof readAudit> {
  try {
    yield* readAudit(file);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new SettingsError([`usage: ${explainFile(error, file) ?? `${file}: ${why}.`}`]);
  }
}
