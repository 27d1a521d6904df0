/** `harmony-gateway doctor`: examines the configured engines, and prints what was found. */
import { type BackendSettings, toBackends } from "../../../config/backends.ts";
import type { Settings } from "../../../config/settings.ts";
import { type DoctorReport, examine } from "../../../doctor/doctor.ts";
import type { CheckResult, Verdict } from "../../../doctor/finding.ts";
import { worst } from "../../../doctor/finding.ts";
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
import { createEngineTransport } from "../../engine-http/engine-transport.ts";
import { createLlamas } from "../../llama/engines.ts";
import { loadSettings } from "../settings.ts";
import { readVersion } from "../../version.ts";
import { type DoctorFlags, readDoctorFlags } from "./options.ts";

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
 * The exit code. Aborting the signal ends the examination.
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

/** Access to a server's other paths. Empty for engines without a server. */
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
