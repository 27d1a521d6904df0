/** Prompts and answers as the conventions write them into attributes. Only where the operator has allowed it. */
import type { Attributes } from "@opentelemetry/api";
import { bodyText, offersFunctions } from "../../harmony/body.ts";
import type { Message } from "../../harmony/conversation.ts";
import type { TurnEvent } from "../../turn/turn.ts";
import { INPUT_MESSAGES, OUTPUT_MESSAGES } from "./conventions.ts";

/** Most characters of each attribute's texts. The latest messages are kept, and the beginning of the answer. */
const MAX_CHARACTERS = 65_536;

interface WrittenPart {
  readonly type: "text" | "reasoning" | "tool_call";
  readonly name?: string;
  content: string;
}

export class CapturedContent {
  readonly #messages: readonly Message[];
  readonly #parts: WrittenPart[] = [];
  #left = MAX_CHARACTERS;

  constructor(messages: readonly Message[]) {
    this.#messages = messages;
  }

  see(event: TurnEvent): void {
    if (event.type === "part-start") {
      const { part } = event;
      const isCall = part.kind === "tool-call" || part.kind === "builtin-call";
      const type = isCall ? "tool_call" : part.kind === "reasoning" ? "reasoning" : "text";
      this.#parts.push({ type, content: "", ...(isCall && { name: part.name }) });
    }
    const last = this.#parts.at(-1);
    if (event.type !== "part-delta" || last === undefined || this.#left <= 0) return;
    last.content += event.text.slice(0, this.#left);
    this.#left -= event.text.length;
  }

  toAttributes(): Attributes {
    return {
      [INPUT_MESSAGES]: JSON.stringify(toInput(this.#messages)),
      [OUTPUT_MESSAGES]: JSON.stringify([{ role: "assistant", parts: this.#parts }]),
    };
  }
}

function toInput(messages: readonly Message[]): object[] {
  const input: object[] = [];
  const hasFunctions = offersFunctions(messages);
  let left = MAX_CHARACTERS;
  for (const message of messages.toReversed()) {
    if (left <= 0) break;
    const content = bodyText(message, hasFunctions).slice(0, left);
    left -= content.length;
    input.unshift({ role: message.role, parts: [{ type: "text", content }] });
  }
  return input;
}
