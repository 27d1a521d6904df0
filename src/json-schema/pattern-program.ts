/** Compiles the syntax tree of a regular expression to the instructions of an automaton. */
import { type Assertion, type CharacterTest, PatternError, type Syntax } from "./pattern-syntax.ts";

export type Program = readonly Instruction[];

type Instruction =
  | { readonly op: "character"; readonly matches: CharacterTest }
  /** Continue at both. */
  | { readonly op: "fork"; readonly first: number; readonly second: number }
  | { readonly op: "jump"; readonly to: number }
  | { readonly op: "assert"; readonly holds: Assertion }
  | { readonly op: "match" };

const MAX_INSTRUCTIONS = 10_000;

/** Throws a {@link PatternError} if the program is too large. */
export function toProgram(syntax: Syntax): Program {
  const program: Instruction[] = [];
  write(syntax);
  push({ op: "match" });
  return program;

  function write(part: Syntax): void {
    switch (part.type) {
      case "character":
        push({ op: "character", matches: part.matches });
        break;
      case "assert":
        push({ op: "assert", holds: part.holds });
        break;
      case "sequence":
        for (const item of part.items) write(item);
        break;
      case "choice":
        writeChoice(part.branches);
        break;
      case "repeat":
        writeRepeat(part.body, part.least, part.most);
        break;
      default:
        part satisfies never;
    }
  }

  function writeChoice(branches: readonly Syntax[]): void {
    const exits: number[] = [];
    for (const [index, branch] of branches.entries()) {
      if (index === branches.length - 1) {
        write(branch);
        break;
      }
      const fork = reserve();
      write(branch);
      exits.push(reserve());
      program[fork] = { op: "fork", first: fork + 1, second: program.length };
    }
    for (const exit of exits) program[exit] = { op: "jump", to: program.length };
  }

  function writeRepeat(body: Syntax, least: number, most: number): void {
    for (let count = 0; count < least; count++) {
      const start = program.length;
      write(body);
      // Repeating an empty program has no effect.
      if (program.length === start) return;
    }
    if (most === Infinity) {
      const fork = reserve();
      write(body);
      push({ op: "jump", to: fork });
      program[fork] = { op: "fork", first: fork + 1, second: program.length };
      return;
    }
    const forks: number[] = [];
    for (let count = least; count < most; count++) {
      forks.push(reserve());
      write(body);
    }
    for (const fork of forks) {
      program[fork] = { op: "fork", first: fork + 1, second: program.length };
    }
  }

  /** Reserves an instruction that is filled in later. */
  function reserve(): number {
    push({ op: "jump", to: 0 });
    return program.length - 1;
  }

  function push(instruction: Instruction): void {
    if (program.length >= MAX_INSTRUCTIONS) {
      throw new PatternError("is too large once its repetitions are written out");
    }
    program.push(instruction);
  }
}
