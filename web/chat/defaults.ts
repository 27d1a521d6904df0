/** The defaults of new chats on this device: system prompt, effort and tools. */
import type { Conversation } from "./conversation.ts";
import { isObject, strings, text } from "../../src/snippets/read.ts";

const NAME = "harmony-gateway-defaults";
const MAX_CHARACTERS = 200_000;

export type Defaults = Pick<Conversation, "system" | "tools" | "gatewayTools" | "options">;

/** Undefined: there are no defaults, or the browser forbids storage. */
export function loadDefaults(): Defaults | undefined {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(NAME) ?? "");
    if (!isObject(value)) return undefined;
    const effort = text(value["effort"]);
    return {
      system: text(value["system"]) ?? "",
      tools: text(value["tools"]) ?? "",
      gatewayTools: strings(value["gatewayTools"]) ?? [],
      options: effort === undefined ? {} : { effort },
    };
  } catch {
    return undefined;
  }
}

/** @returns a sentence with the reason if they are not stored */
export function keepDefaults({ system, tools, gatewayTools, options }: Conversation): string {
  const value = JSON.stringify({ system, tools, gatewayTools, effort: options.effort });
  if (value.length > MAX_CHARACTERS) return "They are too long to be kept for new chats.";
  try {
    localStorage.setItem(NAME, value);
    return "New chats begin with this system prompt, effort and tools.";
  } catch {
    return "This browser does not let the page store anything.";
  }
}

export function forgetDefaults(): void {
  localStorage.removeItem(NAME);
}
