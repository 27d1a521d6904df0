/**
 * JSON Schema, draft 2020-12: compiled once, checked in bounded slices.
 *
 * This folder does not depend on others. Schemas and values are results of `JSON.parse`.
 */
import { checkValue } from "./check.ts";
import { CompileBudget } from "./compile-budget.ts";
import { compileGraph, type SchemaGraph } from "./compile.ts";
import { compilePattern, matchPattern } from "./pattern.ts";
import { PatternError } from "./pattern-syntax.ts";
import { printProblem } from "./problem.ts";
import { type Sliced, TooMuchWork, Work } from "./work.ts";

export { CompileBudget } from "./compile-budget.ts";
export { isObject } from "./resources.ts";
export { SchemaError } from "./schema-error.ts";

export interface SchemaChecker {
  /** Rejects only if `pause` rejects. */
  check(value: unknown, options: CheckOptions): Promise<SchemaVerdict>;
  /** Like {@link SchemaChecker.check}, without pauses, for callers that serve no other requests. */
  checkAtOnce(value: unknown): SchemaVerdict;
}

export interface CheckOptions {
  /** Called between slices. Should yield to other work. */
  readonly pause: () => Promise<void>;
  /** Maximum steps. A value that needs more is reported as invalid. */
  readonly steps?: number;
  /** Steps between two pauses. */
  readonly slice?: number;
}

export type SchemaVerdict =
  | { readonly valid: true; readonly steps: number }
  /** `problem` is the place and the reason, phrased for a model that will retry. */
  | { readonly valid: false; readonly problem: string; readonly steps: number };

const DEFAULT_STEPS = 10_000_000;
const DEFAULT_SLICE = 50_000;

/** Throws a {@link SchemaError} for a schema that cannot be checked. */
export function compileSchema(schema: unknown, budget = new CompileBudget()): SchemaChecker {
  const graph = compileGraph(schema, budget);
  return {
    async check(value, { pause, steps = DEFAULT_STEPS, slice = DEFAULT_SLICE }) {
      const work = new Work(steps, slice);
      const run = verdicts(graph, value, work);
      for (let next = run.next(); ; next = run.next()) {
        if (next.done) return next.value;
        await pause();
        work.startSlice();
      }
    },
    checkAtOnce(value) {
      const run = verdicts(graph, value, new Work(DEFAULT_STEPS, DEFAULT_STEPS));
      let next = run.next();
      while (!next.done) next = run.next();
      return next.value;
    },
  };
}

function* verdicts(graph: SchemaGraph, value: unknown, work: Work): Sliced<SchemaVerdict> {
  try {
    const found = yield* checkValue(graph, value, work);
    return found === undefined
      ? { valid: true, steps: work.steps }
      : { valid: false, problem: printProblem(found), steps: work.steps };
  } catch (error) {
    if (!(error instanceof TooMuchWork)) throw error;
    const problem =
      "it is too large or too deeply nested to be checked against the schema; make it smaller";
    return { valid: false, problem, steps: work.steps };
  }
}

/** Total steps of a search; below, the steps between two pauses. */
const SEARCH_STEPS = 1_000_000;
const SEARCH_SLICE = 50_000;
const MAX_SEARCH_PATTERN = 200;

/**
 * Yields where other work should run. Returns the indexes of the texts in which the regular expression matches,
 * ignoring case: none if it is not supported. When the steps of the search are used up, further texts count as without
 * a match.
 */
export function* searchPattern(source: string, texts: readonly string[]): Sliced<number[]> {
  const found: number[] = [];
  if (source === "" || source.length > MAX_SEARCH_PATTERN) return found;
  try {
    const pattern = compilePattern(foldCase(source));
    const work = new Work(SEARCH_STEPS, SEARCH_SLICE);
    for (const [index, text] of texts.entries()) {
      const match = matchPattern(pattern, text.toLowerCase(), work);
      let step = match.next();
      for (; !step.done; step = match.next()) {
        yield;
        work.startSlice();
      }
      if (step.value) found.push(index);
    }
  } catch (error) {
    if (!(error instanceof PatternError || error instanceof TooMuchWork)) throw error;
  }
  return found;
}

/** Escapes keep their case: \W is the opposite of \w. `(?i)` is Python's flag for ignoring case. */
function foldCase(source: string): string {
  const parts = source.replace(/^\(\?i\)/, "").matchAll(/\\.|[^]/gsu);
  return [...parts].map(([part]) => (part.startsWith("\\") ? part : part.toLowerCase())).join("");
}
