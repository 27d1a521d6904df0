/**
 * Whether a trailing assistant message is the beginning of the answer or a message of the history.
 *
 * Clients end a conversation with an assistant message for two reasons: to have it continued, or to ask for something
 * else after it (an agent asks for its finished answer once more, as a JSON document). What cannot be the beginning
 * of what is demanded is history.
 */
import { isJsonObject, JsonSyntaxError, parseJson } from "../harmony/json.ts";
import { finalMessage } from "../harmony/messages.ts";
import type { AnswerFormat, Turn } from "./turn.ts";

/** The turn, its prefill moved into the history where it cannot be continued. For an API that makes a turn. */
export function settlePrefill(turn: Turn): Turn {
  const { prefill, ...rest } = turn;
  if (prefill === undefined || isBeginning(prefill, turn)) return turn;
  return { ...rest, messages: [...turn.messages, finalMessage(prefill)] };
}

function isBeginning(prefill: string, { toolChoice, answer }: Turn): boolean {
  // A call is not the continuation of an answer.
  if (toolChoice.type === "required") return false;
  return answer.type === "text" || isBeginningOfDocument(prefill.trimStart(), answer);
}

function isBeginningOfDocument(text: string, answer: AnswerFormat): boolean {
  const first = firstCharacter(answer);
  if (first !== undefined && text !== "" && !text.startsWith(first)) return false;
  try {
    parseJson(text);
    // A whole document leaves nothing to be continued.
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

/** What the document begins with, where the format leaves no choice. */
function firstCharacter(answer: AnswerFormat): string | undefined {
  if (answer.type !== "json-schema") return "{";
  const type = isJsonObject(answer.schema) ? answer.schema.get("type") : undefined;
  return typeof type === "string" ? FIRST_CHARACTERS.get(type) : undefined;
}

/** What is left of a number when the part that is one already has been read. */
const UNFINISHED_NUMBER = /^(?:-|\.|[eE][+-]?)$/;
const UNFINISHED_STRING = /^"[^"\\]*(?:\\.[^"\\]*)*\\?$/s;

/** Whether reading failed only because the text ends here. `rest`: from where it failed. */
function isUnfinished(rest: string): boolean {
  return (
    rest === "" ||
    UNFINISHED_STRING.test(rest) ||
    ["true", "false", "null"].some((word) => word.startsWith(rest)) ||
    UNFINISHED_NUMBER.test(rest)
  );
}
