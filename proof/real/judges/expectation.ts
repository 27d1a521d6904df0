/** The last recorded results of each judge, and the differences of a new run. */
import * as z from "zod";
import type { Check } from "./judge.ts";

export type Expectation = z.infer<typeof expectation>;
export type Expectations = z.infer<typeof expectations>;
export type Fault = z.infer<typeof fault>;

/** The part that would have to change. */
const fault = z.enum(["gateway", "judge", "client", "demo engine", "specifications differ"]);

const expectation = z.object({
  version: z.string(),
  date: z.iso.date(),
  passed: z.int(),
  failed: z.int(),
  skipped: z.int(),
  /** Failures with one reason. A failed check that none of them names is a surprise. */
  failures: z.array(
    z.object({
      checks: z.array(z.string()).min(1),
      reason: z.string(),
      fault,
    }),
  ),
});

export const expectations = z.record(z.string(), expectation);

/** Describes unexpected results in sentences. */
export function findSurprises(
  checks: readonly Check[],
  expected: Expectation | undefined,
): string[] {
  if (checks.length === 0) return ["it checked nothing"];
  if (expected === undefined) return ["nothing was recorded of it: run it with --write"];
  const failed = new Set(
    checks.filter(({ outcome }) => outcome === "failed").map(({ name }) => name),
  );
  const explained = new Set(expected.failures.flatMap((failure) => failure.checks));
  const passed = checks.filter(({ outcome }) => outcome === "passed").length;
  return [
    ...[...failed].filter((name) => !explained.has(name)).map((name) => `failed: ${name}`),
    ...[...explained]
      .filter((name) => !failed.has(name))
      .map((name) => `expected to fail, and does not: ${name}`),
    ...(passed === expected.passed ? [] : [`${passed} passed instead of ${expected.passed}`]),
  ];
}
