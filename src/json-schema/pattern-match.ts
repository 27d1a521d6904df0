/** Runs the automaton of a regular expression: all of its states advance together. */
import type { Program } from "./pattern-program.ts";
import { atStart } from "./pattern-syntax.ts";
import type { Sliced, Work } from "./work.ts";

/** Whether the program matches anywhere in the text. */
export function* matchProgram(program: Program, text: string, work: Work): Sliced<boolean> {
  const anchored = isAnchored(program);
  let current = new States(program.length);
  let next = new States(program.length);
  const pending: number[] = [];
  work.spend(program.length >> 4);
  for (let at = 0; ;) {
    if (!anchored || at === 0) {
      if (addState(0, current, at)) return true;
    }
    if (at >= text.length || (anchored && current.size === 0)) return false;
    const codePoint = text.codePointAt(at) ?? 0;
    at += codePoint > 0xffff ? 2 : 1;
    for (let index = 0; index < current.size; index++) {
      const state = current.at(index);
      const instruction = program[state];
      if (instruction?.op !== "character" || !instruction.matches(codePoint)) continue;
      if (addState(state + 1, next, at)) return true;
    }
    work.spend(current.size + 1);
    [current, next] = [next, current];
    next.clear();
    if (work.due) yield;
  }

  /** Adds all states reachable without a character. Returns true if the end of the pattern is one of them. */
  function addState(from: number, states: States, at: number): boolean {
    for (let state: number | undefined = from; state !== undefined; state = pending.pop()) {
      if (!states.add(state)) continue;
      const instruction = program[state];
      switch (instruction?.op) {
        case "character":
          break;
        case "match":
          return true;
        case "jump":
          pending.push(instruction.to);
          break;
        case "fork":
          pending.push(instruction.second, instruction.first);
          break;
        case "assert":
          if (instruction.holds(text, at)) pending.push(state + 1);
          break;
        default:
      }
    }
    return false;
  }
}

/** Whether the program can match only at the start of the text. */
function isAnchored([first]: Program): boolean {
  return first?.op === "assert" && first.holds === atStart;
}

/** A set of states in insertion order that is cleared in constant time. */
class States {
  readonly #members: Uint16Array;
  readonly #places: Uint16Array;
  size = 0;

  constructor(most: number) {
    this.#members = new Uint16Array(most);
    this.#places = new Uint16Array(most);
  }

  at(index: number): number {
    return this.#members[index] ?? 0;
  }

  add(state: number): boolean {
    const place = this.#places[state] ?? 0;
    if (place < this.size && this.#members[place] === state) return false;
    this.#members[this.size] = state;
    this.#places[state] = this.size++;
    return true;
  }

  clear(): void {
    this.size = 0;
  }
}
