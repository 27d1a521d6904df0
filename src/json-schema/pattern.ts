/**
 * Matches the regular expressions of JSON Schema (ECMA-262 with the `u` flag) in time linear in the text.
 *
 * A pattern becomes a nondeterministic automaton whose states advance together, without backtracking. This is
 * our own engine instead of a port of RE2, because a match must count its steps and be interruptible: RE2JS
 * blocks the thread for 400 ms on 500 characters with `^(a?){500}a{500}$`. It is small because the runtime's
 * own engine does what is safe: it checks the syntax, and decides whether one character belongs to a class,
 * so that `\s`, `.` and `\p{…}` have exactly their ECMAScript meaning.
 *
 * Backreferences and lookaround are not regular, and are rejected. An exception are lookaheads directly after
 * a leading `^`, as in `^(?=.*\d)(?!admin).+$`: each becomes a pattern of its own, matched at the start.
 */
import { quote } from "./schema-error.ts";
import type { Sliced, Work } from "./work.ts";

export interface Pattern {
  readonly source: string;
  /** Number of instructions, including lookaheads. */
  readonly size: number;
  readonly program: Program;
  /** Lookaheads at the start of the text. */
  readonly lookaheads: readonly { readonly program: Program; readonly negative: boolean }[];
}

type Program = readonly Instruction[];

type Instruction =
  | { readonly op: "character"; readonly matches: CharacterTest }
  /** Continue at both. */
  | { readonly op: "fork"; readonly first: number; readonly second: number }
  | { readonly op: "jump"; readonly to: number }
  | { readonly op: "assert"; readonly holds: Assertion }
  | { readonly op: "match" };

type CharacterTest = (codePoint: number) => boolean;
type Assertion = (text: string, at: number) => boolean;

/** The pattern is not supported. The message says why. */
export class PatternError extends Error {}

const MAX_SOURCE = 10_000;
const MAX_INSTRUCTIONS = 10_000;
const MAX_REPEAT = 1000;
const MAX_GROUP_DEPTH = 100;

/** Throws a {@link PatternError} if the pattern is not supported. */
export function compilePattern(source: string): Pattern {
  if (source.length > MAX_SOURCE) {
    throw new PatternError(`is a pattern of more than ${MAX_SOURCE} characters`);
  }
  const checked = checkSyntax(withoutNeedlessEscapes(source));
  const { body, lookaheads } = new PatternParser(checked).parse();
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

/** Returns the pattern as the runtime parses it. Parsing is linear; only matching is not. */
function checkSyntax(source: string): string {
  try {
    return new RegExp(source, "u").source;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new PatternError(`is not a regular expression: ${reason.slice(0, 300)}`);
  }
}

/** Whether the pattern matches anywhere in the text. */
export function* matchPattern(pattern: Pattern, text: string, work: Work): Sliced<boolean> {
  for (const { program, negative } of pattern.lookaheads) {
    if ((yield* matchProgram(program, text, work)) === negative) return false;
  }
  return yield* matchProgram(pattern.program, text, work);
}

// Matching

function* matchProgram(program: Program, text: string, work: Work): Sliced<boolean> {
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

/** Whether it can match only at the start of the text. */
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

// Parsing

type Syntax =
  | { readonly type: "character"; readonly matches: CharacterTest }
  | { readonly type: "assert"; readonly holds: Assertion }
  | { readonly type: "sequence"; readonly items: readonly Syntax[] }
  | { readonly type: "choice"; readonly branches: readonly Syntax[] }
  | {
      readonly type: "repeat";
      readonly body: Syntax;
      readonly least: number;
      readonly most: number;
    };

interface Lookahead {
  readonly body: Syntax;
  readonly negative: boolean;
}

/** Matches any one escape. A pair of escaped surrogates is one character. */
const ESCAPE =
  /\\(?:u\{[0-9a-f]+\}|ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}|u[0-9a-f]{4}|x[0-9a-f]{2}|c[a-z]|p\{[^}]*\}|k<[^>]*>|[1-9]\d*|.)/isuy;
const CLASS = /\[(?:[^\]\\]|\\.)*\]/suy;
const REPEAT = /(?:([*+?])|\{(\d+)(?:(,)(\d*))?\})\??/uy;
const GROUP = /\((?:\?(?:(:)|<([^=!][^>]*)>|(=|!)|(<=|<!)|[^:]))?/uy;

/** Parses a pattern that the runtime has already accepted. */
class PatternParser {
  readonly #source: string;
  readonly #lookaheads: Lookahead[] = [];
  readonly #tests = new Map<string, CharacterTest>();
  #at = 0;
  #depth = 0;
  /** Only `^` and lookaheads have been read. */
  #atHead = false;

  constructor(source: string) {
    this.#source = source;
  }

  parse(): { body: Syntax; lookaheads: readonly Lookahead[] } {
    const body = this.#parseChoice();
    if (this.#lookaheads.length > 0 && body.type === "choice") throw unsupported("lookahead");
    return { body, lookaheads: this.#lookaheads };
  }

  #parseChoice(): Syntax {
    const branches = [this.#parseSequence()];
    while (this.#source[this.#at] === "|") {
      this.#at++;
      branches.push(this.#parseSequence());
    }
    const [only] = branches;
    return branches.length === 1 && only ? only : { type: "choice", branches };
  }

  #parseSequence(): Syntax {
    const items: Syntax[] = [];
    for (;;) {
      const char = this.#source[this.#at];
      if (char === undefined || char === "|" || char === ")") return { type: "sequence", items };
      this.#atHead =
        this.#depth === 0 && items.length === 1 && this.#source[0] === "^" && this.#at > 0;
      const item = this.#parseItem(char);
      if (item) items.push(this.#parseRepeat(item));
    }
  }

  /** Returns undefined for a lookahead, which is stored separately. */
  #parseItem(char: string): Syntax | undefined {
    switch (char) {
      case "^":
        this.#at++;
        return { type: "assert", holds: atStart };
      case "$":
        this.#at++;
        return { type: "assert", holds: atEnd };
      case "(":
        return this.#parseGroup();
      case "[":
        return this.#character(this.#take(CLASS)[0]);
      case ".":
        this.#at++;
        return this.#character(".");
      case "\\":
        return this.#parseEscape();
      default: {
        const codePoint = this.#source.codePointAt(this.#at) ?? 0;
        this.#at += codePoint > 0xffff ? 2 : 1;
        return { type: "character", matches: (each) => each === codePoint };
      }
    }
  }

  #parseEscape(): Syntax {
    const [escape] = this.#take(ESCAPE);
    if (escape === String.raw`\b`) return { type: "assert", holds: atWordEdge };
    if (escape === String.raw`\B`) {
      return { type: "assert", holds: (text, at) => !atWordEdge(text, at) };
    }
    if (/^\\(?:[1-9]|k<)/u.test(escape)) throw unsupported("a backreference");
    return this.#character(escape);
  }

  #parseGroup(): Syntax | undefined {
    const mayLookAhead = this.#atHead;
    const [opening, plain, name, ahead, lookbehind] = this.#take(GROUP);
    if (lookbehind !== undefined) throw unsupported("lookbehind");
    if (ahead !== undefined && !mayLookAhead) {
      throw unsupported("lookahead, except directly after a leading ^");
    }
    if (opening !== "(" && plain === undefined && name === undefined && ahead === undefined) {
      throw unsupported("inline flags");
    }
    if (++this.#depth > MAX_GROUP_DEPTH) throw new PatternError("nests groups too deeply");
    const body = this.#parseChoice();
    this.#depth--;
    this.#at++;
    if (ahead === undefined) return body;
    this.#lookaheads.push({ body, negative: ahead === "!" });
    return undefined;
  }

  #parseRepeat(body: Syntax): Syntax {
    REPEAT.lastIndex = this.#at;
    const repeat = REPEAT.exec(this.#source);
    if (!repeat) return body;
    this.#at += repeat[0].length;
    const [, sign, from = "0", comma, to = ""] = repeat;
    if (sign !== undefined) {
      const least = sign === "+" ? 1 : 0;
      return { type: "repeat", body, least, most: sign === "?" ? 1 : Infinity };
    }
    const least = Number(from);
    const most = comma === undefined ? least : to === "" ? Infinity : Number(to);
    if (least > MAX_REPEAT || (most > MAX_REPEAT && most !== Infinity)) {
      throw new PatternError(`repeats more than ${MAX_REPEAT} times: ${quote(repeat[0])}`);
    }
    return { type: "repeat", body, least, most };
  }

  #character(source: string): Syntax {
    let matches = this.#tests.get(source);
    if (!matches) this.#tests.set(source, (matches = toCharacterTest(source)));
    return { type: "character", matches };
  }

  #take(token: RegExp): RegExpExecArray {
    token.lastIndex = this.#at;
    const match = token.exec(this.#source);
    if (!match) throw new PatternError(`cannot be read at ${quote(this.#source.slice(this.#at))}`);
    this.#at += match[0].length;
    return match;
  }
}

function unsupported(what: string): PatternError {
  return new PatternError(
    `uses ${what}, which cannot be matched in linear time: rewrite it without, or remove the pattern`,
  );
}

/** Lets the runtime's engine test one character. */
function toCharacterTest(source: string): CharacterTest {
  const pattern = new RegExp(`^${source}$`, "u");
  const known: (boolean | undefined)[] = [];
  return (codePoint) => {
    if (codePoint > 0x7f) return pattern.test(String.fromCodePoint(codePoint));
    return (known[codePoint] ??= pattern.test(String.fromCodePoint(codePoint)));
  };
}

function atStart(_text: string, at: number): boolean {
  return at === 0;
}

function atEnd(text: string, at: number): boolean {
  return at === text.length;
}

function atWordEdge(text: string, at: number): boolean {
  return isWord(text.charCodeAt(at - 1)) !== isWord(text.charCodeAt(at));
}

/** NaN stands for the end of the text. */
function isWord(code: number): boolean {
  return (
    (code >= 0x30 && code <= 0x39) ||
    (code >= 0x41 && code <= 0x5a) ||
    (code >= 0x61 && code <= 0x7a) ||
    code === 0x5f
  );
}

/**
 * Many generators escape characters that need no escape: `\_`, `\@`, or `\-` outside a class. The `u` flag
 * forbids this and other dialects do not; the meaning is unambiguous.
 */
function withoutNeedlessEscapes(source: string): string {
  let inClass = false;
  return source.replaceAll(/\\([^])|[[\]]/gu, (token, escaped: string | undefined) => {
    if (token === "[") inClass = true;
    if (token === "]") inClass = false;
    if (escaped === undefined) return token;
    if (escaped === "-" && !inClass) return "-";
    return /[!"#%&',:;<=>@_`~ ]/u.test(escaped) ? escaped : token;
  });
}

// Programs

function toProgram(syntax: Syntax): Program {
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
