/** Recommends gateway settings for an engine from what the checks found. */
import type { Examination } from "./examination.ts";
import type { CheckResult } from "./finding.ts";

/** Settings by name, as in the config file. No keys. */
export type Recommendation = Readonly<Record<string, string | number | boolean>>;

/** @param url without credentials. */
export function recommend(
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

/** As a command line. */
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
