/**
 * Matches the regular expressions of JSON Schema (ECMA-262 with the `u` flag) in time linear in the text.
 *
 * A pattern becomes a nondeterministic automaton whose states advance together, without backtracking. This is not a
 * port of RE2, because a match must count its steps and be interruptible: RE2JS blocks the thread for 400 ms on 500
 * characters with `^(a?){500}a{500}$`. It is small because the runtime's own engine does the safe parts: it checks the
 * syntax, and whether one character belongs to a class, so that `\s`, `.` and `\p{…}` have exactly their ECMAScript
 * meaning.
 *
 * Backreferences and lookaround are not regular, and are rejected. The exceptions are lookaheads directly after a
 * leading `^`, as in `^(?=.*\d)(?!admin).+$`: each becomes a separate pattern, matched at the start.
 */
import { matchProgram } from "./pattern-match.ts";
import { parsePattern } from "./pattern-parser.ts";
import { type Program, toProgram } from "./pattern-program.ts";
import { atStart, PatternError } from "./pattern-syntax.ts";
import type { Sliced, Work } from "./work.ts";

export interface Pattern {
  readonly source: string;
  /** Number of instructions, including lookaheads. */
  readonly size: number;
  readonly program: Program;
  /** Lookaheads at the start of the text. */
  readonly lookaheads: readonly { readonly program: Program; readonly negative: boolean }[];
}

const MAX_SOURCE = 10_000;

/** Throws a {@link PatternError} if the pattern is not supported. */
export function compilePattern(source: string): Pattern {
  if (source.length > MAX_SOURCE) {
    throw new PatternError(`is a pattern of more than ${MAX_SOURCE} characters`);
  }
  const { body, lookaheads } = parsePattern(source);
  const pattern = {
    source,
    program: toProgram(body),
    lookaheads: lookaheads.map(({ body: ahead, negative }) => ({
      program: toProgram({ type: "sequence", items: [{ type: "assert", holds: atStart }, ahead] }),
      negative,
    })),
  };
  const size = pattern.lookaheads.reduce(
    (sum, { program }) => sum + program.length,
    pattern.program.length,
  );
  return { ...pattern, size };
}

/** Whether the pattern matches anywhere in the text. */
export function* matchPattern(pattern: Pattern, text: string, work: Work): Sliced<boolean> {
  for (const { program, negative } of pattern.lookaheads) {
    if ((yield* matchProgram(program, text, work)) === negative) return false;
  }
  return yield* matchProgram(pattern.program, text, work);
}
