/**
 * Decides whether a trailing assistant message is a prefill (the beginning of the answer) or part of the
 * history.
 *
 * Clients end a conversation with an assistant message for two reasons: to have it continued, or to request a new
 * answer after it, such as an agent that requests its finished answer again as a JSON document. A text that cannot be
 * the beginning of the demanded answer is history.
 */
import { isJsonObject, JsonSyntaxError, parseJson } from "../harmony/json.ts";
import { finalMessage } from "../harmony/messages.ts";
import { TurnPrompt } from "./prompt/prompt.ts";
import type { AnswerFormat, Turn } from "./turn.ts";

/** Moves the prefill into the history if it cannot be continued. Called by each API when it builds a turn. */
export function settlePrefill(turn: Turn): Turn {
  const { prefill, ...rest } = turn;
  if (prefill === undefined || isBeginning(prefill, turn)) return turn;
  return { ...rest, prompt: new TurnPrompt([...turn.prompt.messages, finalMessage(prefill)]) };
}

function isBeginning(prefill: string, { toolChoice, answer }: Turn): boolean {
  // A call cannot continue an answer.
  if (toolChoice.type === "required") return false;
  return answer.type === "text" || isBeginningOfDocument(prefill.trimStart(), answer);
}

function isBeginningOfDocument(text: string, answer: AnswerFormat): boolean {
  const first = firstCharacter(answer);
  if (first !== undefined && text !== "" && !text.startsWith(first)) return false;
  try {
    parseJson(text);
    // A complete document cannot be continued.
    return false;
  } catch (error) {
    return error instanceof JsonSyntaxError && isUnfinished(text.slice(error.position));
  }
}

const FIRST_CHARACTERS = new Map([
  ["object", "{"],
  ["array", "["],
  ["string", '"'],
]);

/** The first character of the document, if the format determines it. */
function firstCharacter(answer: AnswerFormat): string | undefined {
  if (answer.type !== "json-schema") return "{";
  const type = isJsonObject(answer.schema) ? answer.schema.get("type") : undefined;
  return typeof type === "string" ? FIRST_CHARACTERS.get(type) : undefined;
}

/** The text after the valid part of an incomplete number. */
const UNFINISHED_NUMBER = /^(?:-|\.|[eE][+-]?)$/;
const UNFINISHED_STRING = /^"[^"\\]*(?:\\.[^"\\]*)*\\?$/s;

/** Whether parsing failed only because the text ends early. `rest`: the text from the error position. */
function isUnfinished(rest: string): boolean {
  return (
    rest === "" ||
    UNFINISHED_STRING.test(rest) ||
    ["true", "false", "null"].some((word) => word.startsWith(rest)) ||
    UNFINISHED_NUMBER.test(rest)
  );
}
