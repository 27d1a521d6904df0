/**
 * Writes the rest of a turn as Harmony, from the end of the prompt: before a header, inside a header, or inside a body.
 */
import { o200kHarmony, SPECIAL_TOKENS, type TokenId } from "../../tokenizer/index.ts";
import type { Constraint } from "../engine.ts";
import type { DemoPrompt, Open } from "./prompt.ts";
import type { Script } from "./script.ts";
import { addressOf } from "./signature.ts";
import { waitText } from "./texts.ts";

const {
  "<|start|>": START,
  "<|channel|>": CHANNEL,
  "<|constrain|>": CONSTRAIN,
  "<|message|>": MESSAGE,
  "<|end|>": END,
  "<|call|>": CALL,
  "<|return|>": RETURN,
} = SPECIAL_TOKENS;

/** A special token, or text that is encoded separately, as the renderer does. */
type Part = TokenId | string;

const NEXT_MESSAGE: readonly Part[] = [END, START, "assistant"];
const JSON_CONTENT: readonly Part[] = [" ", CONSTRAIN, "json"];

/** Returns the ids up to and including the token that ends the turn. */
export function composeTurn(
  prompt: DemoPrompt,
  script: Script,
  constraint?: Constraint,
): TokenId[] {
  const parts =
    constraint === undefined
      ? fromOpen(prompt, script)
      : constrained(script, callee(prompt.open), constraint);
  return parts.flatMap((part) => (typeof part === "string" ? o200kHarmony().encode(part) : part));
}

/** The text of a constrained turn. A constraint applies from the first token on, so no header is written. */
function constrained(script: Script, recipient: string | undefined, form: Constraint): Part[] {
  return [script.textFor(form, recipient), recipient === undefined ? RETURN : CALL];
}

function fromOpen(prompt: DemoPrompt, script: Script): Part[] {
  const { open } = prompt;
  if (open.kind === "header") return fromHeader(prompt, script, open);
  if (open.kind === "body") return body(script, open.recipient, open.channel, open.written);
  if (script.move.type === "wait") return [RETURN];
  return [START, "assistant", ...messages(prompt, script)];
}

/** The rest of the turn, starting in a header that contains only the role. */
function messages(prompt: DemoPrompt, script: Script): Part[] {
  if (prompt.hasAnalysis || prompt.awaitsResult) return act(script);
  return [CHANNEL, "analysis", MESSAGE, ...body(script, undefined, "analysis")];
}

function act(script: Script): Part[] {
  const { move, trainedCall } = script;
  if (trainedCall !== undefined) {
    const { recipient, body: text } = trainedCall;
    return [CHANNEL, "analysis", ` to=${recipient} code`, MESSAGE, text, CALL];
  }
  if (move.type === "call") return [CHANNEL, "commentary", ...callTo(script, move.tool)];
  if (move.type === "wait") return [CHANNEL, "final", MESSAGE, waitText(), RETURN];
  const contentType = script.answerIsJson ? JSON_CONTENT : [];
  return [CHANNEL, "final", ...contentType, MESSAGE, ...body(script, undefined, "final")];
}

/** A call. The recipient follows the channel, as models write it, for any layout of the history. */
function callTo(script: Script, tool: string): Part[] {
  const recipient = addressOf({ name: tool });
  return [` to=${recipient}`, ...JSON_CONTENT, MESSAGE, ...body(script, recipient, "commentary")];
}

function fromHeader(
  prompt: DemoPrompt,
  script: Script,
  open: Extract<Open, { kind: "header" }>,
): Part[] {
  const { author, recipient, channel, contentType, pastChannel } = open;
  if (author === "") return ["assistant", ...messages(prompt, script)];
  if (recipient !== undefined) {
    const whole = script.completeRecipient(recipient);
    return [
      whole.slice(recipient.length),
      ...(pastChannel ? [] : [CHANNEL, "commentary"]),
      ...(contentType === undefined ? JSON_CONTENT : []),
      MESSAGE,
      ...body(script, whole, channel),
    ];
  }
  if (channel === undefined) return messages(prompt, script).slice(pastChannel ? 1 : 0);
  if (channel === "commentary" && script.move.type === "call") {
    return callTo(script, script.move.tool);
  }
  return [MESSAGE, ...body(script, undefined, channel)];
}

/** The rest of a body, its closing token, and the messages after it. */
function body(
  script: Script,
  recipient: string | undefined,
  channel: string | undefined,
  written: readonly TokenId[] = [],
): Part[] {
  if (recipient !== undefined) return [...rest(script.inputFor(recipient), written), CALL];
  if (channel === "analysis") {
    return [...rest(script.reasoning, written), ...NEXT_MESSAGE, ...plan(script), ...act(script)];
  }
  if (channel === "commentary") {
    return [...rest(script.preamble, written), ...NEXT_MESSAGE, ...act(script)];
  }
  return [...rest(script.answer, written), RETURN];
}

function plan(script: Script): Part[] {
  if (!script.announcesPlan) return [];
  return [CHANNEL, "commentary", MESSAGE, script.preamble, ...NEXT_MESSAGE];
}

/**
 * The rest of a text. If the prompt ends with a prefix of the text, even inside a character, the rest continues it; otherwise the
 * whole text is written.
 */
function rest(text: string, written: readonly TokenId[]): Part[] {
  const ids = o200kHarmony().encode(text);
  if (written.every((id, index) => id === ids[index])) return ids.slice(written.length);
  const begun = o200kHarmony().decode(written);
  if (text.startsWith(begun)) return [text.slice(begun.length)];
  return [/\s$/.test(begun) ? text : ` ${text}`];
}

/** The function of the call whose arguments are incomplete. */
function callee(open: Open): string | undefined {
  return open.kind === "body" ? open.recipient : undefined;
}
