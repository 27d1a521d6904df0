/**
 * Checks whether the model's output meets the request's demands. Every output is checked, because some
 * engines ignore constraints silently.
 */
import type { Json } from "../../harmony/json.ts";
import { isObject, type SchemaChecker } from "../../json-schema/index.ts";
import { yieldToEventLoop } from "../../streams/timers.ts";
import type { WrongCall } from "./decision.ts";
import type { OfferedTool, Part, Turn } from "../turn.ts";
import type { TurnState } from "../turn-state.ts";

export function toAnswerSchema({ answer }: Turn): Json | undefined {
  return answer.type === "json-schema" ? answer.schema : undefined;
}

/** Whether completed calls are held until their arguments are checked. */
export function hasUncheckedCall({ tools, emitter }: TurnState): boolean {
  if (!emitter.holds("tool-call") || emitter.part !== undefined) return false;
  return emitter.held("tool-call").some(({ part }) => tools.checkedToolOf(part));
}

/**
 * Returns the reason why the answer is invalid, or undefined. Clients join all answer parts into one text, so a JSON
 * document next to other text is invalid.
 */
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

/** Finds the first call whose arguments violate their schema. */
export async function findWrongCall({
  emitter,
  tools,
  signal,
}: TurnState): Promise<WrongCall | undefined> {
  const calls =
    emitter.holds("tool-call") || !emitter.last
      ? emitter.held("tool-call")
      : [{ part: emitter.last, text: emitter.text }];
  for (const { part, text } of calls) {
    const tool = tools.checkedToolOf(part);
    const problem = tool && (await whyCallIsWrong(tool, text, signal));
    // The call has another name than the tool, and is accepted only if its arguments are valid.
    const isOther = tool?.mapped !== undefined && tool.name !== nameOf(part);
    if (tool && problem !== undefined && !isOther) return { tool, problem };
  }
  return undefined;
}

function nameOf(part: Part): string | undefined {
  return part.kind === "tool-call" ? part.name : undefined;
}

/** Checks a call. For a mapped tool, the converted arguments are checked. */
async function whyCallIsWrong(
  { mapped, checker }: OfferedTool,
  text: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (mapped === undefined) return whyInvalid(text, checker, signal);
  const call = mapped.toClient(text);
  if ("problem" in call) return call.problem;
  return mapped.isText ? undefined : whyInvalid(call.body, checker, signal);
}

/**
 * Returns undefined if `text` is a document that satisfies the schema, else the reason, in words that the model can act
 * on. Without a schema, any JSON object is valid. Rejects if the signal is aborted.
 */
async function whyInvalid(
  text: string,
  checker: SchemaChecker | undefined,
  signal: AbortSignal,
): Promise<string | undefined> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return `not valid JSON: ${error instanceof Error ? error.message : String(error)}`;
  }
  if (checker === undefined) {
    return isObject(value) ? undefined : "not a JSON object";
  }
  const verdict = await checker.check(value, { pause: () => pause(signal) });
  return verdict.valid ? undefined : verdict.problem;
}

/** Yields so that other requests run first. */
async function pause(signal: AbortSignal): Promise<void> {
  await yieldToEventLoop();
  signal.throwIfAborted();
}
