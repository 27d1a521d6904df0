/** Whether what the model wrote is what was demanded: engines ignore constraints silently, so all is checked. */
import type { Json } from "../harmony/json.ts";
import type { WrongCall } from "./next-step.ts";
import type { OfferedTool, Part, Turn } from "./turn.ts";
import type { TurnState } from "./turn-state.ts";
import { whyInvalid } from "./validate.ts";

export function toAnswerSchema({ answer }: Turn): Json | undefined {
  return answer.type === "json-schema" ? answer.schema : undefined;
}

/** The tool of this name, if the arguments of its calls must satisfy the schema. */
export function findCheckedTool(turn: Turn, name: string): OfferedTool | undefined {
  const tool = turn.tools.find((each) => each.name === name);
  return tool && (tool.strict || turn.toolChoice.type === "required") ? tool : undefined;
}

/** The tool a call goes to, if its arguments must satisfy the schema. */
export function toCheckedTool(turn: Turn, part: Part | undefined): OfferedTool | undefined {
  return part?.kind === "tool-call" ? findCheckedTool(turn, part.name) : undefined;
}

/** Calls are complete, and held until their arguments have been checked. */
export function hasUncheckedCall({ turn, emitter }: TurnState): boolean {
  if (!emitter.holds("tool-call") || emitter.part !== undefined) return false;
  return emitter.held("tool-call").some(({ part }) => toCheckedTool(turn, part));
}

/** What is wrong with the answer. A client joins all answers into one text, so a document beside another is none. */
export async function whyAnswerIsWrong({
  emitter,
  turn,
  signal,
}: TurnState): Promise<string | undefined> {
  if (emitter.count("content") > 1) return "there is other text beside the document";
  const texts = emitter.holds("content")
    ? emitter.held("content").map(({ text }) => text)
    : [emitter.answerText];
  const checker = turn.answer.type === "json-schema" ? turn.answer.checker : undefined;
  const problem = await whyInvalid((turn.prefill ?? "") + texts.join(""), checker, signal);
  if (problem === undefined || emitter.stopSequence === undefined) return problem;
  return `the stop string ${JSON.stringify(emitter.stopSequence)} ended it: ${problem}`;
}

/** The first call whose arguments must satisfy a schema and do not. */
export async function findWrongCall({
  emitter,
  turn,
  signal,
}: TurnState): Promise<WrongCall | undefined> {
  const calls =
    emitter.holds("tool-call") || !emitter.last
      ? emitter.held("tool-call")
      : [{ part: emitter.last, text: emitter.text }];
  for (const { part, text } of calls) {
    const tool = toCheckedTool(turn, part);
    const problem = tool && (await whyInvalid(text, tool.checker, signal));
    if (tool && problem !== undefined) return { tool, problem };
  }
  return undefined;
}
