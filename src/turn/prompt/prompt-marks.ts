/**
 * Marks for comparing a prompt with an earlier one of which only the marks are stored: digests of the sections of its
 * beginning, and of all ids up to the ends of its messages. No text can be recovered from them.
 */
import { digestOf, joinDigests, NO_IDS } from "../../harmony/ids-digest.ts";
import type { RenderedPrompt } from "../../harmony/prompt.ts";
import { systemText } from "../../harmony/system-message.ts";
import { toolsSection } from "../../harmony/tools.ts";
import { developerText } from "../../harmony/developer-message.ts";

/** Sections in the order in which they are compared. */
export const PROMPT_SECTIONS = ["effort", "tools", "system", "instructions", "format"] as const;

export type PromptSection = (typeof PROMPT_SECTIONS)[number];

/** The number of ids, and the two halves of their digest. */
export type EndMark = readonly [length: number, low: number, high: number];

export interface PromptMarks {
  /** The digest of each section. */
  readonly head: Readonly<Record<string, string>>;
  /** Marks at the ends of messages, in order; the last mark is at the end of the last message. */
  readonly ends: readonly EndMark[];
}

export interface PromptDifference {
  /** The differing section. `messages`: a message after the beginning. */
  readonly section: PromptSection | "messages";
  /** Lower bound of the tokens before the difference, up to the previous mark. */
  readonly shared: number;
}

/** Creates the marks in time linear in messages and new ids. */
export function toPromptMarks(prompt: RenderedPrompt): PromptMarks {
  return { head: headOf(prompt), ends: endsOf(prompt) };
}

/** Finds the first difference. Undefined: one prompt's marks are a beginning of the other's. */
export function findDifference(
  earlier: PromptMarks,
  later: PromptMarks,
): PromptDifference | undefined {
  const known = new Map(later.ends.map((end) => [end[0], end]));
  const most = lengthOf(later);
  let shared = 0;
  for (const [length, low, high] of earlier.ends) {
    if (length > most) return undefined;
    const end = known.get(length);
    if (end === undefined || end[1] !== low || end[2] !== high) {
      const section = PROMPT_SECTIONS.find((each) => earlier.head[each] !== later.head[each]);
      return { section: section ?? "messages", shared };
    }
    shared = length;
  }
  return undefined;
}

/** Length of all messages, in tokens. */
export function lengthOf({ ends }: PromptMarks): number {
  return ends.at(-1)?.[0] ?? 0;
}

/** Number of marks kept at the last messages, and at even distances before them. */
const MAX_LAST = 16;
const MAX_BEFORE = 16;

/** Drops marks to limit their size to about 1 KB. */
export function thinEnds(ends: readonly EndMark[]): readonly EndMark[] {
  const before = ends.slice(0, -MAX_LAST);
  const distance = Math.ceil(before.length / MAX_BEFORE);
  const kept = before.filter((_, index) => index % distance === 0);
  return [...kept, ...ends.slice(-MAX_LAST)];
}

function endsOf({ segments }: RenderedPrompt): EndMark[] {
  const ends: EndMark[] = [];
  let digest = NO_IDS;
  for (const segment of segments) {
    if (segment.type === "appended" || segment.message === undefined) break;
    for (const piece of segment.pieces) digest = joinDigests(digest, piece.digest());
    ends.push([digest.length, digest.low, digest.high]);
  }
  return ends;
}

function headOf({ segments: [system, developer] }: RenderedPrompt): PromptMarks["head"] {
  const { tools, ...own } = sectionsOf(system);
  const { tools: functions, ...others } = sectionsOf(developer);
  const all = [tools, functions].filter((each) => each !== undefined);
  return { ...own, ...others, ...(all.length > 0 && { tools: all.join() }) };
}

function sectionsOf(segment: RenderedPrompt["segments"][number] | undefined): PromptMarks["head"] {
  const message = segment?.type === "rendered" ? segment.message : undefined;
  const [part] = typeof message?.content === "object" ? message.content : [];
  switch (part?.type) {
    case "system": {
      const { effort, namespaces = [], ...rest } = part;
      return {
        system: digestOfText(systemText(rest, false)),
        ...(effort && { effort }),
        ...(namespaces.length > 0 && { tools: digestOfText(toolsSection(namespaces)) }),
      };
    }
    case "developer": {
      const { instructions, namespaces = [], responseFormats = [] } = part;
      const format = developerText({ type: "developer", responseFormats });
      return {
        ...(instructions !== undefined && { instructions: digestOfText(instructions) }),
        ...(namespaces.length > 0 && { tools: digestOfText(toolsSection(namespaces)) }),
        ...(format !== "" && { format: digestOfText(format) }),
      };
    }
    case "text":
    case undefined:
      return {};
    default:
      return part satisfies never;
  }
}

/** The digest of a text. 1 MB takes 3 ms. */
export function digestOfText(text: string): string {
  const units = new Uint16Array(text.length);
  for (let at = 0; at < text.length; at++) units[at] = text.charCodeAt(at);
  const { low, high } = digestOf(units);
  return `${(low >>> 0).toString(36)}.${(high >>> 0).toString(36)}`;
}
