/** `harmony-gateway replay`: runs a recorded turn again and prints the differences. */
import { parseArgs } from "node:util";
import { createFetchTransport } from "../../engines/fetch-transport.ts";
import type { Engine } from "../../engines/engine.ts";
import type { Pool } from "../../engines/pool.ts";
import { toModelOptions } from "../../models/backends.ts";
import type { TurnRecord } from "../../telemetry/record/schema.ts";
import { type Command, readInput } from "./command-io.ts";
import { loadSettings } from "./settings.ts";
import { compareTurns, type Comparison } from "../replay/compare.ts";
import { readRecord } from "../replay/read-record.ts";
import { createRecordedEngine } from "../replay/recorded-engine.ts";
import { runAgain } from "../replay/run-again.ts";

export const REPLAY: Command = {
  usage: `\
harmony-gateway replay <turn.json | -> [options]

Runs a turn again that was recorded with --capture or saved from /inspect: its request goes through the API, its
conversation becomes a prompt, and what the engine wrote then is read again. Prints what differs from the record: in the
prompt, the decisions, the engine calls, what was made of the output, the answer. Exit code 0: nothing, 1: something
differs, 2: it cannot be run.

  --url <url>       ask this inference server instead of the recorded stream; --engine, --model and the other
                    settings of an engine too
  --json            print the comparison as JSON
  --fixture         print the record as a test fixture instead: without durations, sender and request id`,
  async run(args, { environment, print }) {
    const { text, exitCode } = await runReplay(args, environment);
    print(text);
    return exitCode;
  },
};

const OWN_FLAGS = ["json", "fixture"] as const;

interface ReplayOutput {
  readonly text: string;
  readonly exitCode: 0 | 1;
}

/** Throws an error for the user if the file is not a record, or cannot be run. */
async function runReplay(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Promise<ReplayOutput> {
  const { file, flags, settings } = splitArgs(args);
  const record = readRecord(await readInput(file));
  if (record === undefined) throw new Error(`${file}: is not the record of a turn.`);
  if (flags.has("fixture")) {
    return { text: JSON.stringify(toFixture(record), undefined, 1), exitCode: 0 };
  }
  const { engine, contextLength } =
    settings.length > 0
      ? await openEngine(settings, environment)
      : { engine: createRecordedEngine(record), contextLength: undefined };
  const comparison = compareTurns(record, await runAgain(record, engine, contextLength));
  return {
    text: flags.has("json")
      ? JSON.stringify(comparison, undefined, 2)
      : toText(record, comparison, engine.name),
    exitCode: comparison.differences.length > 0 ? 1 : 0,
  };
}

/** Separates the command's own flags from settings of an engine. */
function splitArgs(args: readonly string[]) {
  const flags = new Set(OWN_FLAGS.filter((name) => args.includes(`--${name}`)));
  const rest = args.filter((arg) => !OWN_FLAGS.some((name) => arg === `--${name}`));
  const { tokens } = parseArgs({
    args: [...rest],
    strict: false,
    tokens: true,
    allowPositionals: true,
  });
  const isValue = (index: number) =>
    rest[index - 1]?.startsWith("--") && !rest[index - 1]?.includes("=");
  const files = tokens.flatMap((token) =>
    token.kind === "positional" && !isValue(token.index) ? [token] : [],
  );
  const [first] = files;
  if (first === undefined || files.length > 1) {
    throw new TypeError(
      "replay: name one file with the record of a turn, or - for standard input. harmony-gateway replay --help says more.",
    );
  }
  return { file: first.value, flags, settings: rest.filter((_, index) => index !== first.index) };
}

async function openEngine(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Promise<{ readonly engine: Engine | Pool; readonly contextLength: number | undefined }> {
  const { settings } = loadSettings(args, environment);
  const [model] = toModelOptions(settings, { transport: createFetchTransport() });
  if (model === undefined) throw new Error("replay: the settings name no engine.");
  const probe = await model.engine.probe(AbortSignal.timeout(settings.connectTimeoutMs));
  return { engine: model.engine, contextLength: probe.contextLength };
}

function toText(record: TurnRecord, comparison: Comparison, engine: string): string {
  const { differences, same, skipped } = comparison;
  return [
    `${record.id} of ${record.at}, by ${record.model}: run again on ${engine}.`,
    ...differences.flatMap(({ where, was, is }) => ["", where, `  was ${was}`, `  is  ${is}`]),
    "",
    ...(same.length > 0 ? [`Same: ${same.join(", ")}.`] : []),
    ...skipped.map((each) => `Not compared: ${each}.`),
    differences.length === 0 ? "Nothing differs." : `${differences.length} differences.`,
  ].join("\n");
}

/** Headers that affect how a request is parsed. */
const KEPT_HEADERS = new Set(["anthropic-version", "content-type"]);

function toFixture(record: TurnRecord): TurnRecord {
  const { request, answer } = record;
  return {
    ...record,
    gateway: "0.0.0",
    id: "req_fixture",
    tenant: "anonymous",
    backend: null,
    request: request && {
      ...request,
      headers: Object.fromEntries(
        Object.entries(request.headers).filter(([name]) => KEPT_HEADERS.has(name)),
      ),
    },
    decisions: record.decisions.map((decision) => ({ ...decision, ms: 0 })),
    calls: record.calls.map((call) => ({
      ...call,
      attempts: [],
      backend: null,
      asked: 0,
      opened: call.opened === null ? null : 0,
      firstToken: call.firstToken === null ? null : 0,
      ended: call.ended === null ? null : 0,
      reads: call.reads.map((read) => ({ ...read, ms: 0 })),
    })),
    parts: record.parts.map((part) => ({ ...part, started: undefined, ended: undefined })),
    // An API's answers gain fields over time. A fixture tests the turn, so the body of the answer is left out.
    answer: answer && { status: answer.status, contentType: answer.contentType, headers: {} },
    times: { accepted: 0, queued: null, asked: null, firstByte: null, firstToken: null, end: null },
  };
}
