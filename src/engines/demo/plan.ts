/**
 * Which tools to call, in which order: every offered tool that the user's message mentions.
 *
 * A message that spells names of tools (`get_weather`) means exactly these, as often and in the order
 * they are written. Otherwise a tool is mentioned by a word of its name: “What is the weather in
 * Oslo?” mentions `get_weather`. Nothing mentioned, nothing called.
 */
import { createClues, wordPattern, type Wording } from "./hints.ts";
import { instanceOf } from "./instance.ts";
import type { DemoCall } from "./prompt.ts";
import type { DemoTool } from "./signature.ts";

export interface PlannedCall {
  readonly tool: DemoTool;
  /** Arguments are looked for in its own part of the question, and in what stands before all calls. */
  readonly wording: Wording;
}

export function planCalls(question: string, tools: readonly DemoTool[]): PlannedCall[] {
  const named = namedMentions(question, tools);
  const mentions = named.length > 0 ? named : worded(question, tools);
  const inOrder = mentions.toSorted((a, b) => a.at - b.at);
  return inOrder.map(({ tool, at }, index) => ({
    tool,
    wording: {
      about: [question.slice(at, inOrder[index + 1]?.at), question.slice(0, inOrder[0]?.at)],
      whole: question,
    },
  }));
}

/** What of the plan is left after these calls. Calls that were not planned do not count. */
export function remainingCalls(
  plan: readonly PlannedCall[],
  calls: readonly DemoCall[],
): PlannedCall[] {
  const remaining = [...plan];
  for (const call of calls) {
    const index = remaining.findIndex(({ tool }) => tool.name === call.tool);
    if (index >= 0) remaining.splice(index, 1);
  }
  return remaining;
}

/** The arguments as JSON text: valid for the tool's signature, taken from the user's words where they fit. */
export function argumentsOf(call: PlannedCall, results: readonly string[]): string {
  if (call.tool.parameters === undefined) return "{}";
  const clues = createClues(call.wording, results);
  return JSON.stringify(instanceOf({ type: "object", ...call.tool.parameters }, clues));
}

interface Mention {
  readonly tool: DemoTool;
  readonly at: number;
}

function namedMentions(question: string, tools: readonly DemoTool[]): Mention[] {
  return tools.flatMap((tool) =>
    Array.from(question.matchAll(wordPattern(tool.name)), ({ index }) => ({ tool, at: index })),
  );
}

/** Words that say nothing about what a tool does. */
const GENERIC = new Set(
  "and call for from function get has list make run set the tool use with".split(" "),
);

function worded(question: string, tools: readonly DemoTool[]): Mention[] {
  const said = Array.from(question.matchAll(/\p{L}+/gu), (match) => ({
    word: match[0].toLowerCase(),
    at: match.index,
  }));
  const candidates = tools.flatMap((tool) => {
    const words = wordsOf(tool.name).filter((word) => word.length > 2 && !GENERIC.has(word));
    const heard = words.filter((word) => said.some((each) => isAlike(each.word, word)));
    const at = said.find((each) => heard.some((word) => isAlike(each.word, word)))?.at;
    return at === undefined
      ? []
      : [{ tool, at, fullness: heard.length + heard.length / words.length }];
  });
  // `get_weather` and `get_weather_alerts` share a word: the one that was named more fully is meant.
  const best = (at: number) =>
    Math.max(...candidates.filter((each) => each.at === at).map(({ fullness }) => fullness));
  return candidates.filter(({ at, fullness }) => fullness === best(at));
}

function wordsOf(name: string): string[] {
  const spaced = name.replaceAll(/(\p{Ll})(\p{Lu})/gu, "$1 $2");
  return Array.from(spaced.matchAll(/\p{L}+/gu), ([word]) => word.toLowerCase());
}

/** Equal but for the ending: `orders` and `order`, `calculate` and `calculator`. */
function isAlike(a: string, b: string): boolean {
  if (a === b || a === `${b}s` || `${a}s` === b) return true;
  return a.length >= 5 && b.length >= 5 && a.slice(0, 5) === b.slice(0, 5);
}
