/** The interface of a judge: a third-party program that tests a server, and the result of each of its checks. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";

export interface Judge {
  readonly name: string;
  readonly title: string;
  /** Address of the judge's sources, if they are public. */
  readonly url?: string;
  readonly version: string;
  /** The subject of the judgement. */
  readonly judges: string;
  /** Shell commands that install the judge, in a separate folder. */
  readonly setUp: string;
  /**
   * Commands that run the judge against the gateway at `$GATEWAY_URL` (`…/v1`), in the same folder. Their exit code is
   * ignored.
   */
  readonly run: string;
  /** Files below `proof/real/judges` that the judge needs. */
  readonly files?: readonly string[];
  /** Files that `run` writes, removed before. */
  readonly results: readonly string[];
  read(folder: string): Check[];
}

export interface Check {
  readonly name: string;
  readonly outcome: "passed" | "failed" | "skipped";
}

/** Reads a result that the judge has written as JSON. Undefined: it wrote none. */
export function readResult<T>(folder: string, file: string, schema: z.ZodType<T>): T | undefined {
  const path = join(folder, file);
  return existsSync(path) ? schema.parse(JSON.parse(readFileSync(path, "utf8"))) : undefined;
}

/** A suite that gives each of its tests an id and a status. */
export const statusList = z.object({
  results: z.array(
    z.looseObject({ id: z.string(), status: z.enum(["passed", "failed", "skipped"]) }),
  ),
});

/** The tests in a report as JUnit writes it. */
export function readJunit(folder: string, file: string): Check[] {
  const path = join(folder, file);
  if (!existsSync(path)) return [];
  const report = readFileSync(path, "utf8");
  const cases = report.matchAll(
    /<testcase classname="[^"]*?([^".]+)" name="([^"]+)"[^>]*?(?:\/>|>(.*?)<\/testcase>)/gs,
  );
  return Array.from(cases, ([, group = "", name = "", body = ""]): Check => {
    const isSkipped = body.includes("<skipped");
    const isFailed = body.includes("<failure") || body.includes("<error");
    return {
      name: `${group}: ${name}`,
      outcome: isSkipped ? "skipped" : isFailed ? "failed" : "passed",
    };
  });
}
