/** `harmony-gateway doctor`: examines the configured engines, and prints the findings. */
import { type BackendSettings, toBackends } from "../../../config/backends.ts";
import type { Settings } from "../../../config/settings.ts";
import { CHECKS, type DoctorReport, examine } from "../../../doctor/doctor.ts";
import { type CheckResult, type Verdict, worst } from "../../../doctor/finding.ts";
import { createServerQuery } from "../../../doctor/server-query.ts";
import { toClosing, toHead, toLines, toMarkdown } from "../../../doctor/report.ts";
import { ENGINES } from "../../../engines/create-engine.ts";
import { findServer } from "../../../engines/find-kind.ts";
import { toPublicUrl } from "../../../engines/server-url.ts";
import type { Transport } from "../../../engines/transport.ts";
import { toEngine } from "../../../models/backends.ts";
import { createLog, type Log } from "../../../telemetry/log.ts";
import type { Command, CommandIo } from "../command-io.ts";
import { type Colour, paint } from "../control-signs.ts";
import { createEngineTransport } from "../../engine-http/undici-transport.ts";
import { createLlamas } from "../../llama/engine.ts";
import { loadSettings } from "../settings.ts";
import { readVersion } from "../../version.ts";
import { SettingsError } from "../../../config/resolve.ts";
import { suggest } from "../../../config/suggest.ts";
import { readOwnFlags } from "../own-flags.ts";

export const DOCTOR: Command = {
  usage: `\
harmony-gateway doctor [settings] [options]

Asks an engine what the gateway relies on, and says what to change: it samples some thousand tokens. The settings are
those of serving: --engine, --url, --model, --config; with several backends each is examined.

  --quick             leave out what takes long: speed, and turns of the corpus
  --checks <list>     only these, by their names: reachable,temperature
  --turns <number>    turns of the corpus to run; default: 8
  --streams <list>    streams at a time of the speed check; default: 1,8,64
  --budget <seconds>  for all checks of an engine; default: 300
  --json              print the report as JSON
  --markdown          print it as a section of a page

The exit code is 0 if all is ok, 1 if something is degraded, 2 if something is broken or the arguments are wrong.`,
  run: (args, io) => runDoctor(args, io),
};

type DoctorIo = Pick<CommandIo, "environment" | "print" | "hasColours">;

const EXIT_CODES = { ok: 0, degraded: 1, broken: 2 } as const;

/**
 * Examines the engines and resolves with the exit code. Aborting the signal ends the examination.
 * @throws SettingsError
 */
export async function runDoctor(
  args: readonly string[],
  io: DoctorIo,
  signal: AbortSignal = new AbortController().signal,
): Promise<0 | 1 | 2> {
  const flags = readDoctorFlags(args);
  const { settings } = loadSettings(flags.rest, io.environment);
  const log = createLog({ level: "silent", now: Date.now, write: () => {} });
  const reports: DoctorReport[] = [];
  for (const backend of toBackends(settings)) {
    reports.push(await examineBackend(backend, { settings, flags, io, log, signal }));
  }
  const verdict = worst(reports.map((report) => report.verdict));
  if (flags.format === "json") {
    io.print(JSON.stringify({ version: readVersion(), verdict, reports }, undefined, 2));
  }
  return EXIT_CODES[verdict];
}

interface Context {
  readonly settings: Settings;
  readonly flags: DoctorFlags;
  readonly io: DoctorIo;
  readonly log: Log;
  readonly signal: AbortSignal;
}

async function examineBackend(backend: BackendSettings, context: Context): Promise<DoctorReport> {
  const { settings, flags, io, log, signal } = context;
  const transport = createEngineTransport();
  const llamas = createLlamas(log);
  const paintVerdict = (verdict: Verdict, text: string) =>
    io.hasColours ? paint(COLOURS[verdict], text) : text;
  const isText = flags.format === "text";
  try {
    const engine = toEngine(backend, settings, { transport, createNativeLlama: llamas.create });
    const report = await examine(
      {
        ...toServer(backend, transport),
        engine,
        model: backend.model,
        ...(backend.contextLength !== undefined && { contextLength: backend.contextLength }),
        turns: flags.turns,
        streams: flags.streams,
        isQuick: flags.isQuick,
        budgetMs: flags.budgetMs,
        ...(flags.only && { only: flags.only }),
        ...(isText && {
          onResult: (result: CheckResult) => io.print(toLines(result, paintVerdict)),
        }),
      },
      signal,
    );
    if (isText) io.print(`\n${toHead(report)}\n${toClosing(report, paintVerdict)}\n`);
    if (flags.format === "markdown") io.print(toMarkdown(report));
    return report;
  } finally {
    await llamas.close();
    await transport.destroy();
  }
}

const COLOURS: Readonly<Record<Verdict, Colour>> = {
  ok: "green",
  degraded: "yellow",
  broken: "red",
  "not-applicable": "dim",
};

/** Access to other paths of the server. Empty for engines without a server. */
function toServer(backend: BackendSettings, transport: Transport) {
  const { engine, engineKey, headers, model } = backend;
  const preset = engine === "auto" ? "required" : ENGINES[engine].url;
  const url = backend.url ?? (typeof preset === "object" ? preset.default : undefined);
  if (url === undefined || preset === "none") return {};
  const server = {
    url,
    model,
    transport,
    ...(engineKey !== undefined && { apiKey: engineKey }),
    ...(headers !== undefined && { headers }),
  };
  return {
    url: toPublicUrl(url),
    query: createServerQuery(server),
    findKind: (signal: AbortSignal) => findServer(server, signal),
  };
}

/** The doctor's own flags. Any other flag is a setting of the gateway. */
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
