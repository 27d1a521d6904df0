/**
 * The doctor: checks the properties of an engine on which the gateway's adapters rely, and reports what each result means for
 * users, with advice. Time and tokens are bounded for any engine.
 */
import { EngineError } from "../engines/engine-error.ts";
import { withTimeout } from "../engines/clock.ts";
import { CONNECTION_CHECKS, IDENTITY_CHECKS, REACHABLE } from "./checks/connection.ts";
import { CONSTRAINT_CHECKS, STOP_STRINGS } from "./checks/constraints.ts";
import { TURNS } from "./checks/corpus.ts";
import { SAMPLING_CHECKS } from "./checks/sampling.ts";
import { SLOT_CHECKS } from "./checks/slots.ts";
import { SPEED, STREAMING } from "./checks/speed.ts";
import { STOP_CHECKS } from "./checks/stops.ts";
import { INJECTION, TOKEN_CHECKS } from "./checks/tokens.ts";
import { Examination, type ExaminationOptions } from "./examination.ts";
import {
  type Check,
  CHECK_MS,
  type CheckResult,
  type Finding,
  notApplicable,
  printable,
  worst,
} from "./finding.ts";

/** All checks in the order in which they run: later ones rely on earlier ones. */
export const CHECKS: readonly Check[] = [
  REACHABLE,
  ...IDENTITY_CHECKS,
  ...CONNECTION_CHECKS,
  ...TOKEN_CHECKS,
  ...STOP_CHECKS,
  ...SAMPLING_CHECKS,
  ...CONSTRAINT_CHECKS,
  STOP_STRINGS,
  ...SLOT_CHECKS,
  INJECTION,
  STREAMING,
  SPEED,
  TURNS,
];

export interface DoctorOptions extends ExaminationOptions {
  /** Ids of the checks to run. Absent: all. `reachable` always runs. */
  readonly only?: readonly string[];
  /** Leave out the slow checks: speed and turns. */
  readonly isQuick?: boolean;
  /** Maximum time in milliseconds for all checks together. Checks that do not fit are skipped. */
  readonly budgetMs: number;
  /** The URL without credentials. Absent for engines without a server. */
  readonly url?: string;
  readonly onResult?: (result: CheckResult) => void;
}

export interface DoctorReport {
  /** The kind of engine; `auto` if it could not be detected. */
  readonly engine: string;
  readonly url?: string;
  readonly model: string;
  /** The server's own description of itself. */
  readonly description?: string;
  /** Context length in tokens. */
  readonly contextLength?: number;
  readonly verdict: "ok" | "degraded" | "broken";
  /** Summary in one sentence. */
  readonly summary: string;
  readonly settings: Recommendation;
  readonly checks: readonly CheckResult[];
  readonly seconds: number;
}

export async function examine(options: DoctorOptions, signal: AbortSignal): Promise<DoctorReport> {
  const examination = new Examination(options);
  const { clock } = examination;
  const startedAt = clock.now();
  const results: CheckResult[] = [];
  for (const check of CHECKS) {
    signal.throwIfAborted();
    if (check !== REACHABLE && options.only?.includes(check.id) === false) continue;
    if (!canBeAsked(check, examination)) continue;
    const since = clock.now();
    const leftMs = options.budgetMs - (since - startedAt);
    const finding =
      reasonToSkip(check, options, leftMs) ?? (await runCheck(check, examination, leftMs, signal));
    const { id, title, asked, means } = check;
    const result = { id, title, asked, means, ...finding, ms: Math.round(clock.now() - since) };
    results.push(result);
    options.onResult?.(result);
  }
  return toReport(examination, options, results, (clock.now() - startedAt) / 1000);
}

/**
 * Whether a check can run. Without an answer of the engine no other check is useful, except detecting its kind if that was
 * unexpected.
 */
function canBeAsked(check: Check, examination: Examination): boolean {
  if (check === REACHABLE || examination.probe !== undefined) return true;
  return examination.probeError?.kind === "not-found" && IDENTITY_CHECKS.includes(check);
}

function reasonToSkip(
  check: Check,
  { isQuick = false, only }: DoctorOptions,
  leftMs: number,
): Finding | undefined {
  if (check === REACHABLE) return undefined;
  if (isQuick && check.isSlow && only === undefined) return notApplicable("Left out by --quick.");
  return leftMs > 0 ? undefined : notApplicable("No time was left (--budget).");
}

async function runCheck(
  check: Check,
  examination: Examination,
  leftMs: number,
  signal: AbortSignal,
): Promise<Finding> {
  // For the in-process engine, the first answer includes loading the model.
  const loads = check === REACHABLE && examination.engine.name === "llama";
  const ms = Math.ceil(loads ? leftMs : Math.min(check.maxMs ?? CHECK_MS, leftMs));
  try {
    const { clock } = examination;
    return await withTimeout((inner) => check.run(examination, inner), { ms, clock }, signal);
  } catch (error) {
    signal.throwIfAborted();
    return explainFailure(error);
  }
}

function explainFailure(error: unknown): Finding {
  const change = "See the server's own log.";
  if (!(error instanceof EngineError)) return { verdict: "broken", came: describe(error), change };
  const came = printable(error.message, 300);
  if (error.kind !== "timeout") return { verdict: "broken", came, change };
  return {
    verdict: "broken",
    came,
    means: "It is slow or hangs: clients wait in vain.",
    change: "Ask again when the machine has less to do; if it stays, see the server's own log.",
  };
}

/** Describes an error in our own code that the server's response caused. The doctor continues. */
function describe(error: unknown): string {
  return error instanceof Error ? printable(`${error.name}: ${error.message}`, 300) : "It failed.";
}

function toReport(
  examination: Examination,
  { url }: DoctorOptions,
  checks: readonly CheckResult[],
  seconds: number,
): DoctorReport {
  const { engine, model, probe, contextLength } = examination;
  return {
    engine: engine.name,
    ...(url !== undefined && { url }),
    model,
    ...(probe && { description: printable(probe.description) }),
    ...(contextLength !== undefined && { contextLength }),
    verdict: worst(checks.map(({ verdict }) => verdict)),
    summary: summarize(checks),
    settings: recommend(examination, checks, url),
    checks,
    seconds: Math.round(seconds * 10) / 10,
  };
}

/** The summary of all checks in one sentence. */
function summarize(checks: readonly CheckResult[]): string {
  const asked = checks.filter(({ verdict }) => verdict !== "not-applicable");
  const broken = checks.filter(({ verdict }) => verdict === "broken");
  const degraded = checks.filter(({ verdict }) => verdict === "degraded");
  if (broken.length > 0) {
    return `Do not serve users with this engine before this is repaired: ${names(broken)}.`;
  }
  if (degraded.length > 0) {
    return `This engine can serve gpt-oss, with limitations: ${names(degraded)}.`;
  }
  return `This engine serves gpt-oss as it should: all ${asked.length} checks that apply are ok.`;
}

function names(results: readonly CheckResult[]): string {
  return results.map(({ id }) => id).join(", ");
}

/** Recommended settings by name, as in the config file, without keys. */
type Recommendation = Readonly<Record<string, string | number | boolean>>;

/** @param url URL without credentials. */
function recommend(
  examination: Examination,
  checks: readonly CheckResult[],
  url: string | undefined,
): Recommendation {
  const { engine, model, probe, configuredContext, comfortableStreams } = examination;
  const passed = (id: string) => checks.some((check) => check.id === id && check.verdict === "ok");
  const contextLength =
    configuredContext && Math.min(configuredContext, probe?.contextLength ?? Infinity);
  return {
    engine: engine.name,
    ...(url !== undefined && { url }),
    ...(engine.name !== "demo" && { model }),
    ...(contextLength !== undefined && { contextLength }),
    ...(url !== undefined &&
      comfortableStreams !== undefined && { maxConcurrent: comfortableStreams }),
    ...((passed("structural-tag") || passed("token-grammar")) && { singleCallConstraint: true }),
  };
}

/** The settings as a command line. */
export function toCommand(settings: Recommendation): string {
  const flags = Object.entries(settings).map(([name, value]) => {
    const flag = `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    return value === true ? flag : `${flag} ${quote(String(value))}`;
  });
  return ["harmony-gateway", ...flags].join(" ");
}

function quote(value: string): string {
  return /^[\w.:/@=-]+$/.test(value) ? value : `'${value.replaceAll("'", String.raw`'\''`)}'`;
}
