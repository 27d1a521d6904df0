/**
 * Runs random completions through the Harmony parser. For each: no exception, well-nested parts, the same events
 * however it is split, no more text out than in, and no call if no tool was offered.
 */
import { markerOf } from "../../src/harmony/markers.ts";
import {
  createParser,
  type ParseEvent,
  type Parser,
  type ParserPiece,
} from "../../src/harmony/index.ts";
import { FIRST_SPECIAL_ID, o200kHarmony } from "../../src/tokenizer/index.ts";
import { createParserInput, type ParserInput, type ParserSegment } from "./parser-input.ts";
import { createRandom, type Random, seedOf } from "./random.ts";
import { shrinkList } from "./shrink.ts";
import { createWellFormed } from "./well-formed.ts";

export interface ParserFailure {
  readonly problem: string;
  readonly input: ParserInput;
}

/** Runs the input with this number. Returns the problem, if any. */
export function fuzzParser(seed: number, index: number): ParserFailure | undefined {
  const random = createRandom(seedOf(seed, index));
  if (random.oneIn(WELL_FORMED_ONE_IN)) return checkWellFormed(random);
  const input = createParserInput(random);
  const cuts = random.oneIn(8) ? "single" : random.below(0x7fffffff);
  const problem = findProblem(input, [cuts], random.oneIn(4));
  return problem === undefined ? undefined : { problem, input };
}

const WELL_FORMED_ONE_IN = 8;

/** Checks that no part of well-formed input is lost, added or misinterpreted, however it is split. */
function checkWellFormed(random: Random): ParserFailure | undefined {
  const { input, parts } = createWellFormed(random);
  const cuts = random.oneIn(2) ? "whole" : random.below(0x7fffffff);
  try {
    const reading = read(input, cuts);
    if (reading.parts === parts) return undefined;
    return { problem: `it gives\n  ${reading.parts}\nand should give\n  ${parts}`, input };
  } catch (error) {
    return {
      problem: error instanceof Error ? (error.stack ?? error.message) : String(error),
      input,
    };
  }
}

/** The smallest failing input found, which may be split differently. */
export async function shrinkParserFailure(failure: ParserFailure): Promise<ParserFailure> {
  const input = await shrink(failure.input);
  const problem = findProblem(input, MANY_CUTS, true);
  return problem === undefined ? failure : { problem, input };
}

/** The split of pushes: each element alone, or at places chosen from a seed. */
type Cuts = "single" | number;

function findProblem(
  input: ParserInput,
  ways: readonly Cuts[],
  inPieces: boolean,
): string | undefined {
  try {
    const whole = read(input, "whole");
    for (const cuts of ways) {
      const cut = read(input, cuts);
      if (cut.all !== whole.all)
        return `cut (${cuts}) it gives\n  ${cut.all}\nand whole\n  ${whole.all}`;
    }
    if (!inPieces) return undefined;
    const pieces = read({ ...input, segments: joinIds(input.segments).map(toPieces) }, "whole");
    if (pieces.parts === whole.parts) return undefined;
    return `as pieces it gives\n  ${pieces.parts}\nand as ids\n  ${whole.parts}`;
  } catch (error) {
    return error instanceof Error ? (error.stack ?? error.message) : String(error);
  }
}

interface Reading {
  /** The parts with their texts. */
  readonly parts: string;
  /** All results that must not depend on the split: parts, tokens and repairs. */
  readonly all: string;
}

/** Throws if a requirement is not met. */
function read({ segments, toolNames, reason, limits }: ParserInput, cuts: Cuts | "whole"): Reading {
  const parser = createParser(o200kHarmony(), { toolNames, ...limits });
  const events = segments.flatMap((segment) => pushCut(parser, segment, cuts));
  events.push(...parser.end(reason));
  if (!parser.done) throw new Error("the parser has not ended");
  const { text, length, calls, names } = joinEvents(events);
  const room = lengthOf(segments);
  // A call without arguments gets `{}`.
  if (length > room + 2 * calls) throw new Error(`${length} characters out, ${room} in`);
  if (names > room) throw new Error("names are longer than the input");
  if (calls > 0 && toolNames.length === 0) throw new Error("a call, but no tool was offered");
  if (parser.pushText("<|start|>assistant<|channel|>final<|message|>x").length > 0) {
    throw new Error("events after the end");
  }
  const { reasoning, preamble, content, toolCall } = parser.tokens;
  const recoveries = JSON.stringify([...parser.recoveries]);
  const counted = `${reasoning}/${preamble}/${content}/${toolCall}`;
  return { parts: text, all: `${text} ${counted} ${recoveries}` };
}

/** A character may begin in one segment of ids and end in the next. */
function joinIds(segments: readonly ParserSegment[]): ParserSegment[] {
  const joined: ParserSegment[] = [];
  for (const segment of segments) {
    const last = joined.at(-1);
    if (segment.form === "ids" && last?.form === "ids") {
      joined[joined.length - 1] = { form: "ids", items: [...last.items, ...segment.items] };
    } else {
      joined.push(segment);
    }
  }
  return joined;
}

/**
 * Ids in the form of an engine that sends special tokens by id and the rest as text. It must be parsed to the same
 * result.
 */
function toPieces(segment: ParserSegment): ParserSegment {
  if (segment.form !== "ids") return segment;
  const items: ParserPiece[] = [];
  const decoder = o200kHarmony().createDecoder();
  const add = (text: string) => {
    if (text !== "") items.push({ text });
  };
  for (const id of segment.items) {
    if (id >= 0 && id < FIRST_SPECIAL_ID) {
      add(decoder.push(id));
    } else {
      // An id that is not a marker is skipped, also within a character.
      if (markerOf(id) !== undefined) add(decoder.end());
      items.push({ special: id });
    }
  }
  add(decoder.end());
  return { form: "pieces", items };
}

function pushCut(parser: Parser, segment: ParserSegment, cuts: Cuts | "whole"): ParseEvent[] {
  if (cuts === "whole") return push(parser, segment, 0, segment.items.length);
  const { length } = segment.items;
  const random = cuts === "single" ? undefined : createRandom(cuts);
  const events: ParseEvent[] = [];
  for (let from = 0; from < length;) {
    const to = from + 1 + (random?.below(Math.min(8, length)) ?? 0);
    events.push(...push(parser, segment, from, to));
    from = to;
  }
  return events;
}

function push(parser: Parser, segment: ParserSegment, from: number, to: number): ParseEvent[] {
  switch (segment.form) {
    case "ids":
      return parser.pushIds(segment.items.slice(from, to));
    case "text":
      return parser.pushText(segment.items.slice(from, to));
    case "pieces":
      return parser.pushPieces(segment.items.slice(from, to));
    default:
      return segment satisfies never;
  }
}

function joinEvents(events: readonly ParseEvent[]) {
  let text = "";
  let length = 0;
  let calls = 0;
  let names = 0;
  let isOpen = false;
  for (const event of events) {
    switch (event.type) {
      case "part-start":
        if (isOpen) throw new Error("a part begins in another");
        isOpen = true;
        text += `[${event.part} `;
        if (event.part === "tool-call") {
          calls++;
          names += event.name.length;
          text += `${event.name} `;
        }
        break;
      case "part-delta":
        if (!isOpen || event.text === "") throw new Error("a delta without part or text");
        length += event.text.length;
        text += event.text;
        break;
      case "part-end":
        if (!isOpen) throw new Error("a part ends that is not open");
        isOpen = false;
        text += "]";
        break;
      default:
        event satisfies never;
    }
  }
  if (isOpen) throw new Error("a part is left open");
  return { text, length, calls, names };
}

/** The maximum number of characters the input can spell: broken UTF-8 gives up to one per byte. */
function lengthOf(segments: readonly ParserSegment[]): number {
  let length = 0;
  for (const segment of segments) {
    switch (segment.form) {
      case "ids":
        length += Buffer.byteLength(o200kHarmony().decode(segment.items));
        break;
      case "text":
        length += segment.items.length;
        break;
      case "pieces":
        for (const piece of segment.items) length += "text" in piece ? piece.text.length : 0;
        break;
      default:
        segment satisfies never;
    }
  }
  return length;
}

const MANY_CUTS: readonly Cuts[] = ["single", 1, 2, 3, 4, 5, 6, 7];

async function shrink(input: ParserInput): Promise<ParserInput> {
  const fails = (segments: readonly ParserSegment[]) =>
    findProblem({ ...input, segments }, MANY_CUTS, true) !== undefined;
  let segments = await shrinkList(input.segments, fails);
  for (const [at, segment] of segments.entries()) {
    const shorter = await shrinkItems(segment, (each) => fails(segments.with(at, each)));
    segments = segments.with(at, shorter);
  }
  return { ...input, segments };
}

async function shrinkItems(
  segment: ParserSegment,
  fails: (shorter: ParserSegment) => boolean,
): Promise<ParserSegment> {
  switch (segment.form) {
    case "ids": {
      const items = await shrinkList(segment.items, (ids) => fails({ form: "ids", items: ids }));
      return { form: "ids", items };
    }
    case "text": {
      const units = await shrinkList(segment.items.split(""), (shorter) =>
        fails({ form: "text", items: shorter.join("") }),
      );
      return { form: "text", items: units.join("") };
    }
    case "pieces": {
      const items = await shrinkList(segment.items, (pieces) =>
        fails({ form: "pieces", items: pieces }),
      );
      return { form: "pieces", items };
    }
    default:
      return segment satisfies never;
  }
}
