/**
 * Plans which tools to call, and in which order: every offered tool that the user's message mentions, after
 * the tools that the instructions always require.
 *
 * If a message spells names of tools (`get_weather`), exactly these are called, once per occurrence, in the order of the text.
 * Otherwise a tool is mentioned by a word of its name: “What is the weather in Oslo?” mentions `get_weather`. Without a mention
 * there is no call.
 */
import { createHints, wordPattern, type Wording } from "./hints.ts";
import { instanceOf } from "./instance.ts";
import type { DemoCall } from "./prompt.ts";
import type { DemoTool } from "./signature.ts";

export interface PlannedCall {
  readonly tool: DemoTool;
  /** Arguments are searched in the call's own part of the question, and in the text before all calls. */
  readonly wording: Wording;
}

export function planCalls(
  question: string,
  tools: readonly DemoTool[],
  instructions = "",
): PlannedCall[] {
  const mentioned = planMentioned(question, tools);
  const wanted = requiredNames(instructions);
  const required = tools.filter(
    (tool) => wanted.has(tool.name) && !mentioned.some((call) => call.tool === tool),
  );
  const wording: Wording = { about: [question], whole: question };
  return [...required.map((tool) => ({ tool, wording })), ...mentioned];
}

/** The planned calls that remain after the given ones. Unplanned calls are ignored. */
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

/** The arguments as JSON text: valid for the tool's signature, taken from the user's words if they fit. */
export function argumentsOf(call: PlannedCall, results: readonly string[]): string {
  if (call.tool.parameters === undefined) return "{}";
  const hints = createHints(call.wording, results);
  return JSON.stringify(instanceOf({ type: "object", ...call.tool.parameters }, hints));
}

function planMentioned(question: string, tools: readonly DemoTool[]): PlannedCall[] {
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

/**
 * Matches a strict rule without a condition, such as `You must always use the get_weather tool.` Other instructions often mention
 * tools that are optional.
 */
const REQUIREMENT =
  /(?<!\b(?:not|never)\s|n't\s)\b(?:must(?:\s+always)?|always)\s+(?:use|call|invoke)\s+(?:the\s+)?[`"']?([\p{L}\p{N}_.-]+?)[`"']?(?:\s+(?:tool|function))?[ \t]*(?:[.!\n]|$)/giu;

function requiredNames(instructions: string): ReadonlySet<string> {
  return new Set(Array.from(instructions.matchAll(REQUIREMENT), ([, name = ""]) => name));
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

/** Words that do not describe a tool's purpose. */
const GENERIC = new Set(
  "and call for from function get has list make run set the tool use with".split(" "),
);

function worded(question: string, tools: readonly DemoTool[]): Mention[] {
  const said = Array.from(question.matchAll(/\p{L}+/gu), (match) => ({
    word: match[0].toLowerCase(),
    at: match.index,
  }));
  const candidates = tools.flatMap((tool) => {
    // A namespace does not describe its tools.
    const name = tool.name.slice(tool.name.indexOf(".") + 1);
    const words = wordsOf(name).filter((word) => word.length > 2 && !GENERIC.has(word));
    const heard = words.filter((word) => said.some((each) => isAlike(each.word, word)));
    const at = said.find((each) => heard.some((word) => isAlike(each.word, word)))?.at;
    return at === undefined
      ? []
      : [{ tool, at, fullness: heard.length + heard.length / words.length }];
  });
  // `get_weather` and `get_weather_alerts` share a word. The tool with more matching words is called.
  const best = (at: number) =>
    Math.max(...candidates.filter((each) => each.at === at).map(({ fullness }) => fullness));
  return candidates.filter(({ at, fullness }) => fullness === best(at));
}

function wordsOf(name: string): string[] {
  const spaced = name.replaceAll(/(\p{Ll})(\p{Lu})/gu, "$1 $2");
  return Array.from(spaced.matchAll(/\p{L}+/gu), ([word]) => word.toLowerCase());
}

/** Whether words are equal except for the ending: `orders` and `order`, `calculate` and `calculator`. */
function isAlike(a: string, b: string): boolean {
  if (a === b || a === `${b}s` || `${a}s` === b) return true;
  return a.length >= 5 && b.length >= 5 && a.slice(0, 5) === b.slice(0, 5);
}
